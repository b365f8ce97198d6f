"""Hidden markers that identify our comments."""

from __future__ import annotations

import re

_MARKER = re.compile(r"<!-- apprentice:(\S+) -->")


def marker(key: str) -> str:
    """A hidden marker that identifies a comment of ours."""
    return f"<!-- apprentice:{key} -->"


def marked(body: str) -> str:
    """The key in the marker of one of our comments, empty without one. The last marker counts: quoted code may hold others."""
    found: list[str] = _MARKER.findall(body)
    return found[-1] if found else ""
