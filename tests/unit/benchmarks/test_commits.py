"""Past fixes: which commits look like one, and how large they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.repair.cases import BadCase
from benchmarks.repair.importers.commits import Clone, Commit, is_test
from tests.integration.command_line import git


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Three commits: the first, one that is a fix of one line beside a comment, one that moves the layout about."""
    tree = tmp_path / "things"
    (tree / "tests").mkdir(parents=True)
    git(tree, "init", "-q")
    stages = [
        ("Begin", "def double(x):\n    return x + 1\n", "def test_double():\n    pass\n"),
        ("Fix double of three\n\nCloses #3", "# Twice.\ndef double(x):\n    return x * 2\n", "def test_three(): ...\n"),
        ("Fix layout", "def double(x):  # twice\n    return (x\n            * 2)\n", "def test_four(): ...\n"),
    ]
    for message, source, test in stages:
        (tree / "things.py").write_text(source)
        (tree / "tests" / "test_things.py").write_text(test)
        git(tree, "add", ".")
        git(tree, "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-q", "-m", message)
    return tree


def test_commits_are_told_newest_first(clone: Path) -> None:
    """Each comes with what it touched, code and tests apart; the first has no parent and is left out."""
    layout, fix = list(Clone(clone).commits())
    assert (layout.message.strip(), fix.says_fix) == ("Fix layout", True)
    assert (fix.sources, fix.test_modules) == (["things.py"], ["tests/test_things.py"])
    assert fix.changed == {"things.py": "M", "tests/test_things.py": "M"}
    assert layout.parent == fix.id


def test_the_size_is_that_of_the_code(clone: Path) -> None:
    """Comments and layout count for nothing: one hunk that takes a line and adds one, and no hunk at all."""
    layout, fix = list(Clone(clone).commits())
    size = Clone(clone).size(fix)
    assert (size.files, size.hunks, size.lines) == (1, 1, 2)
    assert Clone(clone).size(layout).hunks == 0


def test_files_are_read_as_of_a_commit(clone: Path, tmp_path: Path) -> None:
    """A commit's tree and files are those of that time."""
    repository = Clone(clone)
    _, fix = list(repository.commits())
    repository.export(fix.parent, tmp_path / "before")
    assert (tmp_path / "before" / "things.py").read_text().endswith("x + 1\n")
    assert b"x * 2" in (repository.file(fix.id, "things.py") or b"")
    assert repository.file(fix.id, "nothing.py") is None


def test_what_is_no_clone_is_said(tmp_path: Path) -> None:
    """A folder that is missing, or is no repository, is named."""
    with pytest.raises(BadCase, match="name a clone"):
        Clone(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Fix the parser", True),
        ("Regression in 1.2", True),
        ("Handle None (#12)", True),
        ("Add a prefix option", False),
    ],
)
def test_messages_that_speak_of_a_bug(message: str, expected: bool) -> None:
    """Words stand alone: a prefix is no fix."""
    assert Commit(id="1", parent="0", message=message, changed={}).says_fix is expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [("tests/data/a.sql", True), ("pkg/test_a.py", True), ("pkg/a_test.py", True), ("pkg/latest.py", False)],
)
def test_what_belongs_to_the_tests(path: str, expected: bool) -> None:
    """Whatever lies in a folder of tests, and files that pytest would collect anywhere."""
    assert is_test(path) is expected
