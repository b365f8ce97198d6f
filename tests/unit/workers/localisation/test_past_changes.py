"""What a history says of its changes: their words, their sources, and the issues that they closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.workers.history.conftest import Branch
from workers.localisation.past_changes import (
    EarlierChange,
    changes_until,
    files_at,
    is_kept_with_tests,
    parse_log,
    python_paths,
)


@pytest.fixture
def branch(tmp_path: Path) -> Branch:
    return Branch(tmp_path)


def change(message: str, *paths: str) -> EarlierChange:
    """The change that git writes with this message and these paths."""
    names = "\n".join(paths or ("mill.py",))
    (found,) = parse_log(f"\x1e{'a' * 40}\x1f1700000000\x1f{message}\x1f\n\n{names}\n")
    return found


@pytest.mark.parametrize(
    ("message", "closes"),
    [
        ("Fix #12", (12,)),
        ("Fixes: #12 and closes GH-7", (12, 7)),
        ("resolved issue #3", (3,)),
        ("Close https://github.com/acme/mill/issues/44", (44,)),
        ("Closes acme/mill#5, fixes #5", (5,)),
        ("See #12", ()),
        ("prefix #12", ()),
        ("Fix the wheel (#12)", ()),
    ],
)
def test_closed_issues(message: str, closes: tuple[int, ...]) -> None:
    """Numbers after closing keywords count, and no others."""
    assert change(message).closes == closes


@pytest.mark.parametrize(
    ("message", "resolves"),
    [("Closes #4", True), ("A wrong turn", True), ("Add a wheel", False), ("Merge branch 'fix' into main", False)],
)
def test_what_resolves(message: str, resolves: bool) -> None:
    """A change mended something where it closed an issue or says so, and not where only its branch does."""
    assert change(message).resolves is resolves


def test_a_merge_is_called_like_its_pull_request() -> None:
    """What GitHub writes above it is no title."""
    merged = change("Merge pull request #9 from maya/wheel\n\nTurn the wheel\n\nCo-authored-by: Finn <f@x>")
    assert merged.title == "Turn the wheel"
    assert "maya" not in merged.words
    assert "Finn" not in merged.words


def test_marks_in_a_message_spoil_only_itself() -> None:
    """A message with our marks in it is left out, and the next one is read."""
    good = f"\x1e{'b' * 40}\x1f1700000000\x1fFix\x1f\nmill.py\n"
    found = list(parse_log(f"\x1e{'a' * 40}\x1f1700000000\x1fA\x1fB\x1fC\x1f\nmill.py\n{good}"))
    assert [each.sha[0] for each in found] == ["b"]


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("mill/wheel.py", False),
        ("src/_pytest/runner.py", False),
        ("tests/wheel.py", True),
        ("mill/test_wheel.py", True),
        ("conftest.py", True),
        ("mill/latest.py", False),
    ],
)
def test_tests_by_name(path: str, is_test: bool) -> None:
    """Tests and what lies beside them are no sources."""
    assert is_kept_with_tests(path) is is_test


def test_nothing_later_is_known(branch: Branch) -> None:
    """The changes, files and paths of a commit are those up to it; tests are no sources, and links no files."""
    branch.commit({"mill.py": "a = 1\n", "tests/test_mill.py": ""}, "Add a mill")
    first = branch.commit({"mill.py": "a = 2\n", "ä b.py": "b = 1\n"}, "Fix it, closes #1")
    (branch.root / "link.py").symlink_to("mill.py")
    branch.commit({"mill.py": "a = 3\n"}, "Fix it again")
    changes = changes_until(branch.root, first)
    assert [(each.title, each.sources) for each in changes] == [
        ("Add a mill", ("mill.py",)),
        ("Fix it, closes #1", ("mill.py", "ä b.py")),
    ]
    assert sorted(python_paths(branch.root, "HEAD")) == ["mill.py", "tests/test_mill.py", "ä b.py"]
    assert files_at(branch.root, first, ["mill.py", "gone.py", "tests", "ä b.py"]) == {
        "mill.py": "a = 2\n",
        "ä b.py": "b = 1\n",
    }


def test_a_date_that_python_does_not_have(branch: Branch) -> None:
    """Anybody may choose the date of a commit: a year past 9999 is the last one, and the history is read."""
    branch.commit({"mill.py": "a = 1\n"}, "Add a mill")
    branch.git("commit", "--quiet", "--amend", "--no-edit", date="@99999999999999 +0000")
    (found,) = changes_until(branch.root, "HEAD")
    assert (found.title, found.at.year) == ("Add a mill", 9999)


def test_what_a_merge_brought_in_is_one_change(branch: Branch) -> None:
    """A merge counts with all its files and with the title of its pull request; its commits do not count again."""
    branch.commit({"mill.py": "a = 1\n"}, "Add a mill")
    branch.git("checkout", "--quiet", "-b", "wheel")
    branch.commit({"wheel.py": "w = 1\n"}, "wip")
    branch.git("checkout", "--quiet", "main")
    branch.git("merge", "--quiet", "--no-ff", "-m", "Merge pull request #2 from maya/wheel\n\nFix the wheel", "wheel")
    assert [(each.title, each.sources) for each in changes_until(branch.root, "HEAD")] == [
        ("Add a mill", ("mill.py",)),
        ("Fix the wheel", ("wheel.py",)),
    ]
