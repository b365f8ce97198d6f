"""A past bug: names of a repository, a commit and its tests. None of their code is kept here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import msgspec

from benchmarks.environments.checkouts import check_out
from benchmarks.repair.importers.commits import Clone


class PastBug(msgspec.Struct, frozen=True, kw_only=True):
    """A commit that was tried. `tests` are all that it touched of the tests, `modules` those of them that pytest runs.

    `failing` are tests that fail before it and pass with it, at most MAX_NAMED of `count`. `problem` says why it makes no
    case; it is empty for a case.
    """

    repository: str
    commit: str
    file: str
    tests: list[str]
    modules: list[str]
    failing: tuple[str, ...] = ()
    count: int = 0
    problem: str = ""

    @property
    def directory(self) -> str:
        """The name of the repository's clone."""
        return self.repository.replace("/", "+")

    @property
    def id(self) -> str:
        """How it is called in tables."""
        return f"{self.repository}@{self.commit[:10]}"


MAX_NAMED = 5


def cases(path: Path) -> list[PastBug]:
    """What a JSON file holds; nothing where there is none."""
    return msgspec.json.decode(path.read_bytes(), type=list[PastBug]) if path.exists() else []


def lay_out(bug: PastBug, clone: Path, at: Path) -> None:
    """A copy of the clone as its developer had it: at the parent, with the fix's tests, and no later commit in sight."""
    check_out(clone, f"{bug.commit}^", at)
    later = "--format=option no-deref%0adelete %(refname)"
    refs = _git(at, "for-each-ref", "--no-merged=HEAD", later)
    _git(at, "update-ref", "--stdin", given=refs)
    shutil.rmtree(at / ".git" / "logs", ignore_errors=True)
    for left in ("ORIG_HEAD", "FETCH_HEAD"):
        (at / ".git" / left).unlink(missing_ok=True)
    for path in bug.tests:
        content = Clone(clone).file(bug.commit, path)
        (at / path).unlink(missing_ok=True)
        if content is not None:
            (at / path).parent.mkdir(parents=True, exist_ok=True)
            (at / path).write_bytes(content)


def _git(at: Path, *words: str, given: str = "") -> str:
    done = subprocess.run(["git", "-C", str(at), *words], input=given, capture_output=True, text=True, check=True)
    return done.stdout
