"""Where a fault lies among the suspects, where the commit that brought it is known: in a history made by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.repair import regressions
from benchmarks.repair.importers.commits import Clone

FIRST = """
def fee(weight, limit):
    spare = limit - weight
    if spare < 0:
        return weight * 3
    return weight * 2


def label(weight):
    return f"{weight} kg"
"""
BROKEN = FIRST.replace("weight * 3", "weight + 3").replace("kg", "kilogram")
FIXED = BROKEN.replace("weight + 3", "3 * weight")
TESTS = """
from post import fee, label


def test_light():
    assert fee(2, 5) == 4


def test_label():
    assert label(2).startswith("2 k")
"""
MORE = TESTS + "\n\ndef test_heavy():\n    assert fee(7, 5) == 21\n"


def history(at: Path, *versions: tuple[str, str, str]) -> Path:
    """A repository with a commit for each version of code, tests and message."""
    git = ["git", "-C", str(at), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    at.mkdir()
    subprocess.run([*git, "init", "-q"], check=True)
    for code, tests, message in versions:
        (at / "post.py").write_text(code)
        (at / "test_post.py").write_text(tests)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", message], check=True)
    return at


def test_git_blames_the_commit_that_wrote_what_a_fix_changes(tmp_path: Path) -> None:
    """With the lines as that commit has them."""
    moved = BROKEN.replace("\ndef fee", "\nRATE = 1\n\n\ndef fee")
    versions = ((FIRST, TESTS, "first"), (BROKEN, TESTS, "second"), (moved, TESTS, "third"))
    path = history(tmp_path / "post", *versions, (moved.replace("weight + 3", "3 * weight"), MORE, "fix the fee"))
    clone = Clone(path)
    fix, _, second = list(clone.commits())
    assert clone.blamed(fix) == {second.id: frozenset({("post.py", 5)})}


@pytest.mark.sandbox
def test_a_known_change_brings_its_fault_nearer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fault that was there from the start, or that no test shows, does not count."""
    path = history(
        tmp_path / "post", (FIRST, TESTS, "first"), (BROKEN, TESTS, "second"), (FIXED, MORE, "fix the fee of the heavy")
    )
    (places,) = regressions.regressions(path, 9, None)
    assert places["present"] == 1 <= places["without the change"]
    always = history(
        tmp_path / "always", (BROKEN, TESTS, "first"), (BROKEN + "#\n", TESTS, "second"), (FIXED, MORE, "fix")
    )
    assert list(regressions.regressions(always, 9, None)) == []
    assert "'counts': 1" in capsys.readouterr().err


def test_a_folder_that_is_no_clone_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line that names it."""
    monkeypatch.setattr(sys, "argv", ["regressions", str(tmp_path / "none")])
    with pytest.raises(SystemExit) as ended:
        regressions.main()
    assert ended.value.code == 2
    assert "none is not a directory" in capsys.readouterr().err
