"""The reward model: which of two findings, or of two proven patches, maintainers prefer.

A Bradley–Terry model (1952, "Rank analysis of incomplete block designs"): each option has a strength, and one is preferred
with the probability σ(difference of strengths). The strength is linear in the prior's log-odds and in named features;
scikit-learn fits it with an L2 pull. A model ranks only after it predicts later, held-out choices better than the prior, and
it orders equals alone: tests decide first.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from math import floor, inf, log2, sqrt

import numpy as np
from numpy.typing import NDArray

from memory.errors import StoreError
from memory.model import Decision, Signal, TaskKind
from memory.preferences.options import (
    JudgedOption,
    PreferenceOption,
    PreferencePair,
    option_of_attempt,
    option_of_finding,
    pairs,
    teacher,
    verdict,
    within_quota,
)
from memory.store import Store

Floats = NDArray[np.float64]

METHOD = "bradley-terry-2"
"""Names the method and its features; it changes whenever the same data would give another model."""

HELD_OUT = 0.2
LEAST_PAIRS, LEAST_TASKS = 30, 20
"""With fewer held-out pairs, or pairs from fewer tasks, nothing can be shown."""

PULLS = (1000.0, 100.0, 30.0, 10.0, 3.0, 1.0)
"""L2 strengths to choose from, the plainest model first."""

PRIOR_SCALE = 10.0
"""Multiplies the prior's column, so that the pull hardly touches its weight."""

MOST = 5000
BANDS = 2
"""Weights count as equal while they are in the same of so many steps from the greatest to its half, and so on."""

_BINS = 5
_Z = 1.959964


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutResult:
    """What a model predicts of pairs judged after everything it was trained on.

    `gain` is by how much its `log_loss` (nats a pair) is below the prior's, with a 95 % interval. A tie counts half in
    `accuracy`. `refusal` says why the model may not rank; it is empty where it may.
    """

    pairs: int
    tasks: int
    accuracy: float
    prior_accuracy: float
    gain: float
    low: float
    high: float
    log_loss: float
    prior_log_loss: float
    brier: float
    calibration_error: float
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceModel:
    """The weights of the prior's log-odds and of each feature, and how they were found. `id` depends on data and method."""

    id: str
    kind: TaskKind
    prior: float
    weights: Mapping[str, float]
    l2: float
    evaluation: HeldOutResult
    trained_on: int
    teachers: int
    repositories: tuple[str, ...]
    created_at: datetime

    def strengths(self, options: Sequence[PreferenceOption]) -> list[float]:
        """The strength of each option; only differences mean something. Features unseen in training count nothing."""
        return [
            self.prior * o.prior_odds + sum(self.weights.get(name, 0.0) * value for name, value in o.features.items())
            for o in options
        ]

    def reaches(self, repository: str) -> bool:
        """Whether the model may rank here: feedback of one teacher alone ranks only where it was given."""
        return self.teachers > 1 or repository in self.repositories

    def to_json(self, *, active: bool) -> dict[str, object]:
        """Plain values that `json.dumps` takes."""
        document = asdict(self) | {"active": active, "created_at": self.created_at.isoformat()}
        return document | {"hyperparameters": {"l2": document.pop("l2")}}


def train(judged: Iterable[JudgedOption], *, kind: TaskKind, now: datetime) -> PreferenceModel:
    """A model of one kind: the pull is chosen on the last fifth of the earlier time, the result is of the later time."""
    known = within_quota(each for each in judged if each.kind is kind)
    earlier, later = split(known)
    first, second = map(pairs, split(earlier))
    data, asked = pairs(earlier), pairs(later)
    names = sorted({name for each in earlier for name in each.option.features})
    l2 = _choose(first, second, names)
    prior, *weights = _fit(data, names, l2)
    alone = _fit(data, (), 1.0)
    digest = hashlib.sha256(json.dumps([METHOD, kind, l2]).encode())
    for each in known:
        seen = [each.decision_id, each.task_id, each.verdict, str(each.known_at), asdict(each.option)]
        digest.update(json.dumps(seen, sort_keys=True).encode())
    return PreferenceModel(
        id=digest.hexdigest()[:16],
        kind=kind,
        prior=prior,
        weights=dict(zip(names, weights, strict=True)),
        l2=l2,
        evaluation=evaluate(asked, _rows(asked, names) @ [prior, *weights], _rows(asked, ()) @ alone),
        trained_on=len(data),
        teachers=len({each.teacher for pair in data for each in (pair.better, pair.worse)}),
        repositories=tuple(sorted({each.repository for pair in data for each in (pair.better, pair.worse)})),
        created_at=now,
    )


def split(judged: Sequence[JudgedOption]) -> tuple[list[JudgedOption], list[JudgedOption]]:
    """The earlier part and the later one; a task is in one of them as a whole, where its last verdict is."""
    ended: dict[str, datetime] = {}
    for each in judged:
        ended[each.task_id] = max(each.known_at, ended.get(each.task_id, each.known_at))
    ordered = sorted(ended, key=lambda task: (ended[task], task))
    late = set(ordered[len(ordered) - round(len(ordered) * HELD_OUT) :])
    return [j for j in judged if j.task_id not in late], [j for j in judged if j.task_id in late]


def _rows(found: Sequence[PreferencePair], names: Sequence[str]) -> Floats:
    """Better less worse: the prior's log-odds, then the features."""
    rows = [
        [o.prior_odds, *(o.features.get(name, 0.0) for name in names)]
        for pair in found
        for o in (pair.better.option, pair.worse.option)
    ]
    sides = np.array(rows, dtype=np.float64).reshape(len(found), 2, 1 + len(names))
    return np.asarray(sides[:, 0] - sides[:, 1])


def _fit(found: Sequence[PreferencePair], names: Sequence[str], l2: float) -> list[float]:
    """The weight of the prior, 1 without pairs, and of each feature."""
    from sklearn.linear_model import LogisticRegression  # slow to import, and seldom needed

    if not found:
        return [1.0] + [0.0] * len(names)
    scale = np.array([PRIOR_SCALE] + [1.0] * len(names))
    rows, weight = _rows(found, names) * scale, np.array([pair.weight for pair in found]) / 2.0
    model = LogisticRegression(C=1.0 / l2, fit_intercept=False, tol=1e-8, max_iter=1000)
    both, labels = np.vstack([rows, -rows]), np.repeat([1, 0], len(found))
    fitted = model.fit(both, labels, sample_weight=np.concatenate([weight, weight]))
    return [float(each) for each in fitted.coef_[0] * scale]


def _choose(first: Sequence[PreferencePair], second: Sequence[PreferencePair], names: Sequence[str]) -> float:
    """The plainest pull whose loss on later pairs is within one standard error of the least (Breiman et al. 1984)."""
    if not first or not second:
        return PULLS[0]
    weights, rows = np.array([pair.weight for pair in second]), _rows(second, names)
    losses = [np.logaddexp(0.0, -(rows @ _fit(first, names, l2))) for l2 in PULLS]
    best = min(losses, key=lambda loss: float(np.average(loss, weights=weights)))
    worse = [loss - best for loss in losses]
    near = [np.average(gap, weights=weights) <= gap.std() / len(gap) ** 0.5 for gap in worse]
    return PULLS[near.index(True)]


def evaluate(found: Sequence[PreferencePair], model: Floats, prior: Floats) -> HeldOutResult:
    """Compare the margins, better over worse, that a model and the prior give to held-out pairs.

    The gate is the log loss; the share in the right order may not fall either.
    """
    tasks = {task for pair in found for task in (pair.better.task_id, pair.worse.task_id)}
    few = len(found) < LEAST_PAIRS or len(tasks) < LEAST_TASKS
    weights = np.array([pair.weight for pair in found])
    losses = [np.logaddexp(0.0, -margin) for margin in (model, prior)]
    right = [(np.sign(margin) + 1.0) / 2.0 for margin in (model, prior)]

    def mean(values: Floats) -> float:
        return float(np.average(values, weights=weights)) if found else 0.0

    gain = mean(losses[1] - losses[0])
    half = _half_width(found, weights * (losses[1] - losses[0] - gain)) if found else 1.0
    better = gain - half > 0.0 and mean(right[0]) >= mean(right[1])
    too_few = (
        f"too little to tell: {len(found)} held-out pairs of {len(tasks)} tasks, "
        f"at least {LEAST_PAIRS} of {LEAST_TASKS} are needed"
    )
    return HeldOutResult(
        pairs=len(found),
        tasks=len(tasks),
        accuracy=mean(right[0]),
        prior_accuracy=mean(right[1]),
        gain=gain,
        low=gain - half,
        high=gain + half,
        log_loss=mean(losses[0]),
        prior_log_loss=mean(losses[1]),
        brier=mean((1.0 - np.exp(-losses[0])) ** 2),
        calibration_error=calibration_error(model, weights) if found else 0.0,
        refusal=too_few if few else "" if better else "not shown to be better than the prior",
    )


def calibration_error(margin: Floats, weights: Floats) -> float:
    """The expected calibration error (Naeini et al. 2015) of the favourite's chance, over bins of [0.5, 1]."""
    chance, right = 1.0 / (1.0 + np.exp(-np.abs(margin))), (np.sign(margin) + 1.0) / 2.0
    bins = np.minimum(((chance - 0.5) * 2 * _BINS).astype(int), _BINS - 1)
    gaps = (abs(float(weights[bins == n] @ (right - chance)[bins == n])) for n in range(_BINS))
    return sum(gaps) / float(weights.sum())


def _half_width(found: Sequence[PreferencePair], errors: Floats) -> float:
    """Half the 95 % interval of a weighted mean over pairs that share tasks, from their weighted errors.

    Errors count together wherever two pairs have a task in common (Aronow, Samii and Assenova 2015, "Cluster-robust
    variance estimation for dyadic data"): summed by task, less what two tasks in common would count twice.
    """
    by_task: defaultdict[str, float] = defaultdict(float)
    by_both: defaultdict[frozenset[str], float] = defaultdict(float)
    for pair, error in zip(found, errors.tolist(), strict=True):
        tasks = frozenset((pair.better.task_id, pair.worse.task_id))
        for task in tasks:
            by_task[task] += error
        if len(tasks) > 1:
            by_both[tasks] += error
    together = sum(e**2 for e in by_task.values()) - sum(e**2 for e in by_both.values())
    variance = max(together, float(errors @ errors)) * len(by_task) / max(len(by_task) - 1, 1)
    return _Z * sqrt(variance) / sum(pair.weight for pair in found)


# ── In use ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def preference_model(store: Store, kind: TaskKind, repository: str) -> PreferenceModel | None:
    """The model that ranks in this repository; None when none is in use, or none that reaches it."""
    model_id = store.models_in_use.get(kind, str)
    model = store.models.get(model_id, PreferenceModel) if model_id else None
    return model if model is not None and model.reaches(repository) else None


def learn_preferences(store: Store, kind: TaskKind, now: datetime) -> PreferenceModel:
    """Train on all feedback so far, evaluate, and keep the model. That does not put it in use."""
    model = train(judged_options(store, kind), kind=kind, now=now)
    store.models.add(model.id, model, owner=kind, now=now)
    return model


def activate(store: Store, model_id: str) -> PreferenceModel:
    """Put a model in use; raises StoreError for one that is not there or not shown to be better than the prior."""
    model = store.models.get(model_id, PreferenceModel)
    if model is None:
        raise StoreError(f"no reward model {model_id}; `apprentice preferences` lists them")
    if model.evaluation.refusal:
        raise StoreError(f"reward model {model_id} may not be used: {model.evaluation.refusal}")
    store.models_in_use.put(model.kind, model_id)
    return model


def known_models(store: Store) -> list[tuple[PreferenceModel, bool]]:
    """Every model, newest first, and whether it is in use: of each kind at most one."""
    in_use = set(store.models_in_use.all(str))
    found = store.models.of_several(list(TaskKind), PreferenceModel)
    return [(model, key in in_use) for key, model in reversed(found.items())]


def judged_options(store: Store, kind: TaskKind) -> list[JudgedOption]:
    """The last decisions with feedback that counts, control arm included."""
    decisions = {d.id: d for d in store.ledger.with_feedback(kind, limit=MOST)}
    signals: defaultdict[str, list[Signal]] = defaultdict(list)
    for signal in store.ledger.live_signals(list(decisions)):
        signals[signal.decision_id].append(signal)
    judged = [d for d in decisions.values() if verdict(signals[d.id])]
    options = _findings(store, judged) if kind is TaskKind.REVIEW else _patches(store, judged)
    return [
        JudgedOption(
            decision_id=decision.id,
            task_id=decision.task_id,
            kind=decision.state.kind,
            repository=decision.state.repository,
            label=decision.state.label,
            teacher=teacher(signals[decision.id]),
            known_at=max(signal.created_at for signal in signals[decision.id]),
            verdict=verdict(signals[decision.id]),
            option=options[decision.id],
        )
        for decision in judged
        if decision.id in options
    ]


def _findings(store: Store, decisions: Sequence[Decision]) -> dict[str, PreferenceOption]:
    seen = store.posts.sightings_of([decision.id for decision in decisions])
    return {found: option_of_finding(sighting.finding) for found, sighting in seen.items()}


def _patches(store: Store, decisions: Sequence[Decision]) -> dict[str, PreferenceOption]:
    tasks = (store.tasks.get(task_id) for task_id in dict.fromkeys(decision.task_id for decision in decisions))
    attempts = (attempt for stored in tasks if stored for attempt in stored.task.attempts)
    return {each.decision_id: option_of_attempt(each) for each in attempts if each.proof is not None}


def rank(*, proven: Sequence[bool], weights: Sequence[float], strengths: Sequence[float]) -> list[int]:
    """Positions, best first: what is proven, then by weight, and of about equal weights the preferred."""
    keys, most = zip(proven, weights, strengths, strict=True), max(weights, default=0.0)
    order = [(not sure, _band(weight, most), -strength, place) for place, (sure, weight, strength) in enumerate(keys)]
    return [place for *_, place in sorted(order)]


def _band(weight: float, most: float) -> float:
    return floor(BANDS * (log2(most) - log2(weight))) if weight > 0.0 else inf
