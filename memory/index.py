"""Search over remembered texts by words: BM25 over split identifiers; and the fusion of several rankings. Pure."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]

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


class _Pairs:
    """Numbers with counts, growing at the end: rows that a term occurs in, or terms that occur in a row."""

    __slots__ = ("_counts", "_numbers")

    def __init__(self) -> None:
        self._numbers = array("i")
        self._counts = array("H")

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, number: int, count: int) -> None:
        self._numbers.append(number)
        self._counts.append(min(count, MOST_COUNT))

    @property
    def numbers(self) -> Numbers:
        return np.frombuffer(self._numbers, dtype=np.int32)

    @property
    def counts(self) -> NDArray[np.uint16]:
        return np.frombuffer(self._counts, dtype=np.uint16)


class BM25:
    """Okapi BM25 (Robertson and Zaragoza 2009, equation 3.15), with the idf that is never negative.

    Documents are added one by one and keep their rows; what is not to be found (any more) is not allowed in a search.
    """

    def __init__(self, documents: Sequence[Sequence[str]] = (), *, k1: float = 1.2, b: float = 0.75) -> None:
        self._k1, self._b = k1, b
        self._lengths = array("f")
        self._words = 0
        self._terms: dict[str, int] = {}
        self._rows_of: list[_Pairs] = []
        self._terms_of = _Pairs()
        self._ends = array("q", [0])
        for document in documents:
            self.add(document)

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, document: Sequence[str]) -> int:
        """Add a document; its row."""
        row = len(self._lengths)
        self._lengths.append(len(document))
        self._words += len(document)
        for word, count in Counter(document).items():
            term = self._terms.setdefault(word, len(self._terms))
            if term == len(self._rows_of):
                self._rows_of.append(_Pairs())
            self._rows_of[term].add(row, count)
            self._terms_of.add(term, count)
        self._ends.append(len(self._terms_of))
        return row

    def scores(self, query: Sequence[str]) -> Floats:
        """One score for each document, 0 where no term of the query occurs."""
        return self._sum(self._known(query), np.ones(len(self), dtype=np.bool_))

    def search(self, query: Sequence[str], k: int, allowed: NDArray[np.bool_], *, postings: int) -> list[int]:
        """The rows of the `k` best that are allowed, best first; of equals, the later row.

        The rarest terms choose `CHOSEN` documents until they have so many postings; commoner ones only add to the scores of
        these. What is left out shares with the query little but words that are everywhere.
        """
        known = self._known(query)
        spent = list(accumulate(len(self._rows_of[term]) for term in known))
        choosing = max(1, bisect_right(spent, postings))
        every = self._sum(known[:choosing], allowed)
        rows = np.flatnonzero(every > 0.0)
        if choosing < len(known):
            rows = rows[np.sort(latest_best(every[rows], CHOSEN))]
        scores = every[rows]
        if choosing < len(known):
            scores += self._more(known[choosing:], rows)
        return [int(rows[place]) for place in latest_best(scores, k)]

    def _known(self, query: Sequence[str]) -> list[int]:
        """The terms of a query that occur, rarest first."""
        known = (self._terms[word] for word in set(query) & self._terms.keys())
        return sorted(known, key=lambda term: (len(self._rows_of[term]), term))

    def _sum(self, terms: Sequence[int], allowed: NDArray[np.bool_]) -> Floats:
        """The score of every document by some terms, 0 where it is not allowed."""
        if not terms:
            return np.zeros(len(self))
        found = [self._rows_of[term] for term in terms]
        rows = np.concatenate([each.numbers for each in found])
        kept = allowed[rows]
        idfs = np.repeat(self._idfs(terms), [len(each) for each in found])[kept]
        counts = np.concatenate([each.counts for each in found])[kept]
        rows = rows[kept]
        worth = self._worth(idfs, counts, rows)
        return np.asarray(np.bincount(rows, weights=worth, minlength=len(self)), dtype=np.float64)

    def _more(self, terms: Sequence[int], rows: NDArray[np.intp]) -> Floats:
        """What further terms are worth to some documents: their own terms are looked through, not those terms' postings."""
        ends = np.frombuffer(self._ends, dtype=np.int64)
        sizes = ends[rows + 1] - ends[rows]
        whose = np.repeat(np.arange(len(rows)), sizes)
        places = np.arange(len(whose)) + np.repeat(ends[rows + 1] - np.cumsum(sizes), sizes)
        idf_of = np.zeros(len(self._terms))
        idf_of[terms] = self._idfs(terms)
        idfs = idf_of[self._terms_of.numbers[places]]
        kept = np.flatnonzero(idfs > 0.0)
        whose, places = whose[kept], places[kept]
        worth = self._worth(idfs[kept], self._terms_of.counts[places], rows[whose])
        return np.asarray(np.bincount(whose, weights=worth, minlength=len(rows)), dtype=np.float64)

    def _idfs(self, terms: Sequence[int]) -> Floats:
        sizes = np.array([len(self._rows_of[term]) for term in terms])
        return np.log(1.0 + (len(self) - sizes + 0.5) / (sizes + 0.5))

    def _worth(self, idfs: Floats, counts: NDArray[np.uint16], rows: NDArray[np.integer]) -> Floats:
        """What occurrences of terms are worth to the documents that they are in."""
        mean = self._words / len(self) or 1.0
        lengths = np.frombuffer(self._lengths, dtype=np.float32)[rows].astype(np.float64)
        worth: Floats = (
            idfs * counts * (self._k1 + 1.0) / (counts + self._k1 * (1.0 - self._b + self._b * lengths / mean))
        )
        return worth


def best(scores: NDArray[np.floating], k: int) -> list[int]:
    """The rows of the `k` highest scores above 0, highest first; of equals, the earlier row."""
    rows = _reaching(scores, k)
    order: list[int] = rows[np.lexsort((rows, -scores[rows]))][:k].tolist()
    return order


def latest_best(scores: NDArray[np.floating], k: int) -> list[int]:
    """As `best`, but of equals the later row."""
    rows = _reaching(scores, k)
    order: list[int] = rows[np.lexsort((-rows, -scores[rows]))][:k].tolist()
    return order


def _reaching(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """The rows of scores above 0 that are not below the `k`-th best: what ties with that one stays."""
    rows = np.flatnonzero(scores > 0.0)
    if len(rows) <= k:
        return rows
    found = scores[rows]
    return rows[found >= np.partition(found, len(rows) - k)[len(rows) - k]] if k else rows[:0]


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
