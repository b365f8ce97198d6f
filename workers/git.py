"""Git, through its command line, in bare mirrors of our own: no hook, filter or configuration of a repository ever runs.

A mirror holds what was fetched from one repository. Trees are exported from it without a `.git`, so that nothing that
runs later can find or change one.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from workers.errors import CannotRun, Gone, Retryable

GIT_SECONDS = 600
MOST_PATHS = 100_000
"""Bytes of paths that are named to git one by one: a command line has its limit. Of more, everything is compared."""

SAFE = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.symlinks": "true",
    "core.quotePath": "false",
    "safe.directory": "*",
    "protocol.ext.allow": "never",
    "http.followRedirects": "false",
    "fetch.recurseSubmodules": "false",
    "gc.auto": "0",
}
"""Override what a repository's own configuration may say. Directories of other users can be read because of that."""

SERVE_FROM_DISK = "--upload-pack=git -c safe.directory=* upload-pack"
_GONE = re.compile(r"(?:not our ref|couldn't find remote ref|unadvertised object) (\S+)")
_LARGEST = "core.bigFileThreshold=4m"
"""Git shows no text of larger files in a diff, so that none fills the memory; a review reads none that large."""

_AS_STORED = "* !text !eol !working-tree-encoding !ident !filter !diff\n"
"""Attributes of our mirrors, over those of any commit: an exported file is what the commit holds, byte for byte."""

AUTHOR = "Apprentice"
EMAIL = "apprentice@users.noreply.github.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Where a repository is fetched from and pushed to. The token travels in the environment, never in a URL or argv."""

    url: str
    token: str = ""


class GitCommandFailed(CannotRun):
    """Git ran, and said no."""


def program() -> Path:
    """The git that is used; raises CannotRun where there is none."""
    found = shutil.which("git")
    if found is None:
        raise CannotRun("git is not installed; install it with your package manager")
    return Path(found)


def environment(config: Mapping[str, str] = {}, extra: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment that git runs in: nobody's configuration but `SAFE` and `config`, and the variables in `extra`."""
    git = program()
    settings = {**SAFE, **config}
    variables = {
        "PATH": f"{git.parent}{os.pathsep}{os.defpath}",
        "HOME": os.devnull,
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for number, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables | dict(extra)


def run_git(
    *arguments: str,
    at: Path,
    config: Mapping[str, str] = {},
    extra: Mapping[str, str] = {},
    stdin: bytes = b"",
) -> bytes:
    """Standard output of a git command, under `config` and variables of its own; raises with its last line of complaint."""
    command = [str(program()), *arguments]
    try:
        done = subprocess.run(  # noqa: S603  the arguments are ours
            command, cwd=at, env=environment(config, extra), input=stdin, capture_output=True, timeout=GIT_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise Retryable(f"git {arguments[0]} took longer than {GIT_SECONDS} s") from error
    if done.returncode:
        complaint = done.stderr.decode(errors="replace").strip().splitlines()
        raise GitCommandFailed(f"git {arguments[0]} failed: {complaint[-1] if complaint else 'no reason given'}")
    return done.stdout


def _authorised(token: str) -> dict[str, str]:
    """Settings that authorise over HTTP."""
    if not token:
        return {}
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    return {"http.extraHeader": f"Authorization: Basic {basic}"}


class Mirror:
    """A bare copy of one repository."""

    def __init__(self, directory: Path, remote: Remote) -> None:
        self._directory = directory
        self._remote = remote

    @property
    def directory(self) -> Path:
        """Where it lies."""
        return self._directory

    def fetch(self, *wanted: str) -> None:
        """Bring these commits, branches or full refs; raises Retryable when the remote cannot be read, Gone without one."""
        self._create()
        missing = [ref for ref in wanted if not self._has(ref)]
        if not missing:
            return
        try:
            # A user's own clone may be shallow; so is our copy of it then.
            options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--update-shallow", SERVE_FROM_DISK)
            self._run("fetch", *options, self._remote.url, *missing)
        except GitCommandFailed as error:
            if lost := _GONE.search(str(error)):
                why = "it was force-pushed away or deleted; push again, or ask again once it is back"
                raise Gone(f"{lost[1]} is no longer at {self._remote.url}: {why}") from error
            raise Retryable(f"{self._remote.url} could not be fetched from: {error}") from error

    def tip(self, branch: str) -> str:
        """The commit that a branch of the remote points at now; raises Gone for one that is not there."""
        try:
            told = self._run("ls-remote", SERVE_FROM_DISK, self._remote.url, f"refs/heads/{branch}").decode().split()
        except GitCommandFailed as error:
            raise Retryable(f"{self._remote.url} could not be read: {error}") from error
        if not told:
            raise Gone(f"the branch {branch} is no longer at {self._remote.url}")
        return told[0]

    def resolve(self, ref: str) -> str:
        """The commit that a ref names in this mirror."""
        return self._run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}").decode().strip()

    def export(self, sha: str, destination: Path) -> Path:
        """Write the tree of a commit below `destination`: every file (attributes cannot hide any), no `.git`."""
        destination.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as scratch:
            index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
            self._run("read-tree", sha, extra=index)
            self._run(
                f"--work-tree={destination}", "-c", "core.bare=false", "checkout-index", "--all", "--force", extra=index
            )
        return destination

    def diff(self, base: str, head: str) -> str:
        """The change from where `head` left `base` to `head`, as a unified diff with renames found."""
        return self._difference("--unified=3", self.merge_base(base, head), head)

    def between(self, old: str, new: str, paths: Sequence[str] = ()) -> str:
        """What differs in these paths, or all, from one commit to another, of whatever histories: without context."""
        return self._difference("--unified=0", old, new, paths)

    def _difference(self, context: str, old: str, new: str, paths: Sequence[str] = ()) -> str:
        options = ("--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", context)
        prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
        named = ("--", *paths) if 0 < sum(len(os.fsencode(path)) for path in paths) <= MOST_PATHS else ()
        done = self._run("--literal-pathspecs", "-c", _LARGEST, "diff", *options, *prefixes, old, new, *named)
        return done.decode(errors="surrogateescape")

    def merge_base(self, base: str, head: str) -> str:
        """The last common commit, or `base` itself where the histories share none (after a force-push)."""
        try:
            return self._run("merge-base", base, head).decode().strip()
        except GitCommandFailed:
            return base

    def commit(self, base: str, files: Mapping[str, bytes | None], message: str, when: datetime) -> str:
        """Store a commit on top of `base` with these files changed (None deletes). The same inputs give the same id."""
        with TemporaryDirectory() as scratch:
            index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
            self._run("read-tree", base, extra=index)
            self._run("update-index", "-z", "--index-info", extra=index, stdin=self._index_lines(base, files))
            tree = self._run("write-tree", extra=index).decode().strip()
        return self._run("commit-tree", tree, "-p", base, "-m", message, extra=_identity(when)).decode().strip()

    def push(self, sha: str, branch: str) -> None:
        """Create or move a branch of the remote; pushing the same commit again changes nothing."""
        try:
            self._run("push", "--quiet", "--force", self._remote.url, f"{sha}:refs/heads/{branch}")
        except GitCommandFailed as error:
            raise Retryable(f"the branch {branch} could not be pushed: {error}") from error

    def read(self, sha: str, path: str) -> bytes | None:
        """A file at a commit; None where there is none."""
        try:
            return self._run("cat-file", "blob", f"{sha}:{path}")
        except GitCommandFailed:
            return None

    def text(self, sha: str, path: str) -> str | None:
        """The same as text, what is no UTF-8 replaced."""
        content = self.read(sha, path)
        return None if content is None else content.decode(errors="replace")

    def paths(self, sha: str) -> list[str]:
        """Every file of a commit."""
        return self._run("ls-tree", "-r", "-z", "--name-only", sha).decode(errors="surrogateescape").split("\0")[:-1]

    def log(self, sha: str, about: str, most: int) -> list[str]:
        """Up to that commit, the latest that touched the path `about` or added or removed such a text, a line each."""
        wanted = ("--", about) if self.read(sha, about) is not None else (f"-S{about}", "--")
        shown = ("--no-color", "--no-show-signature", "--format=%h %as %s", f"--max-count={most}")
        return self._run("log", *shown, sha, *wanted).decode(errors="replace").splitlines()

    def _index_lines(self, base: str, files: Mapping[str, bytes | None]) -> bytes:
        lines = []
        for path, content in files.items():
            if content is None:
                lines.append(f"0 {'0' * 40}\t{path}\0")
                continue
            blob = self._run("hash-object", "-w", "--stdin", stdin=content).decode().strip()
            lines.append(f"{self._mode(base, path)} {blob}\t{path}\0")
        return os.fsencode("".join(lines))

    def _mode(self, base: str, path: str) -> str:
        listed = self._run("ls-tree", base, "--", path).decode()
        return listed.split()[0] if listed else "100644"

    def _has(self, ref: str) -> bool:
        """Only a full commit id can be known to be here already; a branch may have moved."""
        if len(ref) < 40:
            return False
        try:
            self._run("cat-file", "-e", f"{ref}^{{commit}}")
        except GitCommandFailed:
            return False
        return True

    def _create(self) -> None:
        if not (self._directory / "HEAD").exists():
            self._directory.mkdir(parents=True, exist_ok=True)
            run_git("init", "--quiet", "--bare", ".", at=self._directory)
        attributes = self._directory / "info" / "attributes"
        if not attributes.exists():
            attributes.parent.mkdir(exist_ok=True)
            attributes.write_text(_AS_STORED)

    def _run(self, *arguments: str, extra: Mapping[str, str] = {}, stdin: bytes = b"") -> bytes:
        config = _authorised(self._remote.token)
        return run_git(*arguments, at=self._directory, config=config, extra=extra, stdin=stdin)


def _identity(when: datetime) -> dict[str, str]:
    given = {"NAME": AUTHOR, "EMAIL": EMAIL, "DATE": f"{int(when.timestamp())} +0000"}
    return {f"GIT_{whose}_{what}": value for whose in ("AUTHOR", "COMMITTER") for what, value in given.items()}
