from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from memory.retrieval.index import Matrix

DIMENSIONS, SIZE = 96, 4000


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:
    """Unit vectors in clusters, as real ones are."""
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((200, DIMENSIONS))
    rows = centres[rng.integers(200, size=SIZE)] + 0.7 * rng.standard_normal((SIZE, DIMENSIONS))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def filled(vectors: NDArray[np.float32], step: int) -> Matrix:
    nearest = Matrix(DIMENSIONS)
    for start in range(0, len(vectors), step):
        nearest.add(vectors[start : start + step])
    return nearest


def true(vectors: NDArray[np.float32], query: NDArray[np.float32], allowed: NDArray[np.bool_]) -> list[int]:
    scores = np.where(allowed, vectors @ query, -2.0)
    return np.argsort(-scores)[:10].tolist()


@pytest.mark.parametrize("share", [1.0, 0.5, 0.01])
def test_the_nearest_are_found(vectors: NDArray[np.float32], share: float) -> None:
    """The ten nearest are found, with filters too, in the order of their cosines."""
    nearest, rng = filled(vectors, 5000), np.random.default_rng(2)
    for query in vectors[::1000]:
        allowed = rng.random(SIZE) < share
        rows, cosines = nearest.search(query, 10, allowed)
        assert all(allowed[row] for row in rows)
        assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)
        assert set(rows) == set(true(vectors, query, allowed))


def test_growing_is_as_filling(vectors: NDArray[np.float32]) -> None:
    """In whatever portions vectors come, the answers are the same; of equals the later row is first."""
    few = np.concatenate([vectors[:300], vectors[:300]])
    everything = np.ones(600, dtype=np.bool_)
    one, other = filled(few, 7).search(few[5], 9, everything), filled(few, 600).search(few[5], 9, everything)
    assert one[0] == other[0]
    assert one[0][:2] == [305, 5]


def test_nothing_is_near_nothing() -> None:
    """An empty index, or a filter that lets nothing through, gives nothing."""
    nearest = Matrix(DIMENSIONS)
    query = np.zeros(DIMENSIONS, dtype=np.float32)
    assert nearest.search(query, 3, np.zeros(0, dtype=np.bool_))[0] == []
    nearest.add(np.ones((2, DIMENSIONS), dtype=np.float32))
    assert nearest.search(query, 3, np.zeros(2, dtype=np.bool_))[0] == []
