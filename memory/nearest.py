"""The nearest of many vectors, in this process: exact while they are few, beyond by sign codes and then exactly. Pure.

A code is one bit for each dimension: whether it is above 0 (Charikar 2002, "Similarity estimation techniques from rounding
algorithms", with the axes for random hyperplanes). All codes are compared with the query's, the nearest `DEPTH` are compared
exactly. This needs no training and no rebuilding, so vectors come and go one by one; and since every code is looked at,
a filter costs nothing and loses nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

EXACT = 10_000
"""Up to so many vectors every one is compared exactly."""

FEW = 2_000
"""Nor do codes pay where a filter leaves so few: their vectors must be gathered, which costs more than to pass them all."""

DEPTH = 500
"""How many of the nearest codes are compared exactly."""

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


class Nearest:
    """Unit vectors by row, in the order in which they were added."""

    def __init__(self, dimensions: int) -> None:
        self._vectors = np.zeros((0, dimensions), dtype=np.float32)
        self._codes = np.zeros((-(-dimensions // 64), 0), dtype=np.uint64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, vectors: Floats) -> None:
        """Append rows: an array (n, dimensions)."""
        end = self._count + len(vectors)
        if end > len(self._vectors):
            more = max(end, 2 * self._count, 256) - len(self._vectors)
            self._vectors = np.concatenate([self._vectors, np.zeros((more, self._vectors.shape[1]), dtype=np.float32)])
            self._codes = np.concatenate([self._codes, np.zeros((len(self._codes), more), dtype=np.uint64)], axis=1)
        self._vectors[self._count : end] = vectors
        self._codes[:, self._count : end] = _codes(vectors, len(self._codes)).T
        self._count = end

    def search(self, query: Floats, k: int, allowed: Mask) -> tuple[list[int], Floats]:
        """The rows of the `k` nearest that are allowed, nearest first, and their cosines, negative ones as 0.

        Of equals the later row comes first. `allowed` has one value for each row.
        """
        many = self._count > EXACT and np.count_nonzero(allowed) > FEW
        rows = self._nearest_codes(query, max(DEPTH, k), allowed) if many else np.flatnonzero(allowed)
        cosines = self.cosines(query, rows)
        order = np.lexsort((-rows, -cosines))[:k]
        return rows[order].tolist(), cosines[order]

    def cosines(self, query: Floats, rows: NDArray[np.intp]) -> Floats:
        """The cosine of the query with each of some rows, negative ones as 0, rounded: equal vectors are equally near."""
        every = len(rows) == self._count
        scores = self._vectors[: self._count] @ query if every else self._vectors[rows] @ query
        clipped: Floats = np.clip(scores[rows] if every else scores, 0.0, 1.0).round(5)
        return clipped

    def _nearest_codes(self, query: Floats, depth: int, allowed: Mask) -> NDArray[np.intp]:
        code = _codes(query[np.newaxis, :], len(self._codes))[0]
        distances = np.zeros(self._count, dtype=np.uint16)
        for plane, bits in zip(self._codes, code, strict=True):
            distances += np.bitwise_count(plane[: self._count] ^ bits)
        # Distances are small whole numbers: counting them finds the farthest that is wanted faster than sorting would.
        meant = distances if allowed.all() else distances[allowed]
        reached = np.cumsum(np.bincount(meant, minlength=1))
        farthest = int(np.searchsorted(reached, depth))
        return np.flatnonzero((distances <= farthest) & allowed)


def _codes(vectors: Floats, words: int) -> NDArray[np.uint64]:
    """One row of 64-bit words for each vector."""
    bits = np.packbits(vectors > 0, axis=1)
    padded = np.zeros((len(vectors), 8 * words), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64)
