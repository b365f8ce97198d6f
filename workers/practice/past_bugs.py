"""A repository's own past bugs, planted again: what a small fix changed is taken back where its code is still there.

Bugs that developers made and fixed are the most realistic ones that a repository can give (Brown et al. 2017, "The care
and feeding of wild-caught mutants").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from workers.diffs import FileChange, FileStatus
from workers.history.changes import PastChange, changes, positions
from workers.practice.planting import PlantedBug, compiles
from workers.repair.classify import is_test_path

SAYS_FIX = re.compile(
    r"\b(fix(es|ed)?|bugs?|bugfix|regressions?|close[sd]?|resolve[sd]?|issue|crash(es)?|incorrect(ly)?|wrong(ly)?)\b|#\d+",
    re.IGNORECASE,
)
MOST_LINES = 8
"""A fix of more lines is more than one edit."""

PAST = "past bug"


def past_bugs(directory: Path, tip: str, sources: Mapping[str, str]) -> list[PlantedBug]:
    """The bugs of the fixes up to `tip` that can be planted in `sources`, which are its modules by path; the newest first."""
    found = []
    for past in changes(directory, tip, positions(directory, tip), paths=("*.py",)):
        fixed = _fixed(past)
        if fixed is not None and fixed.path in sources:
            found += list(_taken_back(fixed, sources[fixed.path]))
    return list({bug.source: bug for bug in reversed(found)}.values())


def _fixed(past: PastChange) -> FileChange | None:
    """The one module that a fix changed in one place; None for other changes."""
    if past.change is None or not SAYS_FIX.search(past.subject):
        return None
    code = [
        file
        for file in past.change.files
        if not is_test_path(file.path) and PurePosixPath(file.path).name != "setup.py"
    ]
    small = len(code) == 1 and code[0].status is FileStatus.MODIFIED and len(code[0].hunks) == 1
    return code[0] if small and 0 < len(code[0].hunks[0].lines) <= MOST_LINES else None


def _taken_back(fixed: FileChange, source: str) -> Iterator[PlantedBug]:
    """The module without the fix, where what the fix added is there once."""
    (hunk,) = fixed.hunks
    added, taken = ("".join(f"{line[1:]}\n" for line in hunk.lines if line[0] == sign) for sign in "+-")
    text = f"\n{source}"
    if not added.strip() or text.count(f"\n{added}") != 1:
        return
    start = text.index(f"\n{added}")
    planted = source[:start] + taken + source[start + len(added) :]
    if not compiles(planted) and not taken:
        planted = source[:start] + _passing(added) + source[start + len(added) :]
    if compiles(planted):
        first = source.count("\n", 0, start) + 1
        lines = range(first, first + added.count("\n"))
        yield PlantedBug(path=fixed.path, kind=PAST, line=first, lines=lines, source=planted, commented="#" in added)


def _passing(added: str) -> str:
    return f"{added[: len(added) - len(added.lstrip())]}pass\n"
