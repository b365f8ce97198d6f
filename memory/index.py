"""Search over remembered texts: exact cosine, BM25 over split identifiers, and their fusion. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+", re.ASCII)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

FUSION_CONSTANT = 60.0
"""Cormack, Clarke and Büttcher 2009: how little it matters to be first rather than second."""


def terms(text: str) -> list[str]:
    """The lower-case words of a text; snake_case, camelCase and dotted names give their parts, and each name itself."""
    found = []
    for word in _WORD.findall(text):
        parts = [part.lower() for part in _PART.findall(word)]
        found += parts
        if len(parts) > 1:
            found.append(word.lower())
    return found


class BM25:
    """Okapi BM25 (Robertson and Zaragoza 2009, equation 3.15), with the idf that is never negative."""

    def __init__(self, documents: Sequence[Sequence[str]], *, k1: float = 1.2, b: float = 0.75) -> None:
        lengths = np.array([len(document) for document in documents], dtype=np.float64)
        mean = float(lengths.mean()) if len(documents) and lengths.any() else 1.0
        self._norm = k1 * (1.0 - b + b * lengths / mean)
        self._k1 = k1
        self._postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for row, document in enumerate(documents):
            for term, count in Counter(document).items():
                self._postings[term].append((row, count))

    def scores(self, query: Sequence[str]) -> NDArray[np.float64]:
        """One score for each document, 0 where no term of the query occurs."""
        scores = np.zeros(len(self._norm))
        for term in set(query) & self._postings.keys():
            rows, counts = np.array(self._postings[term]).T
            idf = math.log(1.0 + (len(self._norm) - len(rows) + 0.5) / (len(rows) + 0.5))
            scores[rows] += idf * counts * (self._k1 + 1.0) / (counts + self._norm[rows])
        return scores


def best(scores: NDArray[np.floating], k: int) -> list[int]:
    """The rows of the `k` highest scores above 0, highest first; of equals, the earlier row."""
    k = min(k, len(scores))
    if k == 0:
        return []
    # Everything that ties with the k-th best takes part, so that the order of equals does not hang on the partition.
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    rows = [int(row) for row in np.flatnonzero((scores >= least) & (scores > 0))]
    return sorted(rows, key=lambda row: (-scores[row], row))[:k]


def cosines(matrix: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine of `vector` (d,) with every row of `matrix` (n, d); both must be L2-normalised."""
    product: NDArray[np.float32] = matrix @ vector
    return product


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
