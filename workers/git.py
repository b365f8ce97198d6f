"""Runs git's command line in bare mirrors: no hook, filter or configuration of a repository ever runs.

A mirror holds the fetched commits of one repository. Exported trees have no `.git`, so that untrusted code can neither
find nor change one.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.model import Actor
from workers.errors import BadInput, CannotRun, Gone, Retryable

GIT_SECONDS = 600
MOST_PATHS = 100_000
"""Bytes of paths on git's command line, which has a limit. With more paths, git compares everything."""

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
"""Overrides of a repository's own configuration, which make it safe to read directories of other users."""

SERVE_FROM_DISK = "--upload-pack=git -c safe.directory=* upload-pack"
_GONE = re.compile(r"(?:not our ref|couldn't find remote ref|unadvertised object) (\S+)")
_LARGEST = "core.bigFileThreshold=4m"
"""Git shows no text of larger files in a diff, which limits memory; a review reads no file of that size."""

_AS_STORED = "* !text !eol !working-tree-encoding !ident !filter !diff\n"
"""Attributes of our mirrors. They override those of a commit: an exported file equals the committed one, byte for byte."""


class GitCommandFailed(CannotRun):
    """A git command failed."""


def program() -> Path:
    """The path of git; raises CannotRun when git is not installed."""
    found = shutil.which("git")
    if found is None:
        raise CannotRun("git is not installed; install it with your package manager")
    return Path(found)


def environment(config: Mapping[str, str] = {}, extra: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment of git: the configuration of `SAFE` and `config` alone, and the variables in `extra`."""
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
    """Run a git command under `config` and `extra`; returns its standard output. Raises with the last line of its errors."""
    command = [str(program()), *arguments]
    try:
        done = subprocess.run(  # noqa: S603  the arguments are ours
            command, cwd=at, env=environment(config, extra), input=stdin, capture_output=True, timeout=GIT_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise Retryable(f"git {arguments[0]} ran longer than {GIT_SECONDS} s") from error
    if done.returncode:
        errors = done.stderr.decode(errors="replace").strip().splitlines()
        raise GitCommandFailed(f"git {arguments[0]} failed: {errors[-1] if errors else 'no reason given'}")
    return done.stdout


class Mirror:
    """A bare copy, in `directory`, of the repository at a URL. Git reads the token from our memory, never from a URL, argv or its environment."""

    def __init__(self, directory: Path, url: str, token: str = "") -> None:
        self.directory = directory
        self._url = url
        self._token = token

    def fetch(self, *wanted: str) -> None:
        """Fetch commits, branches or full refs; raises Retryable when the remote is unreadable, Gone when it lacks one."""
        self._create()
        missing = [ref for ref in wanted if not self._has(ref)]
        if not missing:
            return
        try:
            # A user's own clone may be shallow; then our copy is shallow too.
            options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--update-shallow", SERVE_FROM_DISK)
            self._run("fetch", *options, self._url, *missing)
        except GitCommandFailed as error:
            if lost := _GONE.search(str(error)):
                why = "it was force-pushed away or deleted; push again, or ask again once it is back"
                raise Gone(f"{lost[1]} is no longer at {self._url}: {why}") from error
            raise Retryable(f"{self._url} could not be fetched from: {error}") from error

    def tip(self, branch: str) -> str:
        """The commit that a branch of the remote points at now; raises Gone for a missing branch."""
        try:
            listed = self._run("ls-remote", SERVE_FROM_DISK, self._url, f"refs/heads/{branch}").decode().split()
        except GitCommandFailed as error:
            raise Retryable(f"{self._url} could not be read: {error}") from error
        if not listed:
            raise Gone(f"the branch {branch} is no longer at {self._url}")
        return listed[0]

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
        """The change from the merge base of `base` and `head` to `head`, as a unified diff with renames."""
        return self._difference("--unified=3", self.merge_base(base, head), head)

    def between(self, old: str, new: str, paths: Sequence[str] = ()) -> str:
        """The diff of these paths, or all, between two commits of any histories, without context lines."""
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

    def commit(self, base: str, files: Mapping[str, bytes | None], message: str, when: datetime, author: Actor) -> str:
        """Store a commit on top of `base` with these files changed (None deletes). The same inputs give the same id."""
        with TemporaryDirectory() as scratch:
            index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
            self._run("read-tree", base, extra=index)
            self._run("update-index", "-z", "--index-info", extra=index, stdin=self._index_lines(base, files))
            tree = self._run("write-tree", extra=index).decode().strip()
        return self._store(tree, [base], message, when, author)

    def reworded(self, sha: str, author: Actor, reword: Callable[[str], str]) -> str:
        """The commit with another message; the same one where that does not change it, or another author wrote it."""
        shown = self._run("show", "--no-patch", "--no-show-signature", "--format=%T%n%P%n%ct%n%ae%n%B", sha).decode()
        tree, parents, seconds, email, message = shown.split("\n", 4)
        message, old = reword(message), message
        if message == old or email != email_of(author):
            return sha
        return self._store(tree, parents.split(), message.strip(), datetime.fromtimestamp(int(seconds), UTC), author)

    def _store(self, tree: str, parents: Sequence[str], message: str, when: datetime, author: Actor) -> str:
        flags = [flag for parent in parents for flag in ("-p", parent)]
        made = self._run("commit-tree", tree, *flags, "-m", message, extra=_identity(when, author))
        return made.decode().strip()

    def push(self, sha: str, branch: str, *, instead_of: str | None = None) -> None:
        """Create or move a branch of the remote; pushing the same commit again changes nothing.

        With `instead_of`, only if the branch is still at that commit.
        """
        lease = "--force" if instead_of is None else f"--force-with-lease=refs/heads/{branch}:{instead_of}"
        try:
            self._run("push", "--quiet", lease, self._url, f"{sha}:refs/heads/{branch}")
        except GitCommandFailed as error:
            raise Retryable(f"the branch {branch} could not be pushed: {error}") from error

    def read(self, sha: str, path: str) -> bytes | None:
        """A file at a commit; None for a missing file."""
        try:
            return self._run("cat-file", "blob", f"{sha}:{path}")
        except GitCommandFailed:
            return None

    def text(self, sha: str, path: str) -> str | None:
        """A file at a commit as text, with invalid UTF-8 replaced; None for a missing file."""
        content = self.read(sha, path)
        return None if content is None else content.decode(errors="replace")

    def paths(self, sha: str) -> list[str]:
        """Every file of a commit."""
        return self._run("ls-tree", "-r", "-z", "--name-only", sha).decode(errors="surrogateescape").split("\0")[:-1]

    def log(self, sha: str, about: str, most: int) -> list[str]:
        """The latest commits up to `sha` that touched the path `about`, or added or removed that text; a line each."""
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
        """Whether the mirror holds a full commit id. A branch always needs a fetch, because it may have moved."""
        if len(ref) < 40:
            return False
        try:
            self._run("cat-file", "-e", f"{ref}^{{commit}}")
        except GitCommandFailed:
            return False
        return True

    def _create(self) -> None:
        if not (self.directory / "HEAD").exists():
            self.directory.mkdir(parents=True, exist_ok=True)
            run_git("init", "--quiet", "--bare", ".", at=self.directory)
        attributes = self.directory / "info" / "attributes"
        if not attributes.exists():
            attributes.parent.mkdir(exist_ok=True)
            attributes.write_text(_AS_STORED)

    def _run(self, *arguments: str, extra: Mapping[str, str] = {}, stdin: bytes = b"") -> bytes:
        with _authorised(self._token) as config:
            return run_git(*arguments, at=self.directory, config=config, extra=extra, stdin=stdin)


@contextmanager
def _authorised(token: str) -> Iterator[dict[str, str]]:
    """Configuration that includes the token from memory of ours: it is in no argument, environment or file."""
    if not token:
        yield {}
        return
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    descriptor = os.memfd_create("authorisation")
    try:
        os.write(descriptor, f'[http]\n\textraHeader = "Authorization: Basic {basic}"\n'.encode())
        yield {"include.path": f"/proc/{os.getpid()}/fd/{descriptor}"}
    finally:
        os.close(descriptor)


def email_of(account: Actor) -> str:
    """The address that GitHub knows an account by; without the number it may be another account's."""
    return f"{account.id}+{account.login}@users.noreply.github.com"


def _identity(when: datetime, author: Actor) -> dict[str, str]:
    given = {"NAME": author.login, "EMAIL": email_of(author), "DATE": f"{int(when.timestamp())} +0000"}
    return {f"GIT_{whose}_{what}": value for whose in ("AUTHOR", "COMMITTER") for what, value in given.items()}


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


def is_tracked(path: Path) -> bool:
    """Whether git tracks a path, or anything below it; False outside of git."""
    try:
        return bool(run_git("ls-files", "-z", "--", path.name, at=path.parent))
    except GitCommandFailed:
        return False


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
