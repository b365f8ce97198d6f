"""How findings end, told from the code alone. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Protocol

from memory.model import Fate
from workers.patches import Hunk
from workers.review.source import Scope

ALIKE = 0.5
"""A line that nothing so much like it replaced went for other reasons, unless the tool's own remedy is to remove it."""

MOST_COMPARED = 200

_FILE_SILENCER = re.compile(r"^\s*#\s*(ruff|flake8):\s*noqa", re.IGNORECASE | re.MULTILINE)
_SILENCER = re.compile(r"#\s*(noqa|nosec|type:\s*ignore|pylint:\s*disable)", re.IGNORECASE)


class Standing(Protocol):
    """A finding as it last stood: its lines, the scope around them, and the file with the tool's remedy if it has one.

    `removed` tells that the remedy is to remove lines.
    """

    @property
    def lines(self) -> tuple[str, ...]: ...
    @property
    def scope(self) -> str: ...
    @property
    def fixed(self) -> str | None: ...
    @property
    def removed(self) -> bool: ...


def ending(was: Standing, touching: Sequence[Hunk], after: str, known: Sequence[Scope]) -> Fate:
    """What a change did to a finding that is no longer there: `touching` are the hunks that took its lines.

    `after` is the file's text then, and `known` are the scopes in it.
    """
    if not touching:
        return Fate.SILENCED if _FILE_SILENCER.search(after) else Fate.INDIRECT
    added = [line[1:] for hunk in touching for line in hunk.lines if line.startswith("+")]
    if after == was.fixed:
        return Fate.APPLIED
    if any(map(_SILENCER.search, added)) and not any(map(_SILENCER.search, was.lines)):
        return Fate.SILENCED
    if was.scope and all(scope.name != was.scope for scope in known):
        return Fate.GONE
    return Fate.FIXED if was.removed or _has_alike(added, was.lines[0]) else Fate.REWRITTEN


def _has_alike(lines: Sequence[str], wanted: str) -> bool:
    near = (SequenceMatcher(None, wanted.strip(), line.strip()).ratio() for line in lines[:MOST_COMPARED])
    return any(ratio >= ALIKE for ratio in near)
