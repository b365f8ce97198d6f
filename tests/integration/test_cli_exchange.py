"""`apprentice preferences` and `apprentice export`, by the real command on a memory that is made up."""

from __future__ import annotations

import json
import random
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.model import Arm, State, TaskKind
from memory.policy.learner import Learner
from tests.databases import migrated_store
from tests.integration.command_line import apprentice, apprentice_process
from tests.made_up import REPOSITORY, made_up


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An Apprentice that has repaired a few things."""
    place = tmp_path / "home"
    with migrated_store(place / "apprentice.db") as store:
        made_up(store, datetime(2026, 1, 1, tzinfo=UTC), repairs=8)
    return place


def test_exports_are_written_and_told(home: Path, tmp_path: Path) -> None:
    """`export` writes one JSON document a line, and says how many of which repository."""
    file = tmp_path / "out.jsonl"
    ran = apprentice(home, "export", "dpo", file, "--repository", REPOSITORY, "--json")
    assert ran.code == 0, ran.err
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    document = ran.document()
    assert document == {
        "form": "dpo",
        "path": str(file),
        "lines": len(lines),
        "repositories": {REPOSITORY: len(lines)},
        "left_out": 0,
    }
    assert {tuple(line) for line in lines} == {("prompt", "chosen", "rejected", "provenance")}
    ran = apprentice(home, "export", "sft", file, "--repository", REPOSITORY, "--since", "2026-01-02")
    assert (ran.code, ran.out) == (0, f"0 lines for sft in {file}\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sft", "out.jsonl"), "pass --repository OWNER/NAME for each repository"),
        (("sft", "nowhere/out.jsonl", "--repository", REPOSITORY), "there is no directory"),
    ],
)
def test_exports_say_what_is_missing(home: Path, arguments: tuple[str, ...], said: str) -> None:
    """Without a repository, or a place to write to, nothing is written, and one line says what to do."""
    ran = apprentice(home, "export", *arguments)
    assert ran.code == 2
    assert said in ran.err


def test_a_model_that_shows_nothing_is_told_and_refused(home: Path) -> None:
    """Training on a handful of verdicts gives models that say why they may not be used, and are not put in force."""
    ran = apprentice(home, "preferences")
    assert "no reward model yet" in ran.out
    ran = apprentice(home, "preferences", "--train", "--json")
    assert ran.code == 0, ran.err
    models = ran.document()["models"]
    assert {model["kind"] for model in models} == {"review"}
    assert not any(model["active"] for model in models)
    ran = apprentice(home, "preferences", "--activate", models[0]["id"])
    assert ran.code == 2
    assert "may not be used: too little to tell" in ran.err
    assert "too little to tell" in apprentice(home, "preferences").out


@pytest.mark.extended
def test_learnings_go_out_and_in_and_out_again(home: Path, tmp_path: Path) -> None:
    """What two people taught here is a file that another installation takes over, lists, and takes out."""
    file, there = tmp_path / "learnings.yml", tmp_path / "there"
    ran = apprentice_process(home, "export", "learnings", file, "--repository", REPOSITORY, "--json")
    assert ran.code == 0, ran.err
    assert ran.document() == {"path": str(file), "source": REPOSITORY, "lessons": 1}
    assert "http" in file.read_text(encoding="utf-8")
    once = file.read_text(encoding="utf-8")
    assert apprentice(home, "export", "learnings", file, "--repository", REPOSITORY).code == 0
    assert file.read_text(encoding="utf-8") == once
    assert apprentice(there, "import").out == "nothing was imported\n"
    assert apprentice(there, "import", file, "--json").document() == {"imports": [{"source": REPOSITORY, "lessons": 1}]}
    assert "AssertionError" in apprentice_process(there, "import").out
    assert apprentice(there, "import", "--remove", REPOSITORY).out == "nothing was imported\n"
    ran = apprentice(there, "import", "--remove", REPOSITORY)
    assert (ran.code, "nothing was imported from" in ran.err) == (2, True)


@pytest.mark.parametrize("what", ["learnings", "sft"])
def test_a_directory_is_no_file_to_export_to(home: Path, tmp_path: Path, what: str) -> None:
    """It is refused in one line, and nothing is left in it."""
    target = tmp_path / "target"
    target.mkdir()
    (target / "kept").touch()
    ran = apprentice(home, "export", what, target, "--repository", REPOSITORY)
    assert (ran.code, ran.complaint()) == (2, f"cannot write {target}: Is a directory")
    assert [each.name for each in target.iterdir()] == ["kept"]


@pytest.mark.parametrize(
    ("text", "said"),
    [("version: 1\nsource: a\nlessons: [*x]\n", "line 3: anchors and aliases"), (None, "No such file")],
)
def test_a_file_of_no_use_is_refused(home: Path, tmp_path: Path, text: str | None, said: str) -> None:
    """In one line with the file's name, and nothing is imported; nor is it written over."""
    file = tmp_path / "learnings.yml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
        ran = apprentice(home, "export", "learnings", file, "--repository", REPOSITORY)
        assert (ran.code, file.read_text(encoding="utf-8")) == (2, text)
    ran = apprentice(home, "import", file)
    assert ran.code == 2
    assert said in ran.err
    assert str(file) in ran.err
    assert apprentice(home, "import").out == "nothing was imported\n"


@pytest.fixture
def with_both_arms(tmp_path: Path) -> Path:
    """An Apprentice with 60 repairs, a third of them in the control arm."""
    place, at = tmp_path / "home", datetime(2026, 1, 1, tzinfo=UTC)
    state = State(kind=TaskKind.REPAIR, repository=REPOSITORY, label="KeyError", family="lookup")
    with migrated_store(place / "apprentice.db") as store:
        learner = Learner(store, random.Random(1), lambda: at, control_share=0.3)
        for number in range(60):
            arm = Arm.LEARNED if number % 3 else Arm.CONTROL
            made = learner.decide(f"t{number}", state, ("a", "b"), arm=arm, prior={})
            learner.conclude(made, {"suite_green": float(number % 2)})
    return place


def test_counts_of_both_arms_go_out_and_are_pooled(with_both_arms: Path, tmp_path: Path) -> None:
    """`export uplift` writes counts of the repositories given, and `stats --pool` reads those of others beside the ledger."""
    (tmp_path / "shared").mkdir()
    ours = tmp_path / "shared" / "ours.yml"
    ran = apprentice(with_both_arms, "export", "uplift", ours, "--repository", REPOSITORY, "--json")
    assert ran.code == 0, ran.err
    assert ran.document() == {"path": str(ours), "tasks": 60, "families": 1}
    text = ours.read_text(encoding="utf-8")
    assert REPOSITORY not in text
    assert "family: lookup" in text
    for number in range(2):
        own = re.search(r"installation: '?(\w{16})", text)
        assert own
        other = text.replace(own[1], f"{number:016x}").replace("fixed: 20", f"fixed: 2{number + 1}")
        (tmp_path / "shared" / f"{number}.yml").write_text(other, encoding="utf-8")
    ran = apprentice(with_both_arms, "stats", "--pool", tmp_path / "shared", "--json")
    assert ran.code == 0, ran.err
    found = ran.document()["pooled"]
    assert (found["installations"], found["tasks"], found["own_file"]) == (3, 180, "ours.yml")
    assert "pooled" not in apprentice(with_both_arms, "stats", "--json").document()
    (tmp_path / "shared" / "0.yml").write_text("version: 1\n", encoding="utf-8")
    ran = apprentice(with_both_arms, "stats", "--pool", tmp_path / "shared")
    assert ran.code == 2
    assert "0.yml: line 1" in ran.err
    assert "missing required field" in ran.err


def test_too_few_repairs_leave_nothing(home: Path, tmp_path: Path) -> None:
    """Without five repairs in each arm there is no file, and one line says why."""
    ran = apprentice(home, "export", "uplift", tmp_path / "out.yml", "--repository", REPOSITORY)
    assert ran.code == 2
    assert "too few repairs: at least 5 of each arm are needed" in ran.err
    assert not (tmp_path / "out.yml").exists()
