"""What all values seen at one place have in common: likely invariants, after Ernst et al., Daikon (2001), but far fewer.

Tests that exist respect a function's preconditions. An input that keeps what all their inputs have in common probably
respects them too; what happens on one that does not may not matter.
Runs inside the sandbox, in the project's own interpreter: Python 3.8+, standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .value_repr import Caught

DEPTH = 3

_PROSE = frozenset({"letter", " "})
"""Texts of words may hold any character: digits or commas are only missing by chance."""


class Habits:
    """What holds for all of `values`, and for what they contain."""

    def __init__(self, values: Iterable[object], depth: int = DEPTH) -> None:
        seen = list(values)
        numbers = [v for v in seen if isinstance(v, (int, float)) and not isinstance(v, bool)]
        rows = [v for v in seen if isinstance(v, (list, tuple)) and len(v) > 1]
        self._kinds = {type(v) for v in seen}
        self._least = 1 if numbers and min(numbers) > 0 else 0 if numbers and min(numbers) >= 0 else None
        self._sorted = bool(rows) and all(map(_is_sorted, rows))
        self._unique = len(rows) > 1 and all(map(_is_unique, rows))
        self._characters = _characters(v for v in seen if isinstance(v, str))
        self._within = Habits([p for v in seen for p in _parts(v)], depth - 1) if depth and seen else None

    def kept_by(self, value: object) -> bool:
        """Whether all of it holds for another value too; emptiness alone breaks nothing, as tests forget it often."""
        if type(value) not in self._kinds:
            return False
        if self._least is not None and isinstance(value, (int, float)) and value < self._least:
            return False
        if isinstance(value, str):
            return not self._characters or self._characters >= _PROSE or _characters([value]) <= self._characters
        if isinstance(value, (list, tuple)) and not self._kept_by_row(value):
            return False
        parts = _parts(value)
        return self._within is None or not parts or all(map(self._within.kept_by, parts))

    def _kept_by_row(self, value: Sequence[object]) -> bool:
        return not (self._sorted and not _is_sorted(value)) and not (self._unique and not _is_unique(value))

    def is_sorted(self) -> bool:
        """Whether all sequences were."""
        return self._sorted


def _parts(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else []


def _is_sorted(values: Sequence[object]) -> bool:
    with Caught():
        return list(values) == sorted(values)  # type: ignore[type-var]  # what cannot be ordered raises
    return False


def _is_unique(values: Sequence[object]) -> bool:
    with Caught():
        return len(set(values)) == len(values)
    return False


def _characters(texts: Iterable[str]) -> frozenset[str]:
    """The sorts of characters in texts: letters, digits, and each of the others for itself."""
    return frozenset(
        "letter" if character.isalpha() else "digit" if character.isdigit() else character
        for text in texts
        for character in text
    )
