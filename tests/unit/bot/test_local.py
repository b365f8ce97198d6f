"""What local commands work on: a copy, with a name and an identity."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from bot.local import digest, repository_name, snapshot
from workers.errors import BadInput


def cloned_from(at: Path, url: str) -> Path:
    at.mkdir()
    subprocess.run(["git", "init", "--quiet", str(at)], check=True)
    subprocess.run(["git", "-C", str(at), "remote", "add", "origin", url], check=True)
    return at


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/kitchen/pantry.git", "local:kitchen/pantry"),
        ("https://token@example.com/kitchen/pantry/", "local:kitchen/pantry"),
        ("git@github.com:kitchen/pantry.git", "local:kitchen/pantry"),
        ("ssh://git@example.com:2222/kitchen/pantry.git", "local:kitchen/pantry"),
        ("/srv/git/pantry.git", "local:work"),
    ],
)
def test_a_clone_is_called_as_on_its_host(tmp_path: Path, url: str, name: str) -> None:
    """Clones of one repository share their memory; no name or number on GitHub is like it, whatever a clone says of itself."""
    assert repository_name(cloned_from(tmp_path / "work", url)) == name


def test_anything_else_is_called_by_its_directory(tmp_path: Path) -> None:
    """A directory without version control has a name, too."""
    (tmp_path / "shop").mkdir()
    assert repository_name(tmp_path / "shop") == "local:shop"


def test_a_snapshot_is_a_copy_without_what_is_not_the_project(tmp_path: Path) -> None:
    """Sources, data and links are copied; version control, environments and caches stay behind; the copy goes away."""
    for name in (
        "a.py",
        "data/b.txt",
        ".git/config",
        ".venv/pyvenv.cfg",
        "pkg/__pycache__/a.pyc",
        "node_modules/x/y.js",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("/nowhere/at/all")
    with snapshot(tmp_path) as tree:
        copied = {path.relative_to(tree).as_posix() for path in tree.rglob("*") if not path.is_dir()}
        assert (tree / "link").readlink() == Path("/nowhere/at/all")
        (tree / "a.py").write_text("changed")
    assert copied == {"a.py", "data/b.txt", "link"}
    assert (tmp_path / "a.py").read_text() == "a.py"
    assert not tree.exists()


def test_a_snapshot_leaves_out_what_cannot_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets and pipes of running servers, and what belongs to another user; a package may be called as environments are."""
    for name in ("a.py", "data/base/1.db", "pkg/venv/__init__.py", "env/pyvenv.cfg", "env/lib/b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(".s.PGSQL.5432")
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "base" and allowed(path, mode))
    with snapshot(tmp_path) as tree:
        copied = {path.relative_to(tree).as_posix() for path in tree.rglob("*") if not path.is_dir()}
    assert copied == {"a.py", "pkg/venv/__init__.py"}


def test_a_snapshot_for_a_model_has_no_untracked_keys(tmp_path: Path) -> None:
    """Tests that a model asks for could print them; what git tracks is the project's."""
    (tmp_path / "pkg").mkdir()
    for name in (".env", "pkg/server.key", "pkg/known.pem", "pkg/a.py"):
        (tmp_path / name).write_text("secret = 1\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "add", "pkg/known.pem"], check=True)
    with snapshot(tmp_path, keys=False) as tree:
        found = {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}
    assert found == {"pkg/known.pem", "pkg/a.py"}
    with snapshot(tmp_path) as tree:
        assert (tree / ".env").is_file()


def test_only_a_directory_has_a_snapshot(tmp_path: Path) -> None:
    """Anything else is refused by its name."""
    with pytest.raises(BadInput, match="absent is not a directory"), snapshot(tmp_path / "absent"):
        pass


def test_the_digest_is_that_of_names_and_contents_of_sources(tmp_path: Path) -> None:
    """It stands for a commit: 40 digits that change with any source, and with nothing else."""
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("")
    before = digest(tmp_path)
    (tmp_path / "notes.txt").write_text("later")
    assert digest(tmp_path) == before
    assert len(before) == 40
    (tmp_path / "a.py").rename(tmp_path / "c.py")
    renamed = digest(tmp_path)
    (tmp_path / "c.py").write_text("x = 2\n")
    assert len({before, renamed, digest(tmp_path)}) == 3
