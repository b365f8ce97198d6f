"""A branch that is written in a line a commit, and a detector that dislikes one word."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from memory.model import PastFinding, Severity
from workers.history.changes import Blobs, PastChange, changes, positions, read
from workers.history.outcomes import OutcomeTracker
from workers.review.detectors.detector import Category, Detection, FixEdit, RawFinding, SourceTree, ToolFix

Files = dict[str, str | bytes | None]
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin:/usr/local/bin",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


class Branch:
    """A git repository and the changes of its branch."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, date: str = "") -> str:
        """Run git; a commit of it is made on a `date`, or now."""
        dated = ENVIRONMENT | ({"GIT_COMMITTER_DATE": date} if date else {})
        done = subprocess.run(["git", *arguments], cwd=self.root, env=dated, capture_output=True, check=True)
        return done.stdout.decode()

    def commit(self, files: Files, message: str = "change") -> str:
        """Write files (None deletes), commit, and give the commit's id."""
        for name, content in files.items():
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                file.unlink()
            else:
                file.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD").strip()

    def past(self, after: str = "") -> list[PastChange]:
        """Its changes as they are read."""
        directory = self.root / ".git"
        return list(changes(directory, "HEAD", positions(directory, "HEAD"), after=after, paths=("*.py",)))

    def fates(self, horizon: int = 5) -> list[PastFinding]:
        """What became of what `Dislike` found in it."""
        fates = OutcomeTracker(horizon=horizon)
        with Blobs(self.root / ".git") as blobs:
            groups = read(self.past(), blobs, (Dislike(),))
            return [told for group in groups for change in group for told in fates.follow(change)]


class Dislike:
    """Reports lines with the word `bad`, and offers to replace it by `good`; lines with `noqa` it leaves alone."""

    name = "dislike"

    def reads(self, path: str) -> bool:
        return path.endswith(".py")

    def detect(self, tree: SourceTree, paths: Sequence[str]) -> Detection:
        return Detection(findings=tuple(found for path in paths for found in _disliked(path, tree.sources[path])))


def _disliked(path: str, text: str) -> Iterator[RawFinding]:
    if "# ruff: noqa" in text:
        return
    for number, line in enumerate(text.splitlines(), start=1):
        column = line.find("bad") + 1
        if column and "noqa" not in line:
            edit = FixEdit(line=number, column=column, end_line=number, end_column=column + 3, content="good")
            yield RawFinding(
                path=path,
                line=number,
                end_line=number,
                column=column,
                tool="dislike",
                rule="BAD1",
                category=Category.STYLE,
                severity=Severity.MINOR,
                message="a bad word",
                fix=ToolFix(edits=(edit,), safe=True),
            )


@pytest.fixture
def branch(tmp_path: Path) -> Branch:
    return Branch(tmp_path)


@pytest.fixture
def told(branch: Branch) -> Callable[..., list[PastFinding]]:
    """The fates in a branch that starts without anything and takes these commits."""

    def of(*commits: Files, horizon: int = 5) -> list[PastFinding]:
        branch.commit({"README.md": "a project\n"})
        for files in commits:
            branch.commit(files)
        return branch.fates(horizon)

    return of
