"""What the store holds of what people chose, as options; trained models, and the one in force."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.embed import Embedder
from memory.errors import StoreError
from memory.model import Attempt, Decision, Finding, Signal, TaskKind
from memory.posting import prior_of
from memory.preferences import features
from memory.preferences.judged import Judged, Option, teacher, verdict
from memory.preferences.reward import Floats
from memory.preferences.training import Trained, train
from memory.store import Store

MOST = 5000
"""So many decisions that somebody did something about are read at most, the last ones."""

LONGEST_TEXT = 4000


@dataclass(frozen=True, slots=True)
class Taste:
    """A model in force, with what it needs to judge options."""

    trained: Trained
    embedder: Embedder

    def strengths(self, options: Sequence[Option]) -> list[float]:
        """How strong each option is held to be; only differences mean something."""
        model = self.trained.model
        vectors = self.embedder.embed([o.text for o in options]).astype(np.float64) if model.dimensions else None
        return [float(strength) for strength in model.strengths(options, vectors)]


def taste(store: Store, embedder: Embedder, kind: TaskKind, repository: str) -> Taste | None:
    """The model that ranks in this repository; None when none is in force, or none that reaches it."""
    trained = store.models.active(kind, Trained)
    if trained is None or not trained.reaches(repository):
        return None
    usable = trained.model.embedder in ("", embedder.id)
    return Taste(trained, embedder) if usable else None


def learn_preferences(store: Store, embedder: Embedder, kind: TaskKind, now: datetime) -> Trained:
    """Train on everything that was judged so far, evaluate, and keep the model. It is not in force by that."""
    judged = judged_options(store, kind)
    trained = train(judged, embedded(embedder, judged), embedder=embedder.id, kind=kind, now=now)
    store.models.save(trained.id, kind, trained, now=now)
    return trained


def activate(store: Store, model_id: str) -> Trained:
    """Put a model in force; raises StoreError for one that is not there or was not shown to be better than the prior."""
    trained = store.models.get(model_id, Trained)
    if trained is None:
        raise StoreError(f"no reward model {model_id}; `apprentice preferences` lists them")
    if trained.evaluation.refusal:
        raise StoreError(f"reward model {model_id} may not be used: {trained.evaluation.refusal}")
    store.models.activate(model_id, trained.kind)
    return trained


def embedded(embedder: Embedder, judged: Sequence[Judged]) -> Mapping[str, Floats]:
    """The embedding of each option, by decision id."""
    rows = embedder.embed([each.option.text for each in judged]).astype(np.float64)
    return {each.decision_id: row for each, row in zip(judged, rows, strict=True)}


def judged_options(store: Store, kind: TaskKind) -> list[Judged]:
    """The last decisions that somebody whose word counts was for or against, control arm included."""
    heard = store.models.heard(kind, limit=MOST)
    signals: defaultdict[str, list[Signal]] = defaultdict(list)
    for signal in store.ledger.live_signals([decision.id for decision in heard]):
        signals[signal.decision_id].append(signal)
    telling = [decision for decision in heard if verdict(signals[decision.id])]
    options = _findings(store, telling) if kind is TaskKind.REVIEW else _patches(store, telling)
    return [_judged(d, options[d.id], signals[d.id]) for d in telling if d.id in options]


def option_of_finding(finding: Finding) -> Option:
    """A finding as an option."""
    proven = finding.suggestion is not None and finding.suggestion.proof is not None
    return Option(
        prior=prior_of(finding, suggestion_proven=proven),
        features=features.of_finding(finding),
        text=features.text_of_finding(finding)[:LONGEST_TEXT],
    )


def option_of_attempt(attempt: Attempt) -> Option:
    """A proven attempt's patch as an option."""
    assert attempt.proof is not None, "only proven patches are put before people"
    return Option(
        prior=features.prior_of_patch(attempt.proof.share),
        features=features.of_attempt(attempt, features.path_of(attempt.patch)),
        text=attempt.patch[:LONGEST_TEXT],
    )


def _findings(store: Store, decisions: Sequence[Decision]) -> dict[str, Option]:
    seen = store.models.sightings_of([decision.id for decision in decisions])
    return {found: option_of_finding(sighting.finding) for found, sighting in seen.items()}


def _patches(store: Store, decisions: Sequence[Decision]) -> dict[str, Option]:
    found = {}
    for task_id in dict.fromkeys(decision.task_id for decision in decisions):
        stored = store.tasks.get(task_id)
        for attempt in stored.task.attempts if stored else ():
            if attempt.proof is not None:
                found[attempt.decision_id] = option_of_attempt(attempt)
    return found


def _judged(decision: Decision, option: Option, signals: Sequence[Signal]) -> Judged:
    return Judged(
        decision_id=decision.id,
        task_id=decision.task_id,
        kind=decision.state.kind,
        repository=decision.state.repository,
        label=decision.state.label,
        teacher=teacher(signals),
        known_at=max(signal.created_at for signal in signals),
        verdict=verdict(signals),
        option=option,
    )
