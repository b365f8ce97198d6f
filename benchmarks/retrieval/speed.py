"""How fast the nearest are found, and how many of the truly nearest: in this process, and with pgvector.

The vectors are made from real embeddings: points between one and one of its nearest, with Gaussian noise of the real ones'
covariance, as far apart from one another as real texts are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
from numpy.typing import NDArray

from memory.model import Among
from memory.retrieval.vectors import FOCUS, WHOLE, HybridIndex, HybridQuery, ViewWeights
from memory.store import Store
from memory.store.database import insert_bare
from memory.store.experiences import IndexEntry
from memory.store.pgvector import VectorTable
from memory.store.tables import experiences

NEIGHBOURS = 8
NOISE = 0.7
NEAREST = 10
EMBEDDER = "benchmark"
START = datetime(2026, 1, 1, tzinfo=UTC)

Floats = NDArray[np.float32]

FILTERS = {
    "no filter": Among(),
    "1 % (a repository)": Among(repository="r0"),
    "10 % (an error type)": Among(error_type="e0"),
    "50 % (an outcome)": Among(outcome="proven"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Of one kind of search: milliseconds, and how many of the ten nearest by comparing all were found."""

    name: str
    median: float
    p99: float
    recall: float


def alike(real: Floats, count: int, seed: int) -> Floats:
    """`count` unit vectors like the real ones: (count, dimensions)."""
    rng = np.random.default_rng(seed)
    real = real[np.linalg.norm(real, axis=1) > 0.5]
    cosines = real @ real.T
    np.fill_diagonal(cosines, -1.0)
    near = np.argsort(-cosines, axis=1)[:, :NEIGHBOURS]
    _, singular, axes = np.linalg.svd(real - real.mean(axis=0), full_matrices=False)
    spread = (singular[:, np.newaxis] * axes / np.sqrt(len(real))).astype(np.float32)
    made = np.empty((count, real.shape[1]), dtype=np.float32)
    for start in range(0, count, 50_000):
        some = min(50_000, count - start)
        one = rng.integers(len(real), size=some)
        other = near[one, rng.integers(near.shape[1], size=some)]
        share = rng.random((some, 1), dtype=np.float32)
        points = real[one] * (1 - share) + real[other] * share
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        points += NOISE * rng.standard_normal((some, len(spread)), dtype=np.float32) @ spread
        made[start : start + some] = points / np.linalg.norm(points, axis=1, keepdims=True)
    return made


def entries_like(texts: Sequence[str], count: int, seed: int) -> list[IndexEntry]:
    """Entries with words of real texts, and facts that the filters choose their shares by."""
    rng = np.random.default_rng(seed)
    chances = rng.random((count, 3))
    mixed = rng.integers(max(1, len(texts)), size=(count, 2))
    return [
        IndexEntry(
            id=f"{row:032x}",
            sequence=row + 1,
            repository="r0" if chances[row, 0] < 0.01 else f"r{1 + int(200 * chances[row, 0])}",
            error_type="e0" if chances[row, 1] < 0.1 else f"e{1 + int(20 * chances[row, 1])}",
            family="type",
            outcome="proven" if chances[row, 2] < 0.5 else "unproven",
            created_at=START + timedelta(minutes=row),
            text=f"{texts[mixed[row, 0]][:200]} {texts[mixed[row, 1]][:200]} case{row}" if texts else "",
            listed=True,
        )
        for row in range(count)
    ]


def truly(scores: Floats, allowed: NDArray[np.bool_]) -> list[set[int]]:
    """The rows of the ten nearest that are allowed, of the cosines of queries with all: (queries, vectors)."""
    scores = np.where(allowed, scores, np.float32(-2.0))
    rows = np.argpartition(-scores, NEAREST, axis=1)[:, :NEAREST]
    return [{row for row in some.tolist() if allowed[row]} for some in rows]


def allowed_by(entries: Sequence[IndexEntry], among: Among) -> NDArray[np.bool_]:
    """Which entries a filter means."""
    names = [name for name in ("repository", "error_type", "outcome") if getattr(among, name)]
    return np.array([all(getattr(each, name) == getattr(among, name) for name in names) for each in entries])


def in_process(index: HybridIndex, entries: Sequence[IndexEntry], queries: Floats, rounds: int) -> list[Speed]:
    """All of a search, words and fusion included. Its dense view compares every vector, so that its recall is 1."""
    asked = [
        HybridQuery(text=entries[row].text, focus=entries[row].text[:60], vectors={WHOLE: query, FOCUS: query})
        for row, query in enumerate(queries)
    ]
    speeds = []
    for name, among in FILTERS.items():
        speeds.append(_speed(name, [partial(index.search, one, among) for one in asked], rounds, 1.0))
    return speeds


def in_postgresql(
    near: VectorTable, vectors: Floats, entries: Sequence[IndexEntry], queries: Floats, rounds: int
) -> list[Speed]:
    """The search of the dense view by pgvector."""
    speeds, scores = [], queries @ vectors.T
    for name, among in FILTERS.items():
        allowed = allowed_by(entries, among)
        found = [[int(key, 16) for key, _ in near.search(query, 50, among)[:NEAREST]] for query in queries]
        recall = _recall(found, truly(scores, allowed))
        speeds.append(_speed(name, [partial(near.search, query, 50, among) for query in queries], rounds, recall))
    return speeds


def fill(store: Store, vectors: Floats, entries: Sequence[IndexEntry]) -> None:
    """Store experiences with these vectors, past the nouns, and without the index for words."""
    rows = [
        (each.id, each.sequence, each.repository, each.error_type, each.family, each.outcome, "", "", None, 1, 0, False,
         each.created_at.isoformat(), "", "{}")
        for each in entries
    ]  # fmt: skip
    with store.database.writing() as connection:
        insert_bare(connection, experiences, rows)  # type: ignore[arg-type]  # None and False are values, too
    store.experiences.put_vectors(EMBEDDER, {each.id: row for each, row in zip(entries, vectors, strict=True)})


def _recall(found: Sequence[Sequence[int]], true: Sequence[set[int]]) -> float:
    return sum(len(set(rows) & wanted) for rows, wanted in zip(found, true, strict=True)) / sum(map(len, true))


def _speed(name: str, searches: Sequence[Callable[[], object]], rounds: int, recall: float) -> Speed:
    """The median over the rounds of each round's median and 99th percentile; the first round warms up."""
    figures = []
    for _ in range(rounds + 1):
        taken = []
        for search in searches:
            started = time.perf_counter()
            search()
            taken.append(1000 * (time.perf_counter() - started))
        figures.append((np.median(taken), np.quantile(taken, 0.99)))
    median, p99 = np.median(np.array(figures[1:]), axis=0).tolist()
    return Speed(name=name, median=median, p99=p99, recall=recall)


def index_of(vectors: Floats, entries: Sequence[IndexEntry], weights: ViewWeights) -> HybridIndex:
    """An index with all of them."""
    index = HybridIndex(vectors.shape[1], weights)
    index.add(entries, {WHOLE: vectors, FOCUS: vectors})
    return index
