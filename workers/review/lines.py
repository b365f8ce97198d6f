"""Where lines stand after a change, told from hunks without context. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from workers.patches import Hunk


def touches(hunk: Hunk, first: int, last: int) -> bool:
    """Whether a hunk takes lines of `first`..`last` of the old side, or stands between them."""
    if hunk.old_count == 0:
        return first <= hunk.old_start < last
    return hunk.old_start <= last and first < hunk.old_start + hunk.old_count


def moved(line: int, hunks: Sequence[Hunk]) -> int:
    """Where a line of the old side that no hunk touches stands on the new one."""
    before = (hunk for hunk in hunks if hunk.old_start + max(hunk.old_count - 1, 0) < line)
    return line + sum(hunk.new_count - hunk.old_count for hunk in before)
