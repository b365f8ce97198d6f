"""What differs between a work tree and its last commit."""

from __future__ import annotations

from pathlib import Path

from tests.unit.workers.history.conftest import Branch
from workers.work_tree import before_changes


def test_files_as_they_were_before_uncommitted_changes(tmp_path: Path) -> None:
    """Those below the directory alone, by their paths in it; nothing outside of git, and without a commit."""
    assert before_changes(tmp_path) == {}
    branch = Branch(tmp_path)
    assert before_changes(tmp_path) == {}
    branch.commit({"a.py": "a = 1\n", "sub/b.py": "b = 1\n", "sub/c.py": "c = 1\n", "d.txt": "d\n"})
    assert before_changes(tmp_path) == {}
    for name, text in {"a.py": "a = 2\n", "sub/b.py": "b = 2\n", "sub/new.py": "n = 1\n", "d.txt": "e\n"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "sub" / "c.py").unlink()
    below = {"b.py": b"b = 1\n", "c.py": b"c = 1\n", "new.py": None}
    assert before_changes(tmp_path / "sub") == below
    assert before_changes(tmp_path) == {"a.py": b"a = 1\n", **{f"sub/{name}": text for name, text in below.items()}}
