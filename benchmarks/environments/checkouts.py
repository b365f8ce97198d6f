"""Repositories at one commit: who they are, and copies of their clones."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import msgspec


class NotBuilt(Exception):
    """No environment came of it; the message is the reason, on one line."""


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository at one commit. `tool` is the packaging tool that it represents."""

    name: str
    commit: str
    tool: str

    @property
    def directory(self) -> str:
        """The name of its clone."""
        return self.name.replace("/", "+")


class _File(msgspec.Struct):
    repository: list[Repository]


def repositories(path: Path) -> list[Repository]:
    """Those that a TOML file names. Raises msgspec.ValidationError or tomllib.TOMLDecodeError for another file."""
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File).repository


def check_out(clone: Path, commit: str, at: Path) -> None:
    """Copy a clone, with its history, as it is at a commit. Raises NotBuilt."""
    if not clone.is_dir():
        raise NotBuilt(f"no clone at {clone}")
    shutil.copytree(clone, at, symlinks=True)
    at_commit = ("git", "-C", str(at), "-c", "advice.detachedHead=false", "checkout", "-q", "--force", commit)
    done = subprocess.run(at_commit, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotBuilt(f"commit {commit[:12]} is not in {clone}")
