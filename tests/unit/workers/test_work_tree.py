"""What differs between a work tree and its last commit."""

from __future__ import annotations

from pathlib import Path

from workers.git import changed_files
from workers.git_command import run_git


def test_changed_and_new_files_are_named_from_the_directory_that_is_asked_about(tmp_path: Path) -> None:
    """Neither what is ignored nor what lies elsewhere in the repository; outside of git nothing is named."""
    assert changed_files(tmp_path) == ()
    here = tmp_path / "part"
    here.mkdir()
    for name in ("part/kept.py", "part/edited.py", "elsewhere.py"):
        (tmp_path / name).write_text("old = 1\n")
    (tmp_path / ".gitignore").write_text("*.log\n")
    run_git("init", "--quiet", at=tmp_path)
    run_git("add", ".", at=tmp_path)
    who = {"user.name": "a", "user.email": "a@example.org"}
    run_git("commit", "--quiet", "--message", "first", at=tmp_path, config=who)
    for name in ("part/edited.py", "elsewhere.py", "part/test_new.py", "part/run.log"):
        (tmp_path / name).write_text("new = 2\n")
    assert changed_files(here) == ("edited.py", "test_new.py")
