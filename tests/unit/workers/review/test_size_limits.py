from __future__ import annotations

import pytest

from workers.diffs import FileChange, FileStatus, Hunk
from workers.review.read_report import ReadBudget, by_priority
from workers.review.source import Unread


def changed(path: str, lines: int = 1) -> FileChange:
    hunk = Hunk(old_start=1, old_count=0, new_start=1, new_count=lines, lines=("+x",) * lines)
    return FileChange(
        path=path,
        old_path=path,
        status=FileStatus.MODIFIED,
        binary=False,
        mode="100644",
        added_lines=frozenset(range(1, lines + 1)),
        hunks=(hunk,),
    )


def test_what_matters_most_comes_first() -> None:
    """What runs with rights, code, tests, the rest, lock files; and within each, the file that changed most."""
    ordered = [
        changed(".github/workflows/ci.yml"),
        changed("requirements.txt"),
        changed("shop/long.py", 90),
        changed("app.js", 5),
        changed("file-lock.js", 4),
        changed("shop/short.py"),
        changed("tests/test_shop.py", 300),
        changed("README.md", 400),
        changed("data.json"),
        changed("package-lock.json", 9_000),
        changed("npm-shrinkwrap.json", 8_000),
        changed("uv.lock"),
    ]
    assert by_priority(sorted(ordered, key=lambda file: file.path)) == ordered
    assert by_priority(ordered[::-1]) == ordered


def test_files_beyond_the_bound_are_not_taken() -> None:
    """So many files are taken; those after them are refused without being opened."""
    budget = ReadBudget(files=2, characters=100)
    assert [budget.take(lambda: "a"), budget.take(lambda: "b")] == ["a", "b"]
    with pytest.raises(Unread, match=r"^over the 2 files that one review reads$"):
        budget.take(lambda: pytest.fail("opened"))


def test_a_long_file_leaves_its_room_to_others() -> None:
    """Characters are counted; a file that does not fit any more is refused, and a shorter one after it is taken."""
    budget = ReadBudget(files=9, characters=10)
    budget.take(lambda: "12345")
    with pytest.raises(Unread, match=r"^over the 10 characters that one review reads$"):
        budget.take(lambda: "123456")
    assert budget.take(lambda: "12345") == "12345"
    with pytest.raises(Unread, match="characters"):
        budget.take(lambda: pytest.fail("opened"))


def test_what_cannot_be_read_takes_no_room() -> None:
    """A file that is not to be read has its own reason, and leaves the budget for the next."""

    def unreadable() -> str:
        raise Unread("binary")

    budget = ReadBudget(files=1, characters=10)
    with pytest.raises(Unread, match=r"^binary$"):
        budget.take(unreadable)
    assert budget.take(lambda: "a") == "a"
