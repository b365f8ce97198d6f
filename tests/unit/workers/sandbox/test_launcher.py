"""The launcher's copy and overlay: they handle files that somebody else chose."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workers.errors import BadInput
from workers.ports import Workload
from workers.sandbox.launcher import apply_overlay, copy_tree
from workers.sandbox.launching import launch_spec


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A checkout with a bit of everything."""
    root = tmp_path / "source"
    for name in ("pkg", ".git", "node_modules", "pkg/__pycache__", ".venv", "venv"):
        (root / name).mkdir(parents=True)
        (root / name / "file.py").write_text(name)
    (root / ".venv" / "pyvenv.cfg").write_text("")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "secret").symlink_to("/etc/shadow")
    os.mkfifo(root / "pipe")
    return root


def copied(source: Path, tmp_path: Path) -> Path:
    target = tmp_path / "target"
    target.mkdir()
    copy_tree(str(source), str(target), None)
    return target


def test_what_can_be_made_again_stays_behind(source: Path, tmp_path: Path) -> None:
    """Version control, caches, environments and special files are not copied; a package called venv is."""
    target = copied(source, tmp_path)
    found = sorted(str(path.relative_to(target)) for path in target.rglob("*"))
    assert found == ["pkg", "pkg/file.py", "run.sh", "secret", "venv", "venv/file.py"]


def test_links_are_copied_as_links(source: Path, tmp_path: Path) -> None:
    """A link to a file of the host brings no content along."""
    target = copied(source, tmp_path)
    assert (target / "secret").is_symlink()
    assert (target / "secret").readlink() == Path("/etc/shadow")


def test_permission_bits_and_time_are_kept(source: Path, tmp_path: Path) -> None:
    """A script stays executable and as old as it was."""
    os.utime(source / "run.sh", (1_000_000, 1_000_000))
    copy = (copied(source, tmp_path) / "run.sh").stat()
    assert (copy.st_mode & 0o777, copy.st_mtime) == (0o755, 1_000_000)


def test_an_overlay_writes_and_deletes(tmp_path: Path) -> None:
    """New directories are made, old content is replaced, None deletes, and deleting nothing is fine."""
    (tmp_path / "old.py").write_text("old")
    (tmp_path / "gone.py").write_text("gone")
    apply_overlay(str(tmp_path), "old.py", b"new")
    apply_overlay(str(tmp_path), "a/b/c.py", b"deep")
    apply_overlay(str(tmp_path), "gone.py", None)
    apply_overlay(str(tmp_path), "never.py", None)
    assert (tmp_path / "old.py").read_text() == "new"
    assert (tmp_path / "a/b/c.py").read_text() == "deep"
    assert not (tmp_path / "gone.py").exists()


def test_an_overlay_keeps_permission_bits(tmp_path: Path) -> None:
    """A script that is overlaid stays executable."""
    (tmp_path / "run.sh").write_text("")
    (tmp_path / "run.sh").chmod(0o755)
    apply_overlay(str(tmp_path), "run.sh", b"#!/bin/sh\n")
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o755


def test_an_overlay_follows_no_links(tmp_path: Path) -> None:
    """A link in the checkout does not lead the overlay out of it: as a file it is replaced, as a directory refused."""
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (outside / "file").write_text("mine")
    (root / "file").symlink_to(outside / "file")
    (root / "directory").symlink_to(outside)
    apply_overlay(str(root), "file", b"new")
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        apply_overlay(str(root), "directory/file", b"new")
    assert (outside / "file").read_text() == "mine"
    assert (root / "file").read_text() == "new"
    assert not (root / "file").is_symlink()


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../b", "", ".", "a\0b"])
def test_an_overlay_path_out_of_the_checkout_is_bad_input(path: str, tmp_path: Path) -> None:
    """Paths are checked before anything is started."""
    workload = Workload(command=("true",), tree=tmp_path, python=tmp_path, overlay={path: b""})
    with pytest.raises(BadInput, match="leads out of the checkout"):
        launch_spec(workload, source=3, workspace=tmp_path, home=tmp_path, environment={}, report=4)
