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

_FILE_SILENCER = re.compile(r"^[ \t]*#[ \t]*(?:ruff|flake8):[ \t]*noqa(?P<codes>[^\n]*)", re.IGNORECASE | re.MULTILINE)
_CODE = re.compile(r"\b[A-Z]+[0-9]+\b")
_SILENCER = re.compile(r"#\s*(noqa|nosec|type:\s*ignore|pylint:\s*disable)", re.IGNORECASE)


class Standing(Protocol):
    """A finding as it last stood: its rule and lines, the scope around them, and the file with the tool's remedy if it has one.

    `removed` tells that the remedy is to remove lines.
    """

    @property
    def rule(self) -> str: ...
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
        return Fate.SILENCED if _silences(after, was.rule) else Fate.INDIRECT
    if after == was.fixed:
        return Fate.APPLIED
    added = [line[1:] for hunk in touching for line in hunk.lines if line.startswith("+")]
    alike = _alike(added, was.lines[0]) if was.lines else None
    if alike is not None and _SILENCER.search(alike) and not any(map(_SILENCER.search, was.lines)):
        return Fate.SILENCED
    if was.scope and all(scope.name != was.scope for scope in known):
        return Fate.GONE
    return Fate.FIXED if was.removed or alike is not None else Fate.REWRITTEN


def _silences(text: str, rule: str) -> bool:
    """Whether a comment takes a rule out of a whole file."""
    found = (_CODE.findall(match["codes"]) for match in _FILE_SILENCER.finditer(text))
    return any(not codes or any(rule.startswith(code) for code in codes) for codes in found)


def _alike(lines: Sequence[str], wanted: str) -> str | None:
    """The line that is most like one, if any is like it at all."""
    near = [(SequenceMatcher(None, wanted.strip(), line.strip()).ratio(), line) for line in lines[:MOST_COMPARED]]
    ratio, line = max(near, key=lambda each: each[0], default=(0.0, ""))
    return line if ratio >= ALIKE else None
