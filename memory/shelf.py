"""Hybrid search over what one process has read: words, and several views of the meaning, fused by rank. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.index import BM25, fuse, terms
from memory.model import Among
from memory.nearest import Nearest
from memory.store import Entry

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

DEPTH = 50
"""How many of each view take part in the fusion."""

POSTINGS = 10_000
"""So many postings of rare words are read before common ones only add to the scores of what was found."""

WHOLE, FOCUS = "whole", "focus"

VectorsOf = Callable[[str, Sequence[str]], Mapping[str, Floats]]
"""The vectors of a dense view by id, of those that have one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each ranking weighs. By words (BM25): all of the query, and its focus; by meaning: both of them again."""

    words: float
    focus_words: float
    whole: float
    focus: float


FAILURES = Weights(words=2.0, focus_words=2.0, whole=1.0, focus=1.0)
"""The focus of a failure is where it happened. BM25 leads: the same names matter more than a similar story. A view of what
the error says was measured and left out: alone it found 29 % where the place found 70 %, and it took from the whole."""

REPORTS = Weights(words=1.0, focus_words=1.0, whole=2.0, focus=1.0)
"""The focus of a report is its title. On what people write the meaning leads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A query: all of its text, its focus, and the vectors of both."""

    text: str
    focus: str
    vectors: Mapping[str, Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One hit: its fused rank score within (0, 1], and the cosine of its whole text, negative ones as 0."""

    id: str
    score: float
    nearness: float


class Shelf:
    """Entries in the order in which they were added, which is that of their age: of equals the newest is first."""

    def __init__(self, dimensions: int, weights: Weights) -> None:
        self._weights = weights
        self._ids: list[str] = []
        self._rows: dict[str, int] = {}
        self._words = BM25()
        self._dense = {view: Nearest(dimensions) for view in (WHOLE, FOCUS)}
        self._facts = _Facts()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, entry_id: str) -> bool:
        return entry_id in self._rows

    def add(self, entries: Sequence[Entry], vectors: Mapping[str, Floats]) -> None:
        """Put entries on the shelf. `vectors` has an array (entries, dimensions) for each dense view, or is empty."""
        for entry in entries:
            self._rows[entry.id] = len(self._ids)
            self._ids.append(entry.id)
            self._words.add(terms(entry.text))
        self._facts.add(entries)
        for view, rows in vectors.items():
            self._dense[view].add(rows)

    def remove(self, entry_id: str) -> None:
        """Take an entry off the shelf, if it is there."""
        row = self._rows.pop(entry_id, None)
        if row is not None:
            self._facts.remove(row)

    def search(
        self,
        asked: Asked,
        among: Among,
        near: Sequence[tuple[str, float]] | None = None,
        vectors_of: VectorsOf | None = None,
    ) -> list[Found]:
        """What is near by any view, best first.

        Where this process holds no vectors, `near` are the nearest by all of the text and `vectors_of` gives vectors.
        """
        allowed = self._facts.allowed(among)
        by_words = self._by_words(asked.text, allowed)
        by_focus_words = self._by_words(asked.focus, allowed)
        if near is None:
            nearness = self._nearest(asked.vectors[WHOLE], DEPTH, allowed)
        else:  # halves are as near as their first three digits
            newest = sorted(near, key=lambda pair: (-round(pair[1], 3), -self._rows.get(pair[0], -1)))
            nearness = dict(newest)
        candidates = list(dict.fromkeys([*nearness, *by_words, *by_focus_words]))
        focused = self._cosines(FOCUS, asked, candidates, vectors_of)
        fused = fuse(
            [
                (self._weights.words, by_words),
                (self._weights.focus_words, by_focus_words),
                (self._weights.whole, [key for key, cosine in nearness.items() if cosine > 0.0]),
                (
                    self._weights.focus,
                    sorted((k for k in focused if focused[k] > 0.0), key=lambda k: -focused[k])[:DEPTH],
                ),
            ]
        )
        nearness |= self._cosines(WHOLE, asked, [key for key in fused if key not in nearness], vectors_of)
        ranked = sorted(fused, key=lambda key: (-fused[key], -self._rows.get(key, 0)))
        return [Found(id=key, score=fused[key], nearness=nearness.get(key, 0.0)) for key in ranked]

    def nearest(self, vector: Floats, k: int, among: Among) -> list[str]:
        """The `k` nearest by all of the text alone, nearest first."""
        return list(self._nearest(vector, k, self._facts.allowed(among)))

    def _nearest(self, vector: Floats, k: int, allowed: Mask) -> dict[str, float]:
        rows, cosines = self._dense[WHOLE].search(vector, k, allowed)
        return {self._ids[row]: cosine for row, cosine in zip(rows, cosines.tolist(), strict=True)}

    def _by_words(self, text: str, allowed: Mask) -> list[str]:
        return [self._ids[row] for row in self._words.search(terms(text), DEPTH, allowed, postings=POSTINGS)]

    def _cosines(self, view: str, asked: Asked, ids: Sequence[str], vectors_of: VectorsOf | None) -> dict[str, float]:
        """By id, negative ones as 0; among equals, the newest first."""
        query = asked.vectors[view]
        ordered = sorted(ids, key=lambda key: -self._rows.get(key, -1))
        if vectors_of is not None:
            found = vectors_of(view, ordered)
            return {key: round(max(0.0, float(found[key] @ query)), 5) for key in ordered if key in found}
        rows = np.array([self._rows[key] for key in ordered], dtype=np.intp)
        return dict(zip(ordered, self._dense[view].cosines(query, rows).tolist(), strict=True))


class _Facts:
    """What entries are filtered by, as columns of numbers."""

    _NAMES = ("repository", "error_type", "family", "outcome")

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {name: {} for name in self._NAMES}
        self._columns: dict[str, NDArray[np.int32]] = {name: np.zeros(0, dtype=np.int32) for name in self._NAMES}
        self._times = np.zeros(0)
        self._there = np.zeros(0, dtype=np.bool_)

    def add(self, entries: Sequence[Entry]) -> None:
        for name, numbers in self._numbers.items():
            new = [numbers.setdefault(getattr(entry, name), len(numbers)) for entry in entries]
            self._columns[name] = np.concatenate([self._columns[name], np.array(new, dtype=np.int32)])
        self._times = np.concatenate([self._times, [entry.created_at.timestamp() for entry in entries]])
        self._there = np.concatenate([self._there, np.ones(len(entries), dtype=np.bool_)])

    def remove(self, row: int) -> None:
        self._there[row] = False

    def allowed(self, among: Among) -> Mask:
        """One value for each row: whether it is there and meant."""
        allowed = self._there.copy()
        for name, numbers in self._numbers.items():
            wanted = getattr(among, name)
            if wanted:
                allowed &= self._columns[name] == numbers.get(wanted, -1)
        if among.before is not None:
            allowed &= self._times < among.before.timestamp()
        return allowed
