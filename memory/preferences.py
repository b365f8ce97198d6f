"""What maintainers prefer: a reward model that says which of two findings they prefer, and its training.

A Bradley–Terry model (1952, "Rank analysis of incomplete block designs"): each option has a strength, and one is preferred
with the probability σ(difference of strengths). The strength is linear in the prior's log-odds and in named features.
It is trained on pairs of an accepted and a rejected option, by scikit-learn's logistic regression on their differences
with an L2 pull. A model ranks only after it predicts later, held-out choices better than the prior, and it orders equals
alone.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from math import log, log1p, sqrt

import numpy as np

from memory.errors import StoreError
from memory.history.lessons import path_class
from memory.intervals import Numbers, Z
from memory.model import Finding, Severity, Signal, TaskKind
from memory.policy.review_policy import prior_of
from memory.rewards import support
from memory.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceOption:
    """A finding as the model sees it: the expected chance of acceptance, and named numbers."""

    prior: float
    features: Mapping[str, float]

    @property
    def prior_odds(self) -> float:
        """The logarithm of the prior's odds."""
        return log(self.prior / (1.0 - self.prior))


def option_of_finding(finding: Finding) -> PreferenceOption:
    suggestion = finding.suggestion
    return PreferenceOption(
        prior=prior_of(finding, suggestion_proven=finding.proven),
        features={
            "severity": finding.severity.rank / (len(Severity) - 1),
            f"rule={finding.rule}": 1.0,
            f"category={finding.category}": 1.0,
            f"tool={finding.tool}": 1.0,
            f"path={path_class(finding.path)}": 1.0,
            "suggested": float(suggestion is not None),
            "proven": float(finding.proven),
            "size": log1p(len(suggestion.replacement.splitlines()) if suggestion else 0) / 3.0,
        },
    )


def net_support(signals: Iterable[Signal]) -> float:
    """The summed feedback on a decision, in [-1, 1]; 0 where none counts. Give signals that were not taken back."""
    return min(max(sum(map(support, signals)), -1.0), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutResult:
    """What a model predicts of pairs judged after everything it was trained on.

    `gain` is by how much its log loss (nats a pair) is below the prior's, with a 95 % interval. A tie counts half in
    `accuracy`. `refusal` says why the model may not rank; it is empty where it may.
    """

    pairs: int
    tasks: int
    accuracy: float
    prior_accuracy: float
    gain: float
    low: float
    high: float
    calibration_error: float
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceModel:
    """The weights of the prior's log-odds and of each feature, and how they were found. `id` depends on data and method."""

    id: str
    kind: TaskKind
    prior: float
    weights: Mapping[str, float]
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
        return asdict(self) | {"active": active, "created_at": self.created_at.isoformat()}


def preference_model(store: Store, repository: str) -> PreferenceModel | None:
    """The model that ranks in this repository; None when none is in use, or none that reaches it."""
    model_id = store.models_in_use.get(TaskKind.REVIEW, str)
    model = store.models.get(model_id, PreferenceModel) if model_id else None
    return model if model is not None and model.reaches(repository) else None


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
    """Every model, newest first, and whether it is in use: at most one."""
    in_use = store.models_in_use.get(TaskKind.REVIEW, str)
    found = store.models.of_several([TaskKind.REVIEW], PreferenceModel)
    return [(model, key == in_use) for key, model in reversed(found.items())]


# ── Training ───────────────────────────────────────────────────────────────────────────────────────────────────────

METHOD = "bradley-terry-3"
"""Names the method and its features; it changes whenever the same data would give another model."""

HELD_OUT = 0.2

MIN_PAIRS, MIN_TASKS = 30, 20
"""With fewer held-out pairs, or pairs from fewer tasks, nothing can be shown."""

L2 = 10.0
"""The strength of the pull to 0: about as many pairs must speak for a feature before it counts in full."""

PRIOR_SCALE = 10.0
"""Multiplies the prior's column, so that the pull hardly touches its weight."""

MOST = 5000

_BINS = 5

RIVALS = 3
"""A rejected option is compared with at most this many accepted ones of its rule, the nearest in time."""

QUOTA = 500
"""Only the last judged decisions of each repository count, so that none dominates the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedOption:
    """An option with its verdict in [-1, 1], not 0; `teacher` is the account behind most of it."""

    decision_id: str
    task_id: str
    repository: str
    label: str
    teacher: int
    known_at: datetime
    verdict: float
    option: PreferenceOption


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferencePair:
    """Two options, the accepted one and the rejected one. `weight` is above 0 and at most 1."""

    better: JudgedOption
    worse: JudgedOption
    weight: float


def teacher(signals: Iterable[Signal]) -> int:
    """The id of the account with the weightiest feedback; the lowest of equals. Raises ValueError without signals."""
    weight: defaultdict[int, float] = defaultdict(float)
    for signal in signals:
        weight[signal.actor.id] += abs(support(signal))
    return max(sorted(weight), key=weight.__getitem__)


def within_quota(judged: Iterable[JudgedOption]) -> list[JudgedOption]:
    """The last `QUOTA` of each repository, oldest first."""
    by_repository: defaultdict[str, list[JudgedOption]] = defaultdict(list)
    for each in sorted(judged, key=lambda one: (one.known_at, one.decision_id)):
        by_repository[each.repository].append(each)
    last = [each for group in by_repository.values() for each in group[-QUOTA:]]
    return sorted(last, key=lambda one: (one.known_at, one.decision_id))


def pairs(judged: Sequence[JudgedOption]) -> list[PreferencePair]:
    """Accepted over rejected, within a task, or within a rule of one repository; each pair once.

    A pair counts as much as the weaker of its verdicts.
    """
    found: dict[tuple[str, str], PreferencePair] = {}

    def compare(key: Callable[[JudgedOption], Hashable], most: int) -> None:
        groups: defaultdict[Hashable, list[JudgedOption]] = defaultdict(list)
        for each in judged:
            groups[key(each)].append(each)
        for group in groups.values():
            accepted = [each for each in group if each.verdict > 0.0]
            for worse in (each for each in group if each.verdict < 0.0):
                nearest = sorted(accepted, key=lambda one: (abs(one.known_at - worse.known_at), one.decision_id))
                for better in nearest[:most]:
                    weight = min(better.verdict, -worse.verdict)
                    pair = PreferencePair(better=better, worse=worse, weight=weight)
                    found[better.decision_id, worse.decision_id] = pair

    compare(lambda one: one.task_id, len(judged))
    compare(lambda one: (one.repository, one.label), RIVALS)
    return [found[key] for key in sorted(found)]


def train(judged: Iterable[JudgedOption], *, now: datetime) -> PreferenceModel:
    """A model of what was judged; the last fifth of the time is held out for its evaluation."""
    known = within_quota(judged)
    earlier, later = split(known)
    data, asked = pairs(earlier), pairs(later)
    names = sorted({name for each in earlier for name in each.option.features})
    prior, *weights = _fit(data, names, L2)
    alone = _fit(data, (), 1.0)
    digest = hashlib.sha256(json.dumps([METHOD, TaskKind.REVIEW, L2]).encode())
    for each in known:
        seen = [each.decision_id, each.task_id, each.verdict, str(each.known_at), asdict(each.option)]
        digest.update(json.dumps(seen, sort_keys=True).encode())
    return PreferenceModel(
        id=digest.hexdigest()[:16],
        kind=TaskKind.REVIEW,
        prior=prior,
        weights=dict(zip(names, weights, strict=True)),
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


def _rows(found: Sequence[PreferencePair], names: Sequence[str]) -> Numbers:
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


def evaluate(found: Sequence[PreferencePair], model: Numbers, prior: Numbers) -> HeldOutResult:
    """Compare the margins, better over worse, that a model and the prior give to held-out pairs.

    The gate is the log loss; the share in the right order may not fall either.
    """
    tasks = {task for pair in found for task in (pair.better.task_id, pair.worse.task_id)}
    few = len(found) < MIN_PAIRS or len(tasks) < MIN_TASKS
    weights = np.array([pair.weight for pair in found])
    losses = [np.logaddexp(0.0, -margin) for margin in (model, prior)]
    right = [(np.sign(margin) + 1.0) / 2.0 for margin in (model, prior)]

    def mean(values: Numbers) -> float:
        return float(np.average(values, weights=weights)) if found else 0.0

    gain = mean(losses[1] - losses[0])
    half = _half_width(found, weights * (losses[1] - losses[0] - gain)) if found else 1.0
    better = gain - half > 0.0 and mean(right[0]) >= mean(right[1])
    too_few = (
        f"too little to tell: {len(found)} held-out pairs of {len(tasks)} tasks, "
        f"at least {MIN_PAIRS} of {MIN_TASKS} are needed"
    )
    return HeldOutResult(
        pairs=len(found),
        tasks=len(tasks),
        accuracy=mean(right[0]),
        prior_accuracy=mean(right[1]),
        gain=gain,
        low=gain - half,
        high=gain + half,
        calibration_error=calibration_error(model, weights) if found else 0.0,
        refusal=too_few if few else "" if better else "not shown to be better than the prior",
    )


def calibration_error(margin: Numbers, weights: Numbers) -> float:
    """The expected calibration error (Naeini et al. 2015) of the favourite's chance, over bins of [0.5, 1]."""
    chance, right = 1.0 / (1.0 + np.exp(-np.abs(margin))), (np.sign(margin) + 1.0) / 2.0
    bins = np.minimum(((chance - 0.5) * 2 * _BINS).astype(int), _BINS - 1)
    gaps = (abs(float(weights[bins == n] @ (right - chance)[bins == n])) for n in range(_BINS))
    return sum(gaps) / float(weights.sum())


def _half_width(found: Sequence[PreferencePair], errors: Numbers) -> float:
    """Half the 95 % interval of a weighted mean over pairs that share tasks, from their weighted errors.

    Errors are summed by task. A pair of two tasks counts with both, so that the interval is rather too wide.
    """
    by_task: defaultdict[str, float] = defaultdict(float)
    for pair, error in zip(found, errors.tolist(), strict=True):
        for task in {pair.better.task_id, pair.worse.task_id}:
            by_task[task] += error
    variance = sum(error**2 for error in by_task.values()) * len(by_task) / max(len(by_task) - 1, 1)
    return Z * sqrt(variance) / sum(pair.weight for pair in found)


def learn_preferences(store: Store, now: datetime) -> PreferenceModel:
    """Train on all feedback so far, evaluate, and keep the model. That does not put it in use."""
    model = train(judged_options(store), now=now)
    store.models.add(model.id, model, owner=model.kind, now=now)
    return model


def judged_options(store: Store) -> list[JudgedOption]:
    """The last findings with feedback that counts, control arm included."""
    decisions = {d.id: d for d in store.ledger.with_feedback(TaskKind.REVIEW, limit=MOST)}
    signals = store.ledger.live_signals_of(list(decisions))
    judged = [d for d in decisions.values() if net_support(signals[d.id])]
    seen = store.posts.sightings_of([decision.id for decision in judged])
    return [
        JudgedOption(
            decision_id=decision.id,
            task_id=decision.task_id,
            repository=decision.state.repository,
            label=decision.state.label,
            teacher=teacher(signals[decision.id]),
            known_at=max(signal.created_at for signal in signals[decision.id]),
            verdict=net_support(signals[decision.id]),
            option=option_of_finding(seen[decision.id].finding),
        )
        for decision in judged
        if decision.id in seen
    ]
