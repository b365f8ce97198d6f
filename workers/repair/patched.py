"""What files are with a patch of several of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from workers.patches import FileStatus, apply_unified, parse_diff

_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)


def patched(patch: str, read: Callable[[str], str | None]) -> dict[str, str]:
    """The new text of every file of a unified diff, as `memory` keeps them; `read` gives the old ones.

    Raises BadInput where the diff does not fit.
    """
    found: dict[str, str] = {}
    for part in filter(None, _FILE.split(patch)):
        (change,) = parse_diff(part).files
        before = "" if change.status is FileStatus.ADDED else read(change.path)
        assert before is not None, f"{change.path} is in the diff, so it was there"
        found[change.path] = apply_unified(before, part)
    return found
