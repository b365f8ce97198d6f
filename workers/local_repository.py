"""Reads a user's own git repository on this disk. Writes nothing to it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workers.errors import BadInput, CannotRun
from workers.git import GitCommandFailed, run_git


def local_commits(path: Path, refs: Sequence[str]) -> tuple[str, ...]:
    """The commits that refs name in a user's own repository; raises BadInput for the first that names none."""
    found = []
    for ref in refs:
        try:
            found.append(run_git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", at=path).decode().strip())
        except GitCommandFailed as error:
            raise BadInput(f"{ref!r} names no commit in {path}; see `git branch --all`") from error
    return tuple(found)


def top_level(path: Path) -> Path | None:
    """The root of the work tree that `path` lies in; None outside of git."""
    try:
        return Path(run_git("rev-parse", "--show-toplevel", at=path).decode().strip())
    except GitCommandFailed:
        return None


def git_directory(path: Path) -> Path | None:
    """The git directory of a work tree or a bare repository at `path`; None outside of git."""
    try:
        return Path(run_git("rev-parse", "--absolute-git-dir", at=path).decode().strip())
    except (GitCommandFailed, OSError):
        return None


def uncommitted(path: Path) -> bool:
    """Whether tracked files of the work tree differ from HEAD."""
    options = ("--porcelain", "--untracked-files=no", "--ignore-submodules=all")
    return bool(run_git("status", *options, at=path, config=_without_filters(path)).strip())


def _without_filters(path: Path) -> dict[str, str]:
    """Settings that disable a repository's own content filters, which are commands that git would run."""
    names = run_git("config", "--list", "--name-only", "-z", at=path).decode(errors="surrogateescape").split("\0")
    drivers = {name.rpartition(".")[0] for name in names if name.startswith("filter.")}
    off = {"clean": "", "smudge": "", "process": "", "required": "false"}
    return {f"{driver}.{key}": value for driver in drivers for key, value in off.items()}


def origin(path: Path) -> str:
    """The URL that the user's repository was cloned from; empty without one, or without git."""
    try:
        return run_git("config", "--get", "remote.origin.url", at=path).decode().strip()
    except CannotRun:
        return ""
