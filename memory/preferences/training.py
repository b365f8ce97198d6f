"""Train a reward model on the earlier four fifths of what was judged, and say what it foretells of the rest. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from memory.model import TaskKind
from memory.preferences.evaluation import Evaluation, evaluate
from memory.preferences.judged import Judged, Pair, pairs, within_quota
from memory.preferences.reward import L2_GRID, Floats, Hyperparameters, RewardModel, choose, fit, margins, table

METHOD = "bradley-terry-1"
"""Names the method and its features; it changes whenever the same data would give another model."""

HELD_OUT = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A reward model with what is known of it.

    `id` hangs on the data and on how it was trained, and on nothing else. `teachers` and `repositories` are those of the
    pairs that it learned from; what one person alone has taught reaches no further than these.
    """

    id: str
    kind: TaskKind
    model: RewardModel
    evaluation: Evaluation
    trained_on: int
    teachers: int
    repositories: tuple[str, ...]
    created_at: datetime

    def reaches(self, repository: str) -> bool:
        """Whether the model may rank in this repository."""
        return self.teachers > 1 or repository in self.repositories

    def to_json(self, *, active: bool) -> dict[str, object]:
        """The model for scripts, without the embedding's weights."""
        return {
            "id": self.id,
            "kind": self.kind,
            "active": active,
            "created_at": self.created_at.isoformat(),
            "trained_on": self.trained_on,
            "teachers": self.teachers,
            "repositories": list(self.repositories),
            "hyperparameters": asdict(self.model.hyperparameters),
            "embedder": self.model.embedder,
            "weights": dict(self.model.weights),
            "evaluation": asdict(self.evaluation),
        }


def train(
    judged: Iterable[Judged], vectors: Mapping[str, Floats], *, embedder: str, kind: TaskKind, now: datetime
) -> Trained:
    """A model of one kind, calibrated on the last fifth of the earlier time and evaluated on the later.

    `vectors` is by decision id, and may be empty: then the model knows features alone. The split is by when verdicts
    became known, and no pair crosses it.
    """
    known = within_quota(each for each in judged if each.kind is kind)
    earlier, later = split(known)
    first, second = split(earlier)
    data = pairs(earlier)
    names = sorted({name for each in earlier for name in each.option.features})
    early, tuning = pairs(first), pairs(second)
    chosen = (
        choose(table(early, names, vectors), table(tuning, names, vectors))
        if early and tuning
        else Hyperparameters(l2=max(L2_GRID), embedding=0.0)
    )
    weights = fit(table(data, names, vectors), l2=chosen.l2, embedding=chosen.embedding)
    model = _model(weights, names, chosen, embedder)
    return Trained(
        id=_id(kind, known, chosen, model.embedder),
        kind=kind,
        model=model,
        evaluation=_evaluate(pairs(later), names, vectors, weights, chosen),
        trained_on=len(data),
        teachers=len({each.teacher for pair in data for each in (pair.better, pair.worse)}),
        repositories=tuple(sorted({each.repository for pair in data for each in (pair.better, pair.worse)})),
        created_at=now,
    )


def split(judged: Sequence[Judged]) -> tuple[Sequence[Judged], Sequence[Judged]]:
    """The earlier part and the held-out later one; a task is in one of them as a whole, where its last verdict is."""
    ended: dict[str, datetime] = {}
    for each in judged:
        ended[each.task_id] = max(each.known_at, ended.get(each.task_id, each.known_at))
    ordered = sorted(ended, key=lambda task: (ended[task], task))
    late = set(ordered[len(ordered) - round(len(ordered) * HELD_OUT) :])
    return [j for j in judged if j.task_id not in late], [j for j in judged if j.task_id in late]


def _evaluate(
    held_out: Sequence[Pair],
    names: Sequence[str],
    vectors: Mapping[str, Floats],
    weights: Floats,
    chosen: Hyperparameters,
) -> Evaluation:
    data = table(held_out, names, vectors)
    return evaluate(held_out, margins(data, weights) / chosen.temperature, data.offsets / chosen.prior_temperature)


def _model(weights: Floats, names: Sequence[str], chosen: Hyperparameters, embedder: str) -> RewardModel:
    dimensions = tuple(weights[len(names) :].tolist()) if chosen.embedding else ()
    return RewardModel(
        weights=dict(zip(names, weights[: len(names)].tolist(), strict=True)),
        dimensions=dimensions,
        embedder=embedder if dimensions else "",
        hyperparameters=chosen,
    )


def _id(kind: TaskKind, judged: Sequence[Judged], chosen: Hyperparameters, embedder: str) -> str:
    digest = hashlib.sha256(json.dumps([METHOD, kind, embedder, asdict(chosen)]).encode())
    for each in judged:
        seen = [each.decision_id, each.task_id, each.verdict, str(each.known_at), asdict(each.option)]
        digest.update(json.dumps(seen, sort_keys=True).encode())
    return digest.hexdigest()[:16]
