"""The training of a reward model: pairs of an accepted and a rejected option, scikit-learn's logistic regression on their
differences, with an L2 pull, and an evaluation on later choices.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from math import sqrt

import numpy as np

from memory.intervals import Numbers, Z
from memory.model import Signal, TaskKind
from memory.preferences.model import (
    HeldOutResult,
    PreferenceModel,
    PreferenceOption,
    option_of_finding,
    verdict,
)
from memory.rewards import support
from memory.store import Store

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
    judged = [d for d in decisions.values() if verdict(signals[d.id])]
    seen = store.posts.sightings_of([decision.id for decision in judged])
    return [
        JudgedOption(
            decision_id=decision.id,
            task_id=decision.task_id,
            repository=decision.state.repository,
            label=decision.state.label,
            teacher=teacher(signals[decision.id]),
            known_at=max(signal.created_at for signal in signals[decision.id]),
            verdict=verdict(signals[decision.id]),
            option=option_of_finding(seen[decision.id].finding),
        )
        for decision in judged
        if decision.id in seen
    ]
