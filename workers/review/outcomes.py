"""How findings and suggestions end, read from the code alone. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Protocol

from memory.model import Fate, Suggestion
from workers.diffs import Hunk, split_lines
from workers.review.source import CodeScope

CONTEXT_LINES = 2
MOST_BETWEEN = 1_000
"""Lines between the first and the last that changed: comparing takes as long as the square of these."""


def was_applied(suggestion: Suggestion, before: str, after: str) -> bool:
    """Whether `after` holds the suggested lines where `before` held the lines they replace.

    Either the suggested lines with up to two neighbours on each side stand in `after` and not in `before`, or they are
    what stands between the same two lines now: between blank lines a deletion leaves nothing else to be known by.
    """
    old, new = _bare(split_lines(before)), _bare(split_lines(after))
    wanted = _surrounded(suggestion, old)
    return (_contains(new, wanted) and not _contains(old, wanted)) or _stands_between(suggestion, old, new)


def _stands_between(suggestion: Suggestion, old: list[str], new: list[str]) -> bool:
    """Whether the lines around the replaced ones are still there, with the suggested ones between them."""
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    between = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(map(len, between)) > MOST_BETWEEN:
        return False
    kept = {-1: -1, len(old): len(new)} | {at: at for at in range(head)}
    kept |= {len(old) - at: len(new) - at for at in range(1, tail + 1)}
    for block in SequenceMatcher(None, *between, autojunk=False).get_matching_blocks():
        kept |= {head + block.a + offset: head + block.b + offset for offset in range(block.size)}
    above, below = kept.get(suggestion.start_line - 2), kept.get(suggestion.end_line)
    if above is None or below is None:
        return False
    return new[above + 1 : below] == _bare(split_lines(suggestion.replacement))


def _shared(one: list[str], other: list[str]) -> int:
    """How many lines both begin with."""
    same = next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), None)
    return min(len(one), len(other)) if same is None else same


def _surrounded(suggestion: Suggestion, lines: list[str]) -> list[str]:
    first, last = suggestion.start_line - 1, suggestion.end_line
    above = lines[max(first - CONTEXT_LINES, 0) : first]
    below = lines[last : last + CONTEXT_LINES]
    return _bare([*above, *split_lines(suggestion.replacement), *below])


def _contains(lines: list[str], wanted: list[str]) -> bool:
    return any(lines[start : start + len(wanted)] == wanted for start in range(len(lines) - len(wanted) + 1))


def _bare(lines: list[str]) -> list[str]:
    """Line ends do not count."""
    return [line.rstrip() for line in lines]


ALIKE = 0.5
"""A line that nothing so much like it replaced went for other reasons, unless the tool's own remedy is to remove it."""

MOST_COMPARED = 200

_FILE_SILENCER = re.compile(r"^[ \t]*#[ \t]*(?:ruff|flake8):[ \t]*noqa(?P<codes>[^\n]*)", re.IGNORECASE | re.MULTILINE)
_CODE = re.compile(r"\b[A-Z]+[0-9]+\b")
_SILENCER = re.compile(r"#\s*(noqa|nosec|type:\s*ignore|pylint:\s*disable)", re.IGNORECASE)


class EndedFinding(Protocol):
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


def ending(was: EndedFinding, touching: Sequence[Hunk], after: str, known: Sequence[CodeScope]) -> Fate:
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
