"""How much of a change one review reads, and in which order, so that what is left out matters least. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from workers.diffs import FileChange
from workers.review.detectors.dependencies import Dependencies
from workers.review.detectors.rules import is_test_path
from workers.review.detectors.workflows import Workflows
from workers.review.source import Unread

CODE = frozenset(
    f".{suffix}"
    for suffix in [
        "py",
        "pyi",
        "pyx",
        "js",
        "jsx",
        "ts",
        "tsx",
        "go",
        "rs",
        "java",
        "kt",
        "c",
        "h",
        "cc",
        "cpp",
        "hpp",
        "cs",
        "rb",
        "php",
        "swift",
        "scala",
        "sh",
        "bash",
        "ps1",
        "sql",
        "html",
        "vue",
        "svelte",
        "lua",
    ]
)
_LOCK = frozenset({"package-lock.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock", "pdm.lock", "go.sum"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeLimits:
    """The bound on one review. GitHub itself shows 300 files of a pull request; people read far fewer.

    Four million characters are what a tool is given at once (`MAX_PART_CHARACTERS`): about 100,000 lines, within the
    time that it has.
    """

    files: int = 300
    characters: int = 4_000_000

    def room(self) -> Room:
        """All of it, not used yet."""
        return Room(self)


USUAL = SizeLimits()


class Room:
    """What is left of an extent while files are taken, the first ones first."""

    def __init__(self, extent: SizeLimits) -> None:
        self._extent = extent
        self._files = self._characters = 0

    def take(self, text_of: Callable[[], str]) -> str:
        """The text, if there is room for it; raises Unread for one that is over, or that `text_of` raises it for.

        A long file that does not fit leaves its room to shorter ones.
        """
        if self._files >= self._extent.files:
            raise Unread(f"over the {self._extent.files} files that one review reads")
        if self._characters >= self._extent.characters:
            raise Unread(self._too_long())
        text = text_of()
        if self._characters + len(text) > self._extent.characters:
            raise Unread(self._too_long())
        self._files, self._characters = self._files + 1, self._characters + len(text)
        return text

    def _too_long(self) -> str:
        return f"over the {self._extent.characters:,} characters that one review reads"


def by_priority(files: Sequence[FileChange]) -> list[FileChange]:
    """The files, what matters most first: what runs with rights, then code, tests, the rest, locks; more changed before less."""
    return sorted(files, key=lambda file: (_rank(file.path), -_lines(file), file.path))


def _rank(path: str) -> int:
    name = PurePosixPath(path).name
    if Workflows().reads(path) or Dependencies().reads(path):
        return 0
    if name in _LOCK or name.endswith(".lock"):
        return 4
    if PurePosixPath(path).suffix not in CODE:
        return 3
    return 2 if is_test_path(path) else 1


def _lines(file: FileChange) -> int:
    """How many lines the change wrote or took away."""
    return sum(line.startswith(("+", "-")) for hunk in file.hunks for line in hunk.lines)
