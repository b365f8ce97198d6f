"""Episodic memory: failures, what was tried and what came of it, found again by words and by meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memory.embed import Embedder
from memory.index import BM25, best, cosines, fuse, terms
from memory.model import AttemptOutcome, EditShape, Experience, Recollection
from memory.policy import Neighbour
from memory.rewards import SIGNAL_WORTH, clipped
from memory.store import Store

WORDS_WEIGHT = 2.0
MEANING_WEIGHT = 1.0
"""On failures BM25 leads: the same names matter more than a similar story."""

DEPTH = 50
"""How many of each view take part in the fusion."""

_PROVEN, _SAME_REPOSITORY, _SAME_ERROR, _SAME_FAMILY = 1.15, 1.1, 1.2, 1.05
_MOST = _PROVEN * _SAME_REPOSITORY * _SAME_ERROR * _SAME_FAMILY


@dataclass(frozen=True, slots=True)
class _Words:
    """The word index over the texts of some experiences."""

    ids: tuple[str, ...]
    bm25: BM25


class Experiences:
    """What was tried before. The embedder is used only when there is something to compare."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._words = _Words((), BM25(()))

    def remember(self, experience: Experience) -> bool:
        """Keep an experience; False when its id is known. Its vector is computed at the next recall."""
        return self._store.experiences.add(experience, searchable(experience))

    def forget(self, experience_id: str) -> bool:
        """Delete an experience and its vectors; False when there is none."""
        return self._store.experiences.delete(experience_id)

    def recall(
        self, *, signature: str, error_type: str, family: str, repository: str, k: int = 5
    ) -> tuple[Recollection, ...]:
        """The `k` most useful experiences for a failure, best first, scores within [0, 1].

        Both views are fused by rank; what was proven, of the same repository, error type or family comes first among the
        near, of equals the newest. The score tells how near in absolute terms, so that an unrelated memory weighs little.
        An edit that people rejected comes back without its shape: it is remembered, and not made again.
        """
        texts = self._store.experiences.texts()
        if not texts:
            return ()
        query = f"{error_type} {signature}"
        nearness = self._nearness(query)
        near = {key: nearness[key] for key in texts if key in nearness}
        fused = fuse([(WORDS_WEIGHT, self._by_words(query, texts)), (MEANING_WEIGHT, _by_meaning(near))])
        ranked = []
        for experience, rank_score in self._fetched(texts, fused):
            factor = _usefulness(experience, error_type=error_type, family=family, repository=repository)
            ranked.append((rank_score * factor / _MOST, experience))
        ranked.sort(key=lambda pair: -pair[0])
        return tuple(self._without_rejected_shape(found) for found in _scored(ranked[:k], near))

    def latest(self, most: int) -> list[Experience]:
        """What was tried last, of all repositories, newest first."""
        return self._store.experiences.all(limit=most)

    def warm(self) -> None:
        """Load the embedder in the background, if there is anything to recall."""
        if self._store.experiences.all(limit=1):
            self._embedder.warm()

    def _without_rejected_shape(self, found: Recollection) -> Recollection:
        if found.experience.shape is None or not self._rejected(found.experience):
            return found
        return replace(found, experience=replace(found.experience, shape=None))

    def _rejected(self, experience: Experience) -> bool:
        """Whether the people whose word counts were, taken together, against it."""
        decisions = self._store.ledger.decisions_of_task(experience.task_id)
        made = [decision.id for decision in decisions if decision.chosen == experience.strategy]
        against = 0.0
        for signal in self._store.ledger.live_signals(made):
            worth = SIGNAL_WORTH[signal.kind]
            against += signal.weight * worth.weight * (0.5 - worth.value)
        return against > 0.0

    def _by_words(self, query: str, texts: Mapping[str, str]) -> list[str]:
        if self._words.ids != tuple(texts):
            self._words = _Words(tuple(texts), BM25([terms(text) for text in texts.values()]))
        return [self._words.ids[row] for row in best(self._words.bm25.scores(terms(query)), DEPTH)]

    def _nearness(self, query: str) -> dict[str, float]:
        """The cosine of the query with each experience, negative ones as 0. Embeds those that are not embedded yet."""
        self._embed_missing()
        ids, matrix = self._store.experiences.matrix(self._embedder.id)
        if not ids:  # the last one was forgotten meanwhile
            return {}
        scores: NDArray[np.float32] = cosines(matrix, self._embedder.embed([query])[0])
        return dict(zip(ids, np.clip(scores, 0.0, 1.0).tolist(), strict=True))

    def _embed_missing(self) -> None:
        missing = self._store.experiences.vectors_missing(self._embedder.id)
        if missing:
            vectors = self._embedder.embed([text for _, text in missing])
            new = {found: vector for (found, _), vector in zip(missing, vectors, strict=True)}
            self._store.experiences.put_vectors(self._embedder.id, new)

    def _fetched(self, texts: Mapping[str, str], fused: Mapping[str, float]) -> list[tuple[Experience, float]]:
        found = ((self._store.experiences.get(key), fused[key]) for key in texts if key in fused)
        return [(experience, score) for experience, score in found if experience is not None]


def neighbours(recollections: Sequence[Recollection]) -> tuple[Neighbour, ...]:
    """Recollections as evidence for the policy."""
    return tuple(
        Neighbour(
            strategy=found.experience.strategy,
            success=found.experience.outcome is AttemptOutcome.PROVEN,
            similarity=clipped(found.score),
        )
        for found in recollections
    )


def replay_shapes(recollections: Sequence[Recollection]) -> Mapping[EditShape, float]:
    """Edits worth trying first, with weights in (0, 1]: those that were proven, as `recall` gave them."""
    shapes: dict[EditShape, float] = {}
    for found in recollections:
        shape, weight = found.experience.shape, clipped(found.score)
        if shape is not None and found.experience.outcome is AttemptOutcome.PROVEN and weight > 0.0:
            shapes[shape] = max(weight, shapes.get(shape, 0.0))
    return shapes


def searchable(experience: Experience) -> str:
    """The text that an experience is found by: what the failure looked like, and where it was mended."""
    return f"{experience.error_type} {experience.signature} {experience.path}"


def _by_meaning(near: Mapping[str, float]) -> list[str]:
    ids = list(near)
    return [ids[row] for row in best(np.array([near[key] for key in ids], dtype=np.float64), DEPTH)]


def _usefulness(experience: Experience, *, error_type: str, family: str, repository: str) -> float:
    factor = _PROVEN if experience.outcome is AttemptOutcome.PROVEN else 1.0
    factor *= _SAME_REPOSITORY if experience.repository == repository else 1.0
    factor *= _SAME_ERROR if experience.error_type == error_type else 1.0
    return factor * (_SAME_FAMILY if experience.family == family else 1.0)


def _scored(ranked: Sequence[tuple[float, Experience]], near: Mapping[str, float]) -> tuple[Recollection, ...]:
    """Rank scores times absolute nearness, held down so that a later one never scores above an earlier one."""
    recollections, cap = [], 1.0
    for rank_score, experience in ranked:
        cap = min(cap, rank_score * near.get(experience.id, 0.0))
        recollections.append(Recollection(experience=experience, score=cap))
    return tuple(recollections)
