"""`apprentice learn` and `backtest` on a real git repository, with the real tools in the real sandbox."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.main import app
from memory.model import Fate
from memory.store import Store
from tests.databases import migrated_store
from tests.json_contracts import undocumented
from tests.unit.workers.history.conftest import Branch
from workers.errors import BadInput
from workers.history import learn as learning
from workers.history.learn import learn
from workers.sandbox.bubblewrap import Bubblewrap

pytestmark = pytest.mark.sandbox
NAME = "o/shop"


def write_past(branch: Branch, changes: int, *, seed: int = 1) -> None:
    """People remove unused imports one to three changes later, and never write docstrings."""
    rng, due = random.Random(seed), dict[int, str]()
    for at in range(changes):
        files: dict[str, str | bytes | None] = {f"module_{at}.py": "import os\n\n\ndef f(x):\n    return x\n"}
        due[at + rng.randint(1, 3)] = f"module_{at}.py"
        if at in due:
            files[due[at]] = "def f(x):\n    return x\n"
        branch.commit(files)


@pytest.fixture
def branch(tmp_path: Path) -> Branch:
    root = tmp_path / "shop"
    root.mkdir()
    return Branch(root)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with migrated_store(tmp_path / "memory.db") as opened:
        yield opened


@pytest.mark.extended
def test_reading_in_pieces_gives_the_same(
    branch: Branch, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read to the end at once, and read three times while the branch grows: the same findings with the same fates."""
    monkeypatch.setattr(learning, "HORIZON", 4)
    directory, sandbox = branch.root / ".git", Bubblewrap()
    for seed in (1, 2, 3):
        write_past(branch, 8, seed=seed)
        for name in branch.root.glob("module_*.py"):
            name.rename(branch.root / f"was_{seed}_{name.name}")
        branch.commit({})
        read = learn(directory, NAME, store=store, sandbox=sandbox, most=100)
        reached = store.past.position(NAME)
        assert reached is not None
        assert (read.changes > reached.position) is (seed == 1), "later readings resume where the last one ended"
    with migrated_store(tmp_path / "other.db") as other:
        learn(directory, NAME, store=other, sandbox=sandbox, most=100)
        assert other.past.of(NAME) == store.past.of(NAME) != []
        assert {each.fate for each in other.past.of(NAME) if each.rule == "F401"} >= {Fate.FIXED}
        assert learn(directory, NAME, store=other, sandbox=sandbox, most=100).changes == 0


def test_more_of_a_history_is_read_when_it_is_asked_for(
    branch: Branch, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes that an earlier reading left out are read, and then the same is known as from one reading of all."""
    monkeypatch.setattr(learning, "HORIZON", 4)
    write_past(branch, 12)
    directory, sandbox = branch.root / ".git", Bubblewrap()
    assert learn(directory, NAME, store=store, sandbox=sandbox, most=3).changes == 3
    more = learn(directory, NAME, store=store, sandbox=sandbox, most=100)
    assert (more.changes, more.resumed) == (12, False)
    branch.commit({"last.py": "x = 1\n"})
    again = learn(directory, NAME, store=store, sandbox=sandbox, most=3)
    assert (again.changes, again.resumed) == (1, True), "fewer are no reason to begin anew"
    with migrated_store(tmp_path / "other.db") as other:
        learn(directory, NAME, store=other, sandbox=sandbox, most=100)
        assert other.past.of(NAME) == store.past.of(NAME) != []


def test_no_commit_no_past(branch: Branch, store: Store) -> None:
    """A branch that is not there, or a repository without commits, is said; nothing is kept."""
    with pytest.raises(BadInput, match="names no commit"):
        learn(branch.root / ".git", NAME, store=store, sandbox=Bubblewrap(), most=10)
    assert store.past.position(NAME) is None


def test_a_repositorys_own_configuration_runs_nothing(
    branch: Branch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program named for signatures in the repository that is learned from is not run: its git directory is not ours."""
    branch.commit({"a.py": "x = 1\n"})
    raw = branch.git("cat-file", "commit", "HEAD")
    head, _, message = raw.partition("\n\n")
    signed = f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n{message}"
    (tmp_path / "signed").write_text(signed)
    sha = branch.git("hash-object", "-t", "commit", "-w", str(tmp_path / "signed")).strip()
    branch.git("update-ref", "refs/heads/main", sha)
    witness, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {witness}\n")
    program.chmod(0o755)
    branch.git("config", "log.showSignature", "true")
    branch.git("config", "gpg.program", str(program))
    branch.git("log", "-1")
    assert witness.exists(), "the trap itself must work"
    witness.unlink()
    monkeypatch.setenv("APPRENTICE_HOME", str(tmp_path / "home"))
    ran = CliRunner().invoke(app, ["learn", str(branch.root), "--json"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["changes"] == 1
    assert not witness.exists()


@pytest.mark.extended
def test_commands(branch: Branch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """learn says what will be posted, backtest whether that helps; a setting switches the history off."""
    monkeypatch.setattr(learning, "HORIZON", 10)
    write_past(branch, 90)
    monkeypatch.setenv("APPRENTICE_HOME", str(tmp_path / "home"))
    runner = CliRunner()
    learned = runner.invoke(app, ["learn", str(branch.root), "--json"])
    assert learned.exit_code == 0, learned.output
    document = json.loads(learned.stdout)
    assert undocumented("learn", document) == set()
    assert (document["changes"], document["resumed"], document["enough"]) == (90, False, True)
    unused = next(each for each in document["rules"] if each["rule"] == "F401")
    assert unused["fixed"] > 0.7 * unused["seen"]
    assert (unused["name"], unused["prior"]) == ("unused import", 0.2)
    again = runner.invoke(app, ["learn", str(branch.root)])
    assert "Read now: 0 changes since the last time" in again.stdout
    off = runner.invoke(app, ["learn", str(branch.root), "--json"], env={"APPRENTICE_LEARN_CHANGES": "0"})
    assert [each["expected"] for each in json.loads(off.stdout)["rules"]] == pytest.approx([unused["prior"]])
    ran = runner.invoke(app, ["backtest", str(branch.root), "--json", "--all-rules"])
    assert ran.exit_code == 0, ran.output
    assert undocumented("backtest", json.loads(ran.stdout)) == set()
    compared = {each["name"]: each for each in json.loads(ran.stdout)["conclusion"]["compared"]}
    assert compared["learned"]["times_lot"] > 1.0
    page = runner.invoke(app, ["backtest", str(branch.root)]).stdout
    assert page.startswith("shop: cannot tell."), (
        "all that reviews ask for there is fixed, so there is nothing to choose"
    )
    refused = runner.invoke(app, ["backtest", str(branch.root), "--rule", "D"])
    assert refused.exit_code == 2
    assert "cannot tell whether learning helps; keep it on" in " ".join(refused.stderr.split())
