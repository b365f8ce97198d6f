"""Bare git repositories on disk, driven by the git command line; the playground's only door to a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ZERO = "0" * 40


class PlaygroundGitFailed(Exception):
    """git failed; the text is its error message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitIdentity:
    name: str
    email: str

    def environment(self, role: str) -> dict[str, str]:
        """What makes it git's AUTHOR, or its COMMITTER."""
        return {f"GIT_{role}_NAME": self.name, f"GIT_{role}_EMAIL": self.email}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: GitIdentity
    authored_at: datetime
    committer: GitIdentity
    committed_at: datetime
    message: str


# What git needs and nothing of the host's: no configuration, no credentials, no prompts.
_ENVIRONMENT = {
    "PATH": os.defpath,
    "HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
}


def git(*arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, ok: Sequence[int] = (0,)) -> bytes:
    """Run git to its end; its standard output. Raises GitFailed on any exit code outside `ok`."""
    program = shutil.which("git")
    if program is None:
        raise PlaygroundGitFailed("git is not installed: install it and start again")
    done = subprocess.run(  # noqa: S603 - fixed program, arguments are built here and never reach a shell
        [program, *arguments], input=stdin, capture_output=True, env={**_ENVIRONMENT, **(env or {})}, check=False
    )
    if done.returncode not in ok:
        raise PlaygroundGitFailed(done.stderr.decode(errors="replace").strip() or f"git {arguments[0]} failed")
    return done.stdout


class BareRepository:
    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, default_branch: str = "main") -> BareRepository:
        """Make an empty one that takes pushes over HTTP and hides what GitHub hides."""
        git("init", "--quiet", "--bare", f"--initial-branch={default_branch}", str(path))
        made = cls(path)
        for key, value in (
            ("http.receivepack", "true"),
            ("receive.hideRefs", "refs/pull"),
            ("uploadpack.allowAnySHA1InWant", "true"),
            ("core.logAllRefUpdates", "false"),
            ("gc.auto", "0"),
        ):
            made.run("config", key, value)
        return made

    def run(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, ok: Sequence[int] = (0,)
    ) -> bytes:
        return git("-C", str(self.path), *arguments, stdin=stdin, env=env, ok=ok)

    def text(self, *arguments: str) -> str:
        return self.run(*arguments).decode(errors="replace").strip()

    def refs(self) -> dict[str, str]:
        """Every ref and the object it points at."""
        lines = self.text("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ", 1) for line in lines)

    def resolve(self, name: str) -> str | None:
        """The commit of a ref, a branch or a SHA."""
        if name.startswith("-"):
            return None
        found = self.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", ok=(0, 1, 128)).decode().strip()
        return found or None

    def branch(self, name: str) -> str | None:
        return self.resolve(f"refs/heads/{name}")

    def set_ref(self, ref: str, new: str, old: str | None = None) -> None:
        """Point `ref` at `new`; when `old` is given, only if it still points there."""
        self.run("update-ref", ref, new, *([old] if old is not None else []))

    def fetch_from(self, other: BareRepository, sha: str, ref: str) -> None:
        """Bring the commit `sha` of another repository here, and point `ref` at it."""
        if other.path != self.path:
            self.run("fetch", "--quiet", "--no-tags", str(other.path), sha)
        self.set_ref(ref, sha)

    def commit(self, sha: str) -> CommitInfo:
        shape = "%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B"
        fields = self.run("show", "--no-patch", f"--format={shape}", sha).decode(errors="replace").split("\0")
        return CommitInfo(
            sha=fields[0],
            tree=fields[1],
            parents=tuple(fields[2].split()),
            author=GitIdentity(name=fields[3], email=fields[4]),
            authored_at=datetime.fromtimestamp(int(fields[5]), UTC),
            committer=GitIdentity(name=fields[6], email=fields[7]),
            committed_at=datetime.fromtimestamp(int(fields[8]), UTC),
            message=fields[9].rstrip("\n"),
        )

    def merge_base(self, one: str, two: str) -> str | None:
        return self.run("merge-base", one, two, ok=(0, 1)).decode().strip() or None

    def is_ancestor(self, old: str, new: str) -> bool:
        return self.merge_base(old, new) == old

    def count(self, base: str, head: str) -> int:
        """How many commits `head` is ahead of `base`."""
        return int(self.text("rev-list", "--count", head, f"^{base}"))

    def blob(self, sha: str, path: str) -> str | None:
        """The object id of a file at a commit."""
        shape = "--format=%(objecttype) %(objectname)"
        found = self.text("ls-tree", "--full-tree", shape, sha, "--", path).split()
        return found[1] if found[:1] == ["blob"] else None

    def read(self, sha: str, path: str) -> bytes | None:
        found = self.blob(sha, path)
        return self.run("cat-file", "blob", found) if found else None

    def lines(self, sha: str, path: str) -> list[str]:
        """The file's lines at a commit; none of a missing one."""
        return (self.read(sha, path) or b"").decode(errors="replace").splitlines()

    def file_sizes(self, base: str, head: str) -> list[tuple[int, int]]:
        """Lines added and removed in each file of the diff between two commits; none in a binary file."""
        rows = self.text("diff", "--numstat", "-M", base, head).splitlines()
        added_and_removed = (row.split("\t")[:2] for row in rows)
        return [(_lines(added), _lines(removed)) for added, removed in added_and_removed]

    def patch(self, base: str, head: str, path: str) -> str | None:
        """The hunks of one file in the diff between two commits; None when the diff has none for it."""
        names = self.run("diff", "--name-only", "-z", "-M", base, head).decode(errors="replace").split("\0")
        diff = self.run("diff", "-M", "--no-color", base, head).decode(errors="replace")
        parts = dict(zip(names, f"\n{diff}".split("\ndiff --git ")[1:], strict=False))
        _header, found, hunks = parts.get(path, "").partition("\n@@ ")
        return f"@@ {hunks}".rstrip("\n") if found else None

    def edit(
        self,
        parent: str | None,
        files: Mapping[str, bytes | None],
        message: str,
        author: GitIdentity,
        committer: GitIdentity,
    ) -> str:
        """A new commit on `parent` with these files written (None deletes); its SHA. Moves no ref."""
        with tempfile.TemporaryDirectory() as scratch:
            env = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
            if parent:
                self.run("read-tree", parent, env=env)
            rows = [self._index_row(parent, path, content) for path, content in files.items()]
            self.run("update-index", "-z", "--index-info", stdin=b"".join(rows), env=env)
            tree = self.run("write-tree", env=env).decode().strip()
        return self.commit_tree(tree, [parent] if parent else [], message, author, committer)

    def _index_row(self, parent: str | None, path: str, content: bytes | None) -> bytes:
        if content is None:
            return f"0 {ZERO}\t{path}\0".encode()
        blob = self.run("hash-object", "-w", "--stdin", stdin=content).decode().strip()
        mode = self.text("ls-tree", "--full-tree", parent, "--", path).split(" ")[0] if parent else ""
        return f"{mode or '100644'} {blob}\t{path}\0".encode()

    def commit_tree(
        self, tree: str, parents: Sequence[str], message: str, author: GitIdentity, committer: GitIdentity
    ) -> str:
        env = author.environment("AUTHOR") | committer.environment("COMMITTER")
        flags = [flag for parent in parents for flag in ("-p", parent)]
        return self.run("commit-tree", tree, *flags, stdin=message.encode(), env=env).decode().strip()

    def merged_tree(self, base: str, head: str) -> str | None:
        """The tree of merging `head` into `base`; None when they conflict."""
        done = self.run("merge-tree", "--write-tree", base, head, ok=(0, 1)).decode(errors="replace").splitlines()
        clean = len(done) == 1
        return done[0] if clean else None


def _lines(count: str) -> int:
    return int(count) if count.isdigit() else 0
