"""Hidden markers, by which our comments are found again."""

from __future__ import annotations

import re

_MARKER = re.compile(r"<!-- apprentice:(\S+) -->")


def marker(key: str) -> str:
    """A hidden marker by which a comment of ours is found again."""
    return f"<!-- apprentice:{key} -->"


def marked(body: str) -> str:
    """The key in the marker of one of our comments, empty where there is none. Ours is the last: code may hold others."""
    found: list[str] = _MARKER.findall(body)
    return found[-1] if found else ""
