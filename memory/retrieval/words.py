"""Search over remembered texts by words: BM25 over split identifiers; and the fusion of several rankings. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import bm25s

Scores = NDArray[np.float32]

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

    The first search after an addition builds the index anew: 0.9 s of a processor for 20,000 documents of 50 words.
    """

    def __init__(self, documents: Sequence[Sequence[str]] = ()) -> None:
        self._documents: list[Sequence[str]] = list(documents)
        self._index: bm25s.BM25 | None = None

    def __len__(self) -> int:
        return len(self._documents)

    def add(self, document: Sequence[str]) -> None:
        """Append a document."""
        self._documents.append(document)
        self._index = None

    def scores(self, query: Sequence[str]) -> Scores:
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
        found: Scores = self._index.get_scores(known)
        return found


def best(scores: NDArray[np.floating], k: int) -> list[int]:
    """The rows of the `k` highest scores above 0, highest first; of equals, the earlier row."""
    rows = np.flatnonzero(scores > 0.0)
    order: list[int] = rows[np.lexsort((rows, -scores[rows]))][:k].tolist()
    return order


def latest_best(scores: NDArray[np.floating], k: int) -> list[int]:
    """As `best`, but of equals the later row."""
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
