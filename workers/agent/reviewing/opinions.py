"""What people here made of the model's findings before, and which of them are like a new one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from memory.embed import Embedder
from memory.model import Signal, TaskKind
from memory.preferences.options import verdict
from memory.store import Store
from workers.review.detectors.detector import MODEL

READ, MOST = 2_000, 200
"""Decisions that are looked through, and opinions that are compared with, the last ones."""

NEAREST = 3
LIKE = 0.5
"""Cosine from which a finding is like another at all."""

SAME = 0.85
"""Cosine from which it says the same."""

ENOUGH = 2
"""Rejections of the same without any acceptance, after which a finding is worth less: one may be a mood."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A finding that somebody whose word counts was for or against, with the `reason` where one was given."""

    text: str
    accepted: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """An opinion, and the cosine of its text with that of a finding."""

    opinion: Opinion
    cosine: float


def opinions(store: Store, repository: str) -> tuple[Opinion, ...]:
    """What people of a repository made of the model's findings, newest first; where they took it back, nothing."""
    heard = [
        decision
        for decision in store.models.heard(TaskKind.REVIEW, limit=READ)
        if decision.state.repository == repository and decision.state.label.startswith(f"{MODEL}-")
    ][:MOST]
    signals: defaultdict[str, list[Signal]] = defaultdict(list)
    for signal in store.ledger.live_signals([decision.id for decision in heard]):
        signals[signal.decision_id].append(signal)
    sightings = store.models.sightings_of([decision.id for decision in heard])
    reasons = store.reasons.of([signal.id for given in signals.values() for signal in given])
    return tuple(
        Opinion(
            text=sightings[decision.id].finding.message,
            accepted=said > 0.0,
            reason=" ".join(reasons[signal.id] for signal in signals[decision.id] if signal.id in reasons),
        )
        for decision in heard
        if (said := verdict(signals[decision.id])) and decision.id in sightings
    )


def nearest(texts: Sequence[str], past: Sequence[Opinion], embedder: Embedder) -> list[tuple[Near, ...]]:
    """For each text the opinions that are like it, the nearest first."""
    if not texts or not past:
        return [() for _ in texts]
    cosines = embedder.embed(texts) @ embedder.embed([each.text for each in past]).T
    rows = ([Near(opinion=o, cosine=float(c)) for o, c in zip(past, row, strict=True)] for row in cosines)
    return [tuple(sorted((n for n in row if n.cosine >= LIKE), key=lambda n: -n.cosine)) for row in rows]


def is_unwanted(near: Sequence[Near]) -> bool:
    """Whether people here rejected the same at least twice, and never accepted it."""
    same = [each.opinion.accepted for each in near if each.cosine >= SAME]
    return len(same) >= ENOUGH and not any(same)
