"""The benchmark of past bugs: which commits the rule takes, and what the developer's work tree is."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.past_bugs.__main__ import HERE, Row, summary, told_apart
from benchmarks.past_bugs.cases import PastBug, cases, lay_out
from benchmarks.past_bugs.finding import HELD_OUT, MOST, candidates, clones
from benchmarks.past_bugs.fixing import Result
from benchmarks.past_bugs.judging import Verdict
from benchmarks.repair.importers.commits import Clone
from workers.sandbox.project import discover

BEFORE = "def last(items):\n    return items[0]\n"
AFTER = "def last(items):\n    return items[-1]\n"
TEST = "from code_of import last\n\n\ndef test_last():\n    assert last([1, 2]) == 2\n"


def git(at: Path, *words: str, date: str = "2024-05-05T12:00:00") -> str:
    """Run git as somebody, at a date."""
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {f"GIT_{role}_DATE": date for role in ("AUTHOR", "COMMITTER")}
    done = subprocess.run(["git", "-C", str(at), *words], env={**who, **dates}, check=True, capture_output=True)
    return done.stdout.decode().strip()


def commit(at: Path, message: str, files: dict[str, str], *, date: str = "2024-05-05T12:00:00") -> str:
    """Commit what the files hold."""
    for name, text in files.items():
        (at / name).write_text(text)
    git(at, "add", "-A")
    git(at, "commit", "-qm", message, date=date)
    return git(at, "rev-parse", "HEAD")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a bug and an old test."""
    at = tmp_path / "clones" / "some+code"
    at.mkdir(parents=True)
    git(at, "init", "-q")
    commit(at, "begin", {"code_of.py": BEFORE, "test_code_of.py": "", "README.md": ""})
    return at


@pytest.mark.parametrize(
    ("message", "files", "date", "taken"),
    [
        ("fix the end", {"code_of.py": AFTER, "test_code_of.py": TEST}, "2024-05-05", True),
        ("fix the end", {"code_of.py": AFTER, "test_code_of.py": TEST, "README.md": "new"}, "2024-05-05", True),
        ("fix the end", {"code_of.py": f"import os\n{BEFORE}", "test_code_of.py": TEST}, "2024-05-05", True),
        ("fix the end", {"code_of.py": f"import os\n{AFTER}", "test_code_of.py": TEST}, "2024-05-05", False),
        ("fix the end", {"code_of.py": AFTER}, "2024-05-05", False),
        ("fix the end", {"code_of.py": AFTER, "test_code_of.py": TEST, "setup.cfg": "new"}, "2024-05-05", False),
        ("fix the end", {"code_of.py": AFTER, "test_code_of.py": TEST, "more.py": ""}, "2024-05-05", False),
        ("take the last", {"code_of.py": AFTER, "test_code_of.py": TEST}, "2024-05-05", False),
        ("fix the end", {"code_of.py": AFTER, "test_code_of.py": TEST}, "2019-12-30", False),
    ],
)
def test_rule_takes_one_line_with_tests(
    clone: Path, message: str, files: dict[str, str], date: str, taken: bool
) -> None:
    """One line of one file of code, with tests, said to be a fix, not too old; documentation may change as well."""
    made = commit(clone, message, files, date=f"{date}T12:00:00")
    assert [each.id for each in candidates(Clone(clone))] == [made] * taken


def test_repositories_of_the_templates_are_left_out(clone: Path) -> None:
    """What past fixes were developed on is no fair trial; neither is a directory without a history."""
    clone.with_name("davidhalter+jedi").mkdir()
    clone.rename(clone.with_name("Textualize+rich"))
    git(clone.parent, "init", "-q", "some+code")
    assert [each.name for each in clones(clone.parent)] == ["some+code"]


def test_work_tree_is_the_parent_with_the_tests(clone: Path, tmp_path: Path) -> None:
    """The fix is in no file and behind no name of the history; tags of the past stay, as versions are read from them."""
    git(clone, "tag", "v1")
    fix = commit(clone, "fix the end", {"code_of.py": AFTER, "test_code_of.py": TEST, "test_data.txt": "new"})
    git(clone, "tag", "v2")
    git(clone, "update-ref", "refs/remotes/origin/main", fix)
    git(clone, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    bug = PastBug(
        repository="some/code", commit=fix, file="code_of.py", tests=["test_code_of.py"], modules=["test_code_of.py"]
    )
    at = tmp_path / "tree"
    lay_out(bug, clone, at)
    assert (at / "code_of.py").read_text() == BEFORE
    assert (at / "test_code_of.py").read_text() == TEST
    assert git(at, "tag") == "v1"
    assert fix not in git(at, "log", "--all", "--reflog", "--format=%H").split()
    assert git(clone, "tag").split() == ["v1", "v2"]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("test", "problem"),
    [(TEST, ""), (TEST.replace("[1, 2]", "[2]"), "no test tells it from its parent"), ("1 / 0\n", "tests: ")],
)
def test_case_fails_before_and_passes_after(clone: Path, tmp_path: Path, test: str, problem: str) -> None:
    """What does not tell the fix from its parent is no case, and neither is what fails in both."""
    fix = commit(clone, "fix the end", {"code_of.py": AFTER, "test_code_of.py": test})
    bug = PastBug(
        repository="some/code", commit=fix, file="code_of.py", tests=["test_code_of.py"], modules=["test_code_of.py"]
    )
    lay_out(bug, clone, tmp_path / "tree")
    project = discover(tmp_path / "tree", python=Path(sys.executable), test_command=None)
    tried = told_apart(bug, Clone(clone), project)
    assert tried.problem.startswith(problem)
    assert tried.failing == (() if problem else ("test_code_of.py::test_last",))
    assert bool(tried.problem) is bool(problem)


def row(name: str, status: str, *, right: bool) -> Row:
    """A case with a patch that was judged."""
    verdict = Verdict(same_code=right, lost=not right)
    found = Result(
        repository="a/b",
        commit="",
        status=status,
        seconds=1.0,
        searching_after=None,
        candidates=3,
        reason="",
        patch="-",
        verdict=verdict,
    )
    return Row(id=name, load=1.0, result=found)


def test_totals_stand_beside_the_goals(capsys: pytest.CaptureFixture[str]) -> None:
    """An undecided one is not called fixed, right or not; a case without an environment counts as one that failed."""
    rows = [
        row("a/b@1", "fixed", right=True),
        row("a/b@2", "fixed", right=False),
        row("c/d@1", "undecided", right=True),
        Row(id="c/d@2", load=2.0, problem="no wheel"),
    ]
    summary(rows, 240.0)
    told = {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert any(line.startswith("called fixed and right 1 of 4 (25 %") or "right 1 of 4 (25%" in line for line in told)
    assert any(line.startswith("right of those called fixed 1 of 2") for line in told)
    assert any(line.startswith("undecided 1 of 4") for line in told)
    assert "c/d@2: no environment: no wheel" in told


@pytest.mark.parametrize("name", ["cases.json", "held_out.json"])
def test_committed_cases_keep_the_rule(name: str) -> None:
    """At least 24 cases of at least 10 projects, no more than three of one, each with a test that tells it."""
    held = [bug for bug in cases(HERE / name) if not bug.problem]
    of = [bug.repository for bug in held]
    assert len(held) == len({bug.id for bug in held}) >= 24
    assert len(set(of)) >= 10
    assert max(map(of.count, of)) <= MOST
    assert all(bug.failing and bug.count >= len(bug.failing) for bug in held)


def test_held_out_cases_are_of_repositories_that_were_named_before() -> None:
    """And none of them has a case that edits were developed after."""
    held_out = {bug.repository for bug in cases(HERE / "held_out.json")}
    assert held_out <= set(HELD_OUT.split())
    assert held_out.isdisjoint(bug.repository for bug in cases(HERE / "cases.json"))
