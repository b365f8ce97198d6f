"""A branch of ours in a public repository, as edits: none of the repository's code is kept here."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from benchmarks.environments.checkouts import NotBuilt

BASE, HEAD = "before-change", "change"
"""The two branches that are made in a clone."""


class Kind(StrEnum):
    """Whether it makes tests fail that passed."""

    BREAKS = "breaks"
    HARMLESS = "harmless"


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository at one commit. Its developers test it with the packages `needs`, and pytest's `arguments`."""

    name: str
    commit: str
    needs: list[str]
    arguments: list[str] = []
    variables: dict[str, str] = {}

    @property
    def directory(self) -> str:
        """The name of its clone."""
        return self.name.replace("/", "+")


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """Characters `start` to `end` of a file, counted from 0, give way to `text`; `breaks` marks what breaks the tests."""

    file: str
    start: int
    end: int
    text: str
    breaks: bool = False


class New(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is added."""

    file: str
    text: str


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A file that gets another name."""

    file: str
    to: str


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What one commit does: its edits first, then its moves."""

    edits: list[Edit] = []
    new: list[New] = []
    moves: list[Move] = []

    def apply(self, tree: Path) -> None:
        """Make the change in a checkout. The edits of a file count from its text before all of them."""
        for name, edits in _by_file(self.edits):
            (tree / name).write_bytes(edited((tree / name).read_bytes().decode(), edits).encode())
        for new in self.new:
            (tree / new.file).write_text(new.text, encoding="utf-8")
        for move in self.moves:
            (tree / move.file).rename(tree / move.to)


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A change. `before` is committed first, as the base of it; tests in `flaky` pass by chance."""

    name: str
    repository: str
    kind: Kind
    slip: str
    story: str
    flaky: list[str] = []
    before: Step = Step()
    change: Step

    def breaking_lines(self, checkout: Path) -> dict[str, frozenset[int]]:
        """The lines of the head, by path, of the hunks that hold what breaks the tests; of a removal, those beside it."""
        lines: dict[str, set[int]] = {}
        for name, edits in _by_file(self.change.edits):
            old = git(checkout, "show", f"{BASE}:{name}")
            hunks = list(_hunks(git(checkout, "diff", "-U0", BASE, HEAD, "--", name)))
            for edit in edits:
                at = len(edited(old[: edit.start], [each for each in edits if each.end <= edit.start]))
                line = edited(old, edits)[:at].count("\n") + 1
                held = [hunk for hunk in hunks if line in hunk or line - 1 in hunk]
                if edit.breaks:
                    lines.setdefault(name, set()).update(*held[:1])
        return {name: frozenset(found) for name, found in lines.items()}


class Cases(msgspec.Struct, frozen=True, kw_only=True):
    """What a data file holds."""

    repository: list[Repository]
    branch: list[Branch]

    def repository_of(self, branch: Branch) -> Repository:
        """The one that a branch is made in."""
        return next(each for each in self.repository if each.name == branch.repository)


def cases(path: Path) -> Cases:
    """Those of a TOML file. Raises msgspec.ValidationError or tomllib.TOMLDecodeError for another file."""
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Cases)


def lay_out(branch: Branch, repository: Repository, clone: Path, at: Path) -> None:
    """A clone with the branches BASE and HEAD, as a developer has it. Raises NotBuilt."""
    if not clone.is_dir():
        raise NotBuilt(f"no clone at {clone}")
    subprocess.run(["git", "clone", "-q", "--no-checkout", str(clone), str(at)], check=True, capture_output=True)
    git(at, "checkout", "-q", "-b", BASE, repository.commit)
    for step, name in ((branch.before, BASE), (branch.change, HEAD)):
        git(at, "checkout", "-q", "-B", name)
        step.apply(at)
        git(at, "add", "--all")
        identity = ("-c", "user.name=A Developer", "-c", "user.email=developer@example.com")
        git(at, *identity, "commit", "-q", "--allow-empty", "--no-verify", "-m", branch.story)


def edited(text: str, edits: Sequence[Edit]) -> str:
    """A text with all edits made."""
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def git(at: Path, *words: str) -> str:
    """What git prints there. Raises NotBuilt with what it says where it fails."""
    done = subprocess.run(["git", "-C", str(at), *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotBuilt(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout


def _by_file(edits: Sequence[Edit]) -> Iterator[tuple[str, list[Edit]]]:
    for name in dict.fromkeys(each.file for each in edits):
        yield name, [each for each in edits if each.file == name]


def _hunks(diff: str) -> Iterator[range]:
    for start, count in re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", diff, re.MULTILINE):
        first, lines = int(start), int(count or 1)
        yield range(first, first + lines) if lines else range(first, first + 2)
