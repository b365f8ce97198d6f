"""The changes of a branch, as git tells them."""

from __future__ import annotations

import pytest

from tests.unit.workers.history.conftest import Branch
from workers.history.changes import Blobs


def test_changes_come_oldest_first_with_their_places(branch: Branch) -> None:
    """Places count every commit of the branch; those that touch no Python are not read."""
    first = branch.commit({"a.py": "x = 1\n"})
    branch.commit({"notes.txt": "words\n"})
    last = branch.commit({"a.py": "x = 2\n"}, "a title\n\nwith a body")
    assert [(past.position, past.sha) for past in branch.past()] == [(0, first), (2, last)]


def test_reading_goes_on_after_a_commit(branch: Branch) -> None:
    """Only what came after it, with the places that it has in the whole."""
    first = branch.commit({"a.py": "x = 1\n"})
    branch.commit({"a.py": "x = 2\n"})
    assert [past.position for past in branch.past(after=first)] == [1]


@pytest.mark.parametrize("name", ["plain.py", "with space.py", "ünïcode.py", 'quo"te.py', "tab\there.py"])
def test_any_path_is_read(branch: Branch, name: str) -> None:
    """Names that git quotes come back, and lead to the file."""
    sha = branch.commit({name: "x = 1\n"})
    (past,) = branch.past()
    assert past.change is not None
    with Blobs(branch.root / ".git") as blobs:
        assert [blobs.read(sha, file.path) for file in past.change.files] == [b"x = 1\n"]


def test_what_is_no_file_does_not_disturb_the_next(branch: Branch) -> None:
    """A folder, a missing file and a name with a line feed answer None; the process goes on."""
    sha = branch.commit({"package/a.py": "x = 1\n"})
    with Blobs(branch.root / ".git") as blobs:
        assert [blobs.read(sha, name) for name in ("package", "missing.py", "a\nb.py")] == [None] * 3
        assert blobs.read(sha, "package/a.py") == b"x = 1\n"
