"""Where lines stand after a change, told from hunks without context. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workers.patches import Change, FileChange, FileStatus, Hunk, changed_lines


def touches(hunk: Hunk, first: int, last: int) -> bool:
    """Whether a hunk takes lines of `first`..`last` of the old side, or stands between them."""
    if hunk.old_count == 0:
        return first <= hunk.old_start < last
    return hunk.old_start <= last and first < hunk.old_start + hunk.old_count


def moved(line: int, hunks: Sequence[Hunk]) -> int:
    """Where a line of the old side that no hunk touches stands on the new one."""
    before = (hunk for hunk in hunks if hunk.old_start + max(hunk.old_count - 1, 0) < line)
    return line + sum(hunk.new_count - hunk.old_count for hunk in before)


def path_now(path: str, change: Change | None) -> str:
    """What a file is called after a change; one that is gone keeps its name."""
    files = change.files if change else ()
    renamed = (file.path for file in files if file.old_path == path and file.status is FileStatus.RENAMED)
    return next(renamed, path)


def without_context(change: Change) -> Change:
    """The same change in hunks that hold nothing but what it took and gave."""
    return Change(
        files=tuple(
            replace(file, hunks=tuple(tight for hunk in file.hunks for tight in _tight(hunk))) for file in change.files
        )
    )


def _tight(hunk: Hunk) -> Iterator[Hunk]:
    old, new, block = hunk.old_start + (hunk.old_count == 0), hunk.new_start + (hunk.new_count == 0), list[str]()
    for line in (*(line for line in hunk.lines if not line.startswith("\\")), " "):
        if line.startswith(("-", "+")):
            block.append(line)
            continue
        if block:
            taken = sum(1 for each in block if each.startswith("-"))
            given = len(block) - taken
            yield Hunk(
                old_start=old - (taken == 0),
                old_count=taken,
                new_start=new - (given == 0),
                new_count=given,
                lines=tuple(block),
            )
            old, new, block = old + taken, new + given, []
        old, new = old + 1, new + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What became of a place: its file's name now, its first line, and the lines that stand for its own.

    `line` is None where the first line was touched; `start` is about where it would be. `added` are all lines of the
    change that were not there before, None if that is not known. `arrived` are the new files, where the own one is gone.
    """

    path: str
    start: int
    line: int | None = None
    lines: frozenset[int] = frozenset()
    added: Mapping[str, frozenset[int]] | None = None
    arrived: frozenset[str] = frozenset()


@dataclass(slots=True)
class Following:
    """Follows places through one change without context; through None, which is not known, by their files alone."""

    change: Change | None
    _files: Mapping[str, FileChange] = field(init=False)
    _added: Mapping[str, frozenset[int]] = field(init=False)

    def __post_init__(self) -> None:
        files = self.change.files if self.change else ()
        self._files = {file.old_path: file for file in files if file.status is not FileStatus.ADDED}
        self._added = changed_lines(self.change) if self.change else {}

    def trace(self, path: str, first: int, last: int) -> Trace:
        """What became of the lines `first`..`last` of a file."""
        if self.change is None:
            return Trace(path=path, start=first)
        file = self._files.get(path)
        if file is None:
            return Trace(path=path, start=first, line=first, added=self._added)
        if file.status is FileStatus.DELETED:
            arrived = frozenset(each.path for each in self.change.files if each.status is FileStatus.ADDED)
            return Trace(path=path, start=first, added=self._added, arrived=arrived)
        touching = [hunk for hunk in file.hunks if touches(hunk, first, last)]
        taken = {line for hunk in touching for line in range(hunk.old_start, hunk.old_start + hunk.old_count)}
        kept = {moved(line, file.hunks) for line in range(first, last + 1) if line not in taken}
        given = {line for hunk in touching for line in range(hunk.new_start, hunk.new_start + hunk.new_count)}
        at = next((hunk.new_start + first - hunk.old_start for hunk in touching), moved(first, file.hunks))
        return Trace(
            path=file.path,
            start=at,
            line=None if first in taken else moved(first, file.hunks),
            lines=frozenset(kept | given),
            added=self._added,
        )
