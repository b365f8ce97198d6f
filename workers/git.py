"""Runs git's command line in bare mirrors: no hook, filter or configuration of a repository ever runs.

A mirror holds the fetched commits of one repository. Exported trees have no `.git`, so that untrusted code can neither
find nor change one.
"""

import base64
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.model import Actor
from workers.errors import BadInput, CannotRun, Gone, Retryable, TokenRefused, Unavailable
from workers.git_command import GIT_SECONDS, USUAL, GitCommandFailed, GitLimits, TooMuchForGit, commit_time, run_git
from workers.home import locked
from workers.ports import Limits

SERVE_FROM_DISK = "--upload-pack=git -c safe.directory=* upload-pack"
_LACKING = re.compile(r"(?:upload|index)-pack|bad pack header")
_GONE = re.compile(r"(?:not our ref|couldn't find remote ref|unadvertised object) (\S+)")

_AS_STORED = "* !text !eol !working-tree-encoding !ident !filter !diff\n"
"""Attributes of our mirrors. They override those of a commit: an exported file equals the committed one, byte for byte."""

MAX_PATHS = 100_000
"""Bytes of paths on git's command line, which has a limit. With more paths, git compares everything."""

MAX_FILES, MAX_TREE_MB = 100_000, Limits().disk_mb
"""Files and directories of an exported commit, and their size: what a sandbox holds."""

MAX_CHANGED, MAX_COMPARED_MB, LARGEST = 10_000, 64, 4 << 20
"""Files of one change, and the text of both sides together; git compares no text of files that are larger."""

FETCHING = GitLimits(output_mb=4096)
FETCHING_MUCH = GitLimits(memory_mb=4096, cpu_seconds=GIT_SECONDS, output_mb=4096)
MUCH_BYTES = 32 << 20
"""A fetch that is over the first limits begins again under the second where this much arrived: honest work grows with it."""


class Mirror:
    """A bare copy, in `directory`, of the repository at a URL. Git reads the token from our memory, never from a URL, argv or its environment.

    `fetching` are the limits until `MUCH_BYTES` arrived.
    """

    def __init__(self, directory: Path, url: str, token: str = "", *, fetching: GitLimits = FETCHING) -> None:
        self.directory = directory
        self._url = url
        self._token = token
        self._fetching = fetching

    def fetch(self, *wanted: str) -> None:
        """Fetch commits, branches or full refs; raises Retryable when the remote is unreadable, Gone when it lacks one.

        Raises BadInput for a directory that lacks objects, as a partial clone does.
        """
        self._create()
        missing = [ref for ref in wanted if not self._has(ref)]
        if not missing:
            return
        # A commit with a ref is known to the next fetch, which brings only what is new, and survives collection.
        refs = [f"+{ref}:refs/fetched/{ref}" if len(ref) >= 40 and "/" not in ref else ref for ref in missing]
        try:
            self._download(refs)
        except GitCommandFailed as error:
            if lost := _GONE.search(str(error)):
                why = "it was force-pushed away or deleted; push again, or ask again once it is back"
                raise Gone(f"{lost[1]} is no longer at {self._url}: {why}") from error
            if _LACKING.search(str(error)) and Path(self._url).is_dir():
                how = f"get them with `git -C {self._url} fetch --refetch --no-filter origin`"
                raise BadInput(f"{self._url} lacks objects of its history, as a partial clone does; {how}") from error
            raise _translation(f"{self._url} could not be fetched from", error) from error
        config = {"gc.auto": "2000", "gc.autoPackLimit": "20", "gc.autoDetach": "false"}
        with suppress(CannotRun):  # the mirror serves as it is; the next fetch tries again
            run_git("gc", "--auto", "--quiet", at=self.directory, config=config, limits=FETCHING_MUCH)

    def _download(self, refs: Sequence[str]) -> None:
        # A user's own clone may be shallow; then our copy is shallow too.
        options = ("--quiet", "--no-write-fetch-head", "--update-shallow", SERVE_FROM_DISK)
        packs = self.directory / "objects" / "pack"
        known = set(packs.glob("tmp_*"))
        try:
            self._run("fetch", *options, self._url, *refs, limits=self._fetching)
        except TooMuchForGit:
            left = set(packs.glob("tmp_*")) - known
            received = sum(each.stat().st_size for each in left)
            for each in left:
                each.unlink()
            if received < MUCH_BYTES:
                raise
            self._run("fetch", *options, self._url, *refs, limits=FETCHING_MUCH)

    def tip(self, branch: str) -> str:
        """The commit that a branch of the remote points at now; raises Gone for a missing branch."""
        ref = f"refs/heads/{branch}"
        try:
            listed = self._run("ls-remote", SERVE_FROM_DISK, self._url, ref).split()
        except GitCommandFailed as error:
            raise _translation(f"{self._url} could not be read", error) from error
        # Of every ref that ends so, as `refs/heads/a/refs/heads/b`.
        tips = dict(zip(listed[1::2], listed[::2], strict=True))
        if (tip := tips.get(os.fsencode(ref))) is None:
            raise Gone(f"the branch {branch} is no longer at {self._url}")
        return tip.decode()

    def export(self, sha: str, destination: Path) -> Path:
        """Write the tree of a commit below `destination`: every file (attributes cannot hide any), no `.git`.

        Raises TooMuchForGit, before anything is written, for a tree that no sandbox holds.
        """
        self._measure(sha)
        destination.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as scratch:
            index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
            self._run("read-tree", sha, extra=index)
            self._run(
                *(f"--work-tree={destination}", "-c", "core.bare=false", "checkout-index", "--all", "--force"),
                extra=index,
                limits=GitLimits(cpu_seconds=60, output_mb=MAX_TREE_MB),
            )
        return destination

    def _measure(self, sha: str) -> None:
        """Count the files and directories of a commit, and add up their sizes, before any of it is read."""
        listed = self._listed(f"the tree of {sha[:7]}", "ls-tree", "-r", "-t", "-l", "-z", "--full-tree", sha)
        if len(listed) > MAX_FILES:
            raise TooMuchForGit(f"{sha[:7]} has {len(listed):,} files and directories, over {MAX_FILES:,}")
        sizes = (entry.partition("\t")[0].split()[3] for entry in listed)
        size_mb = sum(int(size) for size in sizes if size.isdigit()) >> 20
        if size_mb > MAX_TREE_MB:
            raise TooMuchForGit(f"the files of {sha[:7]} are {size_mb:,} MB, over the {MAX_TREE_MB} MB of a sandbox")

    def _listed(self, what: str, *arguments: str) -> list[str]:
        """What a command lists with zeros between."""
        try:
            return self._run(*arguments).decode(errors="surrogateescape").split("\0")[:-1]
        except TooMuchForGit as error:
            raise TooMuchForGit(f"{what} has too many files, or too long paths, to be listed") from error

    def diff(self, base: str, head: str) -> str:
        """The change from the merge base of `base` and `head` to `head`, as a unified diff with renames.

        Raises TooMuchForGit, as `between` does, for a change of too many files or too much text.
        """
        return self._difference("--unified=3", self.merge_base(base, head), head)

    def between(self, old: str, new: str, paths: Sequence[str] = ()) -> str:
        """The diff of these paths, or all, between two commits of any histories, without context lines."""
        return self._difference("--unified=0", old, new, paths)

    def _difference(self, context: str, old: str, new: str, paths: Sequence[str] = ()) -> str:
        named = ("--", *paths) if 0 < sum(len(os.fsencode(path)) for path in paths) <= MAX_PATHS else ()
        self._weigh(old, new, named)
        options = ("--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", context)
        prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
        try:
            done = self._run("--literal-pathspecs", "diff", *options, *prefixes, old, new, *named)
        except TooMuchForGit as error:
            raise TooMuchForGit(f"the change up to {new[:7]} is too large to be compared: {error}") from error
        return done.decode(errors="surrogateescape")

    def _weigh(self, old: str, new: str, named: Sequence[str]) -> None:
        """Count the files that differ, and add up the text that a diff of them compares: nothing of files only moved."""
        for sha in (old, new):
            self._measure(sha)
        options = ("--raw", "-z", "--no-abbrev", "--find-renames=100%")
        what = f"the change up to {new[:7]}"
        listed = self._listed(what, "--literal-pathspecs", "diff", *options, old, new, *named)
        fields, files, asked = iter(listed), 0, b""
        for field in fields:
            *_, before, after, status = field.split()
            for _ in range(2 if status == "R100" else 1):
                next(fields)
            files += 1
            asked += b"" if status == "R100" else f"{before}\n{after}\n".encode()
        if files > MAX_CHANGED:
            raise TooMuchForGit(f"{what} is of {files:,} files, over {MAX_CHANGED:,}; split it")
        sizes = self._run("cat-file", "--batch-check=%(objectsize)", stdin=asked).split()
        size_mb = sum(int(size) for size in sizes if size.isdigit() and int(size) <= LARGEST) >> 20
        if size_mb > MAX_COMPARED_MB:
            raise TooMuchForGit(f"{what} compares {size_mb:,} MB of text, over {MAX_COMPARED_MB} MB; split it")

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
        return self._store(tree, parents.split(), message.strip(), commit_time(seconds), author)

    def _store(self, tree: str, parents: Sequence[str], message: str, when: datetime, author: Actor) -> str:
        flags = [flag for parent in parents for flag in ("-p", parent)]
        made = self._run("commit-tree", tree, *flags, "-m", message, extra=_identity(when, author))
        return made.decode().strip()

    def push(self, sha: str, branch: str, *, instead_of: str | None = None) -> None:
        """Create or move a branch of the remote; pushing the same commit again changes nothing.

        With `instead_of`, only if the branch is still at that commit; empty, only if there is no such branch. Raises CannotRun
        where the remote declines it by a rule.
        """
        lease = "--force" if instead_of is None else f"--force-with-lease=refs/heads/{branch}:{instead_of}"
        try:
            self._run("push", "--quiet", lease, self._url, f"{sha}:refs/heads/{branch}")
        except GitCommandFailed as error:
            what = f"the branch {branch} could not be pushed"
            if refusal := _DECLINED.search(error.written):
                raise CannotRun(f"{what}: {refusal[0].strip()}") from error
            raise _translation(what, error) from error

    def read(self, sha: str, path: str) -> bytes | None:
        """A file at a commit; None for a missing file. Raises TooMuchForGit for one of over 24 MB."""
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
        return self._listed(f"the tree of {sha[:7]}", "ls-tree", "-r", "-z", "--name-only", sha)

    def log(self, sha: str, about: str, most: int) -> list[str]:
        """The latest commits up to `sha` that touched the path `about`, or added or removed that text; a line each."""
        wanted = ("--", about) if self.read(sha, about) is not None else (f"-S{about}", "--")
        shown = ("--no-color", "--no-show-signature", "--format=%h %as %s", f"--max-count={most}")
        return self._run("log", *shown, sha, *wanted).decode(errors="replace").splitlines()

    def commits(self, base: str, tip: str) -> list[list[str]]:
        """What `tip` has and `base` has not, latest first: the addresses of author and committer, and the subject."""
        found = self._run("log", "--no-show-signature", "--format=%ae%x00%ce%x00%s", f"{base}..{tip}")
        return [line.split("\0") for line in found.decode(errors="replace").split("\n")[:-1]]

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
        attributes = self.directory / "info" / "attributes"
        if not attributes.exists():
            self.directory.mkdir(parents=True, exist_ok=True)
            with locked(self.directory, wait=True):  # two that make one mirror at a time break each other's files
                run_git("init", "--quiet", "--bare", ".", at=self.directory)
                attributes.parent.mkdir(exist_ok=True)
                unfinished = attributes.with_suffix(".new")
                unfinished.write_text(_AS_STORED)
                unfinished.rename(attributes)
        os.utime(attributes.parent)

    def _run(
        self, *arguments: str, extra: Mapping[str, str] = {}, stdin: bytes = b"", limits: GitLimits = USUAL
    ) -> bytes:
        scheme = self._url.partition("://")[0] if self._url.startswith(("https://", "http://")) else "file"
        with _authorised(self._token) as authorised:
            config = {**authorised, f"protocol.{scheme}.allow": "always"}
            return run_git(*arguments, at=self.directory, config=config, extra=extra, stdin=stdin, limits=limits)


_DECLINED = re.compile(
    r"^ ! \[remote rejected\].*(?:declined|refusing to allow|file conflict|cannot create).*|^.*error: 403\b.*",
    re.MULTILINE,
)
"""What GitHub says of a push against its rules or without the right to push: the same push is not taken later either."""
_REFUSED = re.compile(r"authentication failed|could not read (?:username|password)|error: 401\b", re.IGNORECASE)
_FINAL = re.compile(r"(?:error:|HTTP) 4(?!08|29)\d\d\b")
_AWAY = re.compile(
    r"(?:error:|HTTP) (?:408|429|5\d\d)\b|could(?: not|n't) (?:resolve|connect)|failed to connect|timed out|empty reply"
    r"|connection (?:was )?(?:refused|reset|timed)|unexpected disconnect|early eof|remote end hung up|rpc failed"
    r"|gnutls_handshake|SSL_(?:connect|read)",
    re.IGNORECASE,
)


def _translation(what: str, error: GitCommandFailed) -> Retryable:
    """The error that git's output means. What is no outage may be a branch that is protected now, or a repository that is gone."""
    if _REFUSED.search(error.written):
        return TokenRefused(f"{what}: {error}")
    away = _AWAY.search(error.written) and not _FINAL.search(error.written)
    return (Unavailable if away else Retryable)(f"{what}: {error}")


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


MAX_MIRRORS, MAX_MIRRORS_MB, IN_USE_SECONDS = 500, 20_000, 6 * 3600


def remove_least_used(mirrors: Path, *, most: int = MAX_MIRRORS, seconds: float = inf) -> int:
    """Remove mirrors, the least recently used first, until few and small enough ones are left, and none that was not used for
    so many seconds; returns how many.

    One that a fetch used within `IN_USE_SECONDS` stays: a job may be reading it.
    """
    found = sorted(mirrors.glob("*.git"), key=_last_use, reverse=True)
    size = removed = 0
    for number, mirror in enumerate(found, start=1):
        size += _size(mirror / "objects" / "pack")
        unused = time.time() - _last_use(mirror)
        over = number > most or size > MAX_MIRRORS_MB << 20 or unused > seconds
        if over and unused > IN_USE_SECONDS:
            shutil.rmtree(mirror, ignore_errors=True)
            removed += 1
    return removed


def _size(directory: Path) -> int:
    """Bytes of the files in it; git and other workers remove some at any time."""
    size = 0
    with suppress(FileNotFoundError):
        for entry in os.scandir(directory):
            with suppress(FileNotFoundError):
                size += entry.stat().st_size
    return size


def _last_use(mirror: Path) -> float:
    """Seconds since the epoch; of a mirror that is being made, its beginning, and of one that is being replaced, now."""
    for place in (mirror / "info", mirror):
        with suppress(FileNotFoundError):
            return place.stat().st_mtime
    return time.time()


def email_of(account: Actor) -> str:
    """The address that GitHub knows an account by; without the number it may be another account's."""
    return f"{account.id}+{account.login}@users.noreply.github.com"


def _identity(when: datetime, author: Actor) -> dict[str, str]:
    given = {"NAME": author.login, "EMAIL": email_of(author), "DATE": f"{int(when.timestamp())} +0000"}
    return {f"GIT_{whose}_{what}": value for whose in ("AUTHOR", "COMMITTER") for what, value in given.items()}
