"""Search over remembered texts by words: BM25 over split identifiers; and the fusion of several rankings. Pure."""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+", re.ASCII)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

FUSION_CONSTANT = 10.0
"""How little it matters to be first rather than second (Cormack, Clarke and Büttcher 2009 have 60, for long rankings of
many systems; with few views of short ones, 10 found more: see `python -m benchmarks.retrieval quality`)."""

CHOSEN = 300
"""So many documents are scored by common words where these may not choose."""

MOST_COUNT = 65_535
"""How often a word counts in one document."""


def terms(text: str) -> list[str]:
    """The lower-case words of a text; snake_case, camelCase and dotted names give their parts, and each name itself."""
    found = []
    for word in _WORD.findall(text):
        parts = [part.lower() for part in _PART.findall(word)]
        found += parts
        if len(parts) > 1:
            found.append(word.lower())
    return found


class _Postings:
    """The rows that a term occurs in, ascending, and how often it does in each."""

    __slots__ = ("counts", "rows")

    def __init__(self) -> None:
        self.rows = array("i")
        self.counts = array("H")


class BM25:
    """Okapi BM25 (Robertson and Zaragoza 2009, equation 3.15), with the idf that is never negative.

    Documents are added one by one; one that is removed keeps its row and scores 0.
    """

    def __init__(self, documents: Sequence[Sequence[str]] = (), *, k1: float = 1.2, b: float = 0.75) -> None:
        self._k1, self._b = k1, b
        self._lengths = array("f")
        self._words = 0
        self._removed: set[int] = set()
        self._postings: defaultdict[str, _Postings] = defaultdict(_Postings)
        for document in documents:
            self.add(document)

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, document: Sequence[str]) -> int:
        """Add a document; its row."""
        row = len(self._lengths)
        self._lengths.append(len(document))
        self._words += len(document)
        for term, count in Counter(document).items():
            postings = self._postings[term]
            postings.rows.append(row)
            postings.counts.append(min(count, MOST_COUNT))
        return row

    def remove(self, row: int) -> None:
        """Let a document score nothing from now on."""
        self._removed.add(row)

    def scores(self, query: Sequence[str], *, postings: int | None = None) -> NDArray[np.float64]:
        """One score for each document, 0 where no term of the query occurs.

        With `postings`, the rarest terms choose `CHOSEN` documents once they have so many postings; commoner ones only add to
        the scores of these. What is left out shares with the query little but words that are everywhere.
        """
        scores = np.zeros(len(self))
        found = sorted((self._postings[term] for term in set(query) & self._postings.keys()), key=lambda p: len(p.rows))
        spent, chosen = 0, None
        for each in found:
            if chosen is None and postings is not None and spent and spent + len(each.rows) > postings:
                chosen = np.sort(np.array(best(scores, CHOSEN), dtype=np.intp))
            rows = np.frombuffer(each.rows, dtype=np.int32)
            counts = np.frombuffer(each.counts, dtype=np.uint16)
            idf = math.log(1.0 + (len(self) - len(rows) + 0.5) / (len(rows) + 0.5))
            if chosen is not None:
                at = np.minimum(np.searchsorted(rows, chosen), len(rows) - 1)
                at = at[rows[at] == chosen]
                rows, counts = rows[at], counts[at]
            scores[rows] += idf * counts * (self._k1 + 1.0) / (counts + self._norms(rows))
            spent += len(rows)
        if self._removed:
            scores[list(self._removed)] = 0.0
        return scores

    def _norms(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        mean = self._words / len(self) or 1.0
        lengths = np.frombuffer(self._lengths, dtype=np.float32)[rows].astype(np.float64)
        norms: NDArray[np.float64] = self._k1 * (1.0 - self._b + self._b * lengths / mean)
        return norms


def best(scores: NDArray[np.floating], k: int) -> list[int]:
    """The rows of the `k` highest scores above 0, highest first; of equals, the earlier row."""
    rows = np.flatnonzero(scores > 0)
    if (
        len(rows) > k
    ):  # all that ties with the k-th best stays, so that the order of equals does not hang on the partition
        found = scores[rows]
        rows = rows[found >= np.partition(found, len(rows) - k)[len(rows) - k]] if k else rows[:0]
    order: list[int] = rows[np.lexsort((rows, -scores[rows]))][:k].tolist()
    return order


def latest_best(scores: NDArray[np.floating], k: int) -> list[int]:
    """As `best`, but of equals the later row."""
    last = len(scores) - 1
    return [last - row for row in best(scores[::-1], k)]


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
