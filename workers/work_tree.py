"""Reads a user's own repository with git's command line, where none of its hooks, filters or settings runs a program."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from workers.errors import BadInput, CannotRun
from workers.git_command import GitCommandFailed, TooMuchForGit, run_git
from workers.settings import variable

MAX_UNCOMMITTED, LARGEST_UNCOMMITTED = 2_000, 4 << 20

MAX_DIFFERING = 100
"""Files of a change: more of them say little about a failure."""


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
    """The root of the work tree that `path` lies in; None outside of git, and without it."""
    try:
        return Path(run_git("rev-parse", "--show-toplevel", at=path).decode().strip())
    except CannotRun:
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


def before_changes(path: Path) -> dict[str, bytes | None]:
    """The Python files below a directory that differ from HEAD, as they are there; None for new ones.

    Nothing outside of git, without git, in a repository without commits, and where more than MAX_DIFFERING differ.
    """
    try:
        config = _without_filters(path)
        changed = run_git("diff", *_NAMES, "HEAD", "--", "*.py", at=path, config=config)
        new = run_git("ls-files", "--others", "--exclude-standard", "-z", "--", "*.py", at=path, config=config)
        return _as_of("HEAD", changed + new, path)
    except CannotRun:
        return {}


def before_last_commit(path: Path) -> dict[str, bytes | None]:
    """The Python files below a directory that the last commit changed, as they were before it; None for new ones.

    Nothing outside of git, without git, in a repository that holds no commit before it, and where it changed more than
    MAX_DIFFERING.
    """
    try:
        return _as_of("HEAD^", run_git("diff", *_NAMES, "HEAD^", "HEAD", "--", "*.py", at=path), path)
    except CannotRun:
        return {}


_NAMES = ("--name-only", "--relative", "--no-renames", "--no-ext-diff", "--ignore-submodules=all", "-z")


def _as_of(commit: str, listed: bytes, path: Path) -> dict[str, bytes | None]:
    """The files that git listed, with zeros between, as a commit has them; nothing where there are more than MAX_DIFFERING."""
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    if not 0 < len(names) <= MAX_DIFFERING:
        return {}
    there = run_git("ls-tree", "--name-only", "-z", commit, "--", *names, at=path).split(b"\0")
    known = {os.fsdecode(name) for name in there}
    return {
        name: run_git("cat-file", "blob", f"{commit}:./{name}", at=path) if name in known else None for name in names
    }


MAIN_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
"""Where a change is taken to start from, the first of these that there is."""


def main_branch(path: Path) -> str:
    """The branch that work in this repository starts from; raises BadInput where none can be guessed."""
    for name in MAIN_BRANCHES:
        with suppress(GitCommandFailed):
            run_git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", at=path)
            return run_git("rev-parse", "--abbrev-ref", name, at=path).decode().strip() or name
    raise BadInput(f"{path} has none of {', '.join(MAIN_BRANCHES)}: name what the change starts from with --base")


def uncommitted_files(root: Path, progress: Callable[[str], None]) -> dict[str, bytes | None]:
    """The files of a work tree that differ from HEAD, untracked ones included, as they are now; None for deleted ones.

    What git ignores is left out, and so are symlinks; files that are too large or cannot be read are, too, with a line of `progress`.
    Raises BadInput for more than MAX_UNCOMMITTED files.
    """
    config = _without_filters(root) | _ignored_everywhere(root)
    changed = run_git("diff", *_NAMES, "HEAD", at=root, config=config).split(b"\0")
    new = run_git("ls-files", "--others", "--exclude-standard", "-z", at=root, config=config).split(b"\0")
    names = [os.fsdecode(name) for name in (*changed, *new) if name]
    if len(names) > MAX_UNCOMMITTED:
        raise BadInput(
            f"{len(names)} files are not committed, over {MAX_UNCOMMITTED}; commit them, or ignore what is built"
        )
    found: dict[str, bytes | None] = {}
    for name, path in ((name, root / name) for name in names):
        if path.is_symlink():
            continue
        if not path.is_file():
            found[name] = None
        elif path.stat().st_size > LARGEST_UNCOMMITTED:
            progress(f"left out: {name} ({path.stat().st_size >> 20} MB, over {LARGEST_UNCOMMITTED >> 20})")
        elif not os.access(path, os.R_OK):
            progress(f"left out: {name} (it may not be read)")
        else:
            found[name] = path.read_bytes()
    return found


def is_tracked(path: Path) -> bool:
    """Whether git tracks a path, or anything below it; False outside of git, and without it."""
    try:
        return bool(run_git("ls-files", "-z", "--", path.name, at=path.parent))
    except TooMuchForGit:
        raise
    except CannotRun:
        return False


def _without_filters(path: Path) -> dict[str, str]:
    """Settings that disable a repository's own content filters, which are commands that git would run."""
    names = run_git("config", "--list", "--name-only", "-z", at=path).decode(errors="surrogateescape").split("\0")
    drivers = {name.rpartition(".")[0] for name in names if name.startswith("filter.")}
    off = {"clean": "", "smudge": "", "process": "", "required": "false"}
    return {f"{driver}.{key}": value for driver in drivers for key, value in off.items()}


def _ignored_everywhere(root: Path) -> dict[str, str]:
    """The setting that names what the user ignores in every repository; none where this one has its own, or there is no file.

    It is the only one of the user's settings that git gets from us, as it runs nothing: what it names is not part of the project.
    """
    home, asked = Path(variable("HOME") or os.devnull), ("config", "--type=path", "--get", "core.excludesFile")
    users = {"HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / ".gitconfig")}
    with suppress(GitCommandFailed):
        run_git(*asked, at=root)
        return {}
    named = home / ".config" if not variable("XDG_CONFIG_HOME") else Path(variable("XDG_CONFIG_HOME"))
    file = named / "git" / "ignore"
    with suppress(GitCommandFailed):
        file = Path(os.fsdecode(run_git(*asked, at=root, extra=users)).rstrip("\n"))
    return {"core.excludesFile": str(file)} if os.access(file, os.R_OK) else {}


def origin(path: Path) -> str:
    """The URL that the user's repository was cloned from; empty without one, or without git."""
    try:
        return run_git("config", "--get", "remote.origin.url", at=path).decode().strip()
    except CannotRun:
        return ""
