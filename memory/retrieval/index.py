"""Hybrid search in one process: by words (BM25 over split identifiers), and by exact cosines of two views of the meaning,
fused by rank. No I/O.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memory.store.experiences import WHOLE, Floats, IndexEntry

if TYPE_CHECKING:
    import bm25s

# ── Words ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_WORD = re.compile(r"\w+", re.ASCII)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

FUSION_CONSTANT = 10.0
"""How little it matters to be first rather than second (Cormack, Clarke and Büttcher 2009 have 60, for long rankings of
many systems; with few views of short ones, 10 found more: see `python -m benchmarks.retrieval quality`)."""


def terms(text: str) -> list[str]:
    """The lower-case words of a text; snake_case, camelCase and dotted names give their parts, and each name itself."""
    found = []
    for word in _WORD.findall(text):
        parts = [part.lower() for part in _PART.findall(word)]
        found += parts
        if len(parts) > 1:
            found.append(word.lower())
    return found


class WordIndex:
    """Okapi BM25 by bm25s, over documents that are added one by one and keep their rows.

    The first search after an addition builds the index again: 0.9 s of a processor for 20,000 documents of 50 words.
    """

    def __init__(self, documents: Sequence[Sequence[str]] = ()) -> None:
        self._documents: list[Sequence[str]] = list(documents)
        self._index: bm25s.BM25 | None = None

    def __len__(self) -> int:
        return len(self._documents)

    def add(self, document: Sequence[str]) -> None:
        self._documents.append(document)
        self._index = None

    def scores(self, query: Sequence[str]) -> Floats:
        """One score for each document, 0 where no term of the query occurs."""
        if not any(self._documents):
            return np.zeros(len(self), dtype=np.float32)
        if self._index is None:
            import bm25s  # slow to import, and needed only where something is remembered

            self._index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
            self._index.index(self._documents, show_progress=False)
        known = [term for term in dict.fromkeys(query) if term in self._index.vocab_dict]
        if not known:
            return np.zeros(len(self), dtype=np.float32)
        found: Floats = self._index.get_scores(known)
        return found


def best(scores: NDArray[np.floating], k: int) -> list[int]:
    """The rows of the `k` highest scores above 0, highest first; of equals, the later row."""
    rows = np.flatnonzero(scores > 0.0)
    order: list[int] = rows[np.lexsort((-rows, -scores[rows]))][:k].tolist()
    return order


def fuse(views: Sequence[tuple[float, Sequence[str]]]) -> Mapping[str, float]:
    """Weighted reciprocal-rank fusion of rankings, each (weight, ids best first), within (0, 1].

    1 is first in every view; an id that a view does not list gets nothing from it.
    """
    whole = sum(weight for weight, _ in views)
    fused: defaultdict[str, float] = defaultdict(float)
    for weight, ids in views:
        for rank, key in enumerate(ids):
            fused[key] += weight / whole * (FUSION_CONSTANT + 1.0) / (FUSION_CONSTANT + 1.0 + rank)
    return dict(fused)


# ── Words and meaning together ─────────────────────────────────────────────────────────────────────────────────────

Mask = NDArray[np.bool_]

DEPTH = 50
"""How many of each view take part in the fusion."""

FOCUS = "focus"
"""The view of an experience that says where; `WHOLE` is all of its text."""

VectorsOf = Callable[[str, Sequence[str]], Mapping[str, Floats]]
"""The vectors of a dense view by id, of those that have one."""

Filter = Callable[[IndexEntry], bool]

WORDS_WEIGHT, MEANING_WEIGHT = 2.0, 1.0
"""Of the rankings by all of a query, and by its focus, which is where a failure happened. BM25 leads: the same names matter
more than a similar story. A view of what the error says was measured and left out: alone it found 29 % where the place
found 70 %, and it worsened the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result: its fused rank score within (0, 1], and the cosine of its whole text, negative ones as 0."""

    id: str
    score: float
    nearness: float


class Matrix:
    """Unit vectors by row, in the order in which they were added. Every search compares all of them."""

    def __init__(self, dimensions: int) -> None:
        self._rows = np.zeros((0, dimensions), dtype=np.float32)
        self._new: list[Floats] = []

    def add(self, vectors: Floats) -> None:
        """Append rows: an array (n, dimensions)."""
        self._new.append(vectors)

    def search(self, query: Floats, k: int, allowed: Mask) -> tuple[list[int], Floats]:
        """The `k` nearest allowed rows, nearest first, of equals the later, and their cosines, negative ones as 0."""
        if self._new:
            self._rows = np.concatenate([self._rows, *self._new])
            self._new = []
        rows = np.flatnonzero(allowed)
        scores = (self._rows @ query)[rows] if 2 * len(rows) > len(self._rows) else self._rows[rows] @ query
        cosines = np.clip(scores, 0.0, 1.0).round(5)  # rounded, so that equal vectors are equally near
        order = np.lexsort((-rows, -cosines))[:k]
        return rows[order].tolist(), cosines[order]


class HybridIndex:
    """Entries in the order in which they were added, which is that of their age: of equals the newest is first.

    It holds the vectors of whole texts; `vectors_of` gives those of both views.
    """

    def __init__(self, dimensions: int, vectors_of: VectorsOf) -> None:
        self._vectors_of = vectors_of
        self._entries: list[IndexEntry] = []
        self._rows: dict[str, int] = {}
        self._words = WordIndex()
        self._whole = Matrix(dimensions)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, entries: Sequence[IndexEntry], whole: Floats) -> None:
        """Append entries, and their vectors, an array (entries, dimensions)."""
        for entry in entries:
            self._rows[entry.id] = len(self._entries)
            self._entries.append(entry)
            self._words.add(terms(entry.text))
        self._whole.add(whole)

    def remove(self, entry_id: str) -> None:
        """Find an entry no longer, if it is there."""
        self._rows.pop(entry_id, None)

    def search(self, text: str, focus: str, vectors: Mapping[str, Floats], passes: Filter) -> list[Hit]:
        """The nearest to a text, its focus, or the vectors of both, by any view, best first."""
        allowed = self._allowed(passes)
        by_words, by_focus_words = (self._by_words(words, allowed) for words in (text, focus))
        nearness = dict(self._nearest(vectors[WHOLE], DEPTH, allowed))
        focused = self._cosines(FOCUS, vectors[FOCUS], [*nearness, *by_words, *by_focus_words])
        by_focus = sorted((key for key in focused if focused[key] > 0.0), key=lambda key: -focused[key])
        by_meaning = [key for key, cosine in nearness.items() if cosine > 0.0]
        fused = fuse(
            [
                (WORDS_WEIGHT, by_words),
                (WORDS_WEIGHT, by_focus_words),
                (MEANING_WEIGHT, by_meaning),
                (MEANING_WEIGHT, by_focus[:DEPTH]),
            ]
        )
        nearness |= self._cosines(WHOLE, vectors[WHOLE], [key for key in fused if key not in nearness])
        ranked = sorted(fused, key=lambda key: (-fused[key], -self._rows.get(key, 0)))
        return [Hit(id=key, score=fused[key], nearness=nearness.get(key, 0.0)) for key in ranked]

    def nearest(self, vector: Floats, k: int) -> list[tuple[str, float]]:
        """The `k` nearest by all of the text, nearest first, with their cosines."""
        return self._nearest(vector, k, self._allowed(lambda _entry: True))

    def _nearest(self, vector: Floats, k: int, allowed: Mask) -> list[tuple[str, float]]:
        rows, cosines = self._whole.search(vector, k, allowed)
        return [(self._entries[row].id, cosine) for row, cosine in zip(rows, cosines.tolist(), strict=True)]

    def _by_words(self, text: str, allowed: Mask) -> list[str]:
        scores = np.where(allowed, self._words.scores(terms(text)), np.float32(0.0))
        return [self._entries[row].id for row in best(scores, DEPTH)]

    def _cosines(self, view: str, vector: Floats, ids: Sequence[str]) -> dict[str, float]:
        """By id, negative ones as 0; among equals, the newest first."""
        ordered = sorted(dict.fromkeys(ids), key=lambda key: -self._rows.get(key, -1))
        found = self._vectors_of(view, ordered)
        return {key: round(max(0.0, float(found[key] @ vector)), 5) for key in ordered if key in found}

    def _allowed(self, passes: Filter) -> Mask:
        """One value for each row: whether it is there and passes the filter."""
        allowed = np.zeros(len(self._entries), dtype=np.bool_)
        for row in self._rows.values():
            allowed[row] = passes(self._entries[row])
        return allowed
