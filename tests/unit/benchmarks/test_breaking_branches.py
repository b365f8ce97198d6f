"""The benchmark of branches: what one does to a clone, and what plain pytest and the review say of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.breaking_branches.__main__ import HERE, Document, Named, Result, Tests
from benchmarks.breaking_branches.branches import (
    BASE,
    HEAD,
    Branch,
    Edit,
    Kind,
    Move,
    New,
    Repository,
    Step,
    cases,
    edited,
    git,
    lay_out,
)
from benchmarks.breaking_branches.oracle import NOT_BEGUN, Oracle
from tests.unit.workers.history.conftest import Branch as Clone

ROOT = Path(__file__).parents[3]
SUMS = "def add(a, b):\n    return a + b\n\n\ndef half(a):\n    return a / 2\n"
TESTS = "from sums import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
HALF = "from sums import half\n\n\ndef test_half():\n    assert half(4) == 2\n"
LONGEST_TEXT = 400
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Without the plug-ins of our own environment, which take long to load."""


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, Repository]:
    """A repository with two tests that pass, and one that does not."""
    (tmp_path / "clones" / "a+sums").mkdir(parents=True)
    made = Clone(tmp_path / "clones" / "a+sums")
    wrong = "def test_wrong():\n    assert False\n"
    made.commit({"sums.py": SUMS, "test_add.py": TESTS, "test_half.py": HALF, "test_wrong.py": wrong})
    commit = git(tmp_path / "clones" / "a+sums", "rev-parse", "HEAD").strip()
    return tmp_path / "clones" / "a+sums", Repository(name="a/sums", commit=commit, needs=[], variables=ALONE)


def branch(change: Step, before: Step = Step(), flaky: tuple[str, ...] = ()) -> Branch:  # noqa: B008  frozen
    return Branch(
        name="it",
        repository="a/sums",
        kind=Kind.BREAKS,
        slip="",
        story="A change",
        flaky=[*flaky],
        before=before,
        change=change,
    )


def edit(old: str, new: str, *, breaks: bool = False, name: str = "sums.py", text: str = SUMS) -> Edit:
    at = text.index(old)
    return Edit(file=name, start=at, end=at + len(old), text=new, breaks=breaks)


def laid_out(change: Branch, clone: tuple[Path, Repository], tmp_path: Path) -> tuple[Path, Oracle]:
    checkout, oracle = tmp_path / "checkout", Oracle(tmp_path / "oracle", clone[1], Path(sys.executable))
    lay_out(change, clone[1], clone[0], checkout)
    (tmp_path / "oracle").mkdir()
    oracle.install(clone[0])
    return checkout, oracle


@pytest.mark.parametrize("name", ["cases.toml", "held_out.toml"])
def test_committed_branches_hold_no_code_of_others(name: str) -> None:
    """Edits are places and our own text; a name exists once, and each breaking branch says what breaks."""
    held = cases(HERE / name)
    assert len({each.name for each in held.branch}) == len(held.branch)
    edits = [edit for each in held.branch for step in (each.before, each.change) for edit in step.edits]
    assert all(len(edit.text) <= LONGEST_TEXT for edit in edits)
    for each in held.branch:
        marked = any(edit.breaks for edit in each.change.edits)
        assert marked == (each.kind is Kind.BREAKS), each.name
        assert re.fullmatch("[0-9a-f]{40}", held.repository_of(each).commit)


def test_there_are_enough() -> None:
    """Twenty that break and twenty that do not, over at least eight repositories; five more apart."""
    held, apart = cases(HERE / "cases.toml"), cases(HERE / "held_out.toml")
    for kind in Kind:
        assert sum(each.kind is kind for each in held.branch) == 20
    assert len({each.repository for each in held.branch if each.kind is Kind.BREAKS}) >= 8
    assert len(apart.branch) == 5
    assert not {each.name for each in apart.branch} & {each.name for each in held.branch}


def test_edits_do_not_move_one_another() -> None:
    assert edited("abcdef", [Edit(file="", start=0, end=1, text="xyz"), Edit(file="", start=5, end=6, text="")]) == (
        "xyzbcde"
    )


def test_two_commits_and_the_lines_that_break(clone: tuple[Path, Repository], tmp_path: Path) -> None:
    """The base holds what was there before, the head the change; only the marked hunk breaks, a removal by the lines beside it."""
    change = branch(
        Step(
            edits=[edit("a + b", "a - b", breaks=True), edit("a / 2", "a * 0.5")],
            new=[New(file="more.py", text="")],
            moves=[Move(file="test_half.py", to="test_halves.py")],
        ),
        before=Step(new=[New(file="old.py", text="")]),
    )
    checkout, _ = laid_out(change, clone, tmp_path)
    assert git(checkout, "diff", "--name-status", BASE, HEAD).split() == [
        *("A", "more.py", "M", "sums.py", "R100", "test_half.py", "test_halves.py")
    ]
    assert (checkout / "old.py").exists()
    assert change.breaking_lines(checkout) == {"sums.py": frozenset({2})}


@pytest.mark.extended
@pytest.mark.parametrize(
    ("change", "truth"),
    [
        (Step(edits=[edit("a + b", "a - b")]), {"test_add.py::test_add"}),
        (Step(edits=[edit("def half", "def halved")]), {"test_half.py"}),
        (Step(new=[New(file="test_new.py", text="def test_new():\n    assert 0\n")]), {"test_new.py::test_new"}),
        (Step(new=[New(file="pytest.ini", text="[pytest]\naddopts = --no-such\n")]), {NOT_BEGUN}),
        (Step(edits=[edit("a / 2", "a * 0.5")]), set()),
    ],
)
def test_the_oracle_finds_what_newly_fails(
    change: Step, truth: set[str], clone: tuple[Path, Repository], tmp_path: Path
) -> None:
    """A test that fails on both sides is never among them."""
    checkout, oracle = laid_out(branch(change), clone, tmp_path)
    assert oracle.newly_failing(branch(change), checkout) == truth


@pytest.mark.extended
def test_a_patch_mends_only_if_no_other_test_breaks(clone: tuple[Path, Repository], tmp_path: Path) -> None:
    change = branch(Step(edits=[edit("a + b", "a - b")]))
    checkout, oracle = laid_out(change, clone, tmp_path)
    truth = oracle.newly_failing(change, checkout)
    mends = git(checkout, "diff", HEAD, BASE)
    assert oracle.passes_with(mends, truth)
    assert not oracle.passes_with(mends.replace("+    return a + b", "+    return 5\n+    return a + b"), {"test_x"})
    assert not oracle.passes_with("no patch", truth)


def result(named: list[Named], truth: list[str]) -> Result:
    return Result(
        branch="",
        repository="",
        kind=Kind.BREAKS,
        slip="",
        commit="",
        truth=truth,
        places={"a.py": [3]},
        said=Document(tests=Tests(broken=named)),
        notes=[],
        good=0,
        seconds=1.0,
        cold=False,
    )


def test_right_is_every_broken_test_and_no_other() -> None:
    """A missing test, and one too many, are both wrong; a line counts only if it is one that breaks."""
    one, other = Named("t::a", "a.py", 3), Named("t::b", "a.py", 4)
    assert result([one], ["t::a"]).right
    assert not result([], ["t::a"]).right
    assert result([one, other], ["t::a"]).false == ["t::b"]
    assert result([one, other, Named("t::c")], []).placed == [True, False]


@pytest.mark.extended
@pytest.mark.sandbox
def test_it_runs_and_says_what_it_measured(clone: tuple[Path, Repository], tmp_path: Path) -> None:
    """One breaking branch in a small repository: reviewed by the real command, judged, and kept."""
    data = f"""
[[repository]]
name = "a/sums"
commit = "{clone[1].commit}"
needs = []

[[branch]]
name = "minus"
repository = "a/sums"
kind = "breaks"
slip = "wrong operator"
story = "a sum is a difference"
change.edits = [{{ file = "sums.py", start = {SUMS.index("+")}, end = {SUMS.index("+") + 1}, text = "-", breaks = true }}]
"""
    (tmp_path / "cases.toml").write_text(data)
    given = {
        "clones": clone[0].parent,
        "cases": "cases.toml",
        "work": "work",
        "json": "out.json",
        "python": sys.executable,
    }
    words = [word for name, value in given.items() for word in (f"--{name}", str(tmp_path / value))]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.breaking_branches", *words],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"all broken tests named, no other +1 of 1", done.stdout), done.stdout
    assert re.search(r"line named is one that breaks it +1 of 1", done.stdout), done.stdout
    assert re.search(r"with a suggestion that mends it +1 of 1", done.stdout), done.stdout
