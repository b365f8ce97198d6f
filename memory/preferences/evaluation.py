"""Whether a reward model may be used: what it foretells of a later time, against the prior. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from memory.logistic import sigmoid
from memory.preferences.judged import Pair
from memory.preferences.reward import Floats, log_loss

LEAST_PAIRS, LEAST_TASKS = 30, 20
"""With fewer held-out pairs, or pairs from fewer tasks, an interval says nothing."""

BINS = 5
_Z = 1.959964


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a model foretold of pairs that were judged after everything it was trained on.

    `accuracy` is the share of pairs in the right order, a tie counting a half. `log_loss` is in nats a pair; `gain` is how
    much less that is than the prior's, from `low` to `high` with 95 %. `calibration_error` is the expected one (ECE).
    `refusal` says why the model may not be used, empty when it may.
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


def evaluate(pairs: Sequence[Pair], model: Floats, prior: Floats) -> Evaluation:
    """Compare the margins, better over worse, that a model and the prior give to held-out pairs, each calibrated.

    The gate is the log loss, which few pairs tell more about than the share in the right order; that may not fall either.
    """
    tasks = {task for pair in pairs for task in (pair.better.task_id, pair.worse.task_id)}
    if not pairs:
        return _nothing()
    weights = np.array([pair.weight for pair in pairs])
    right, expected = _right(model), _right(prior)
    saved = np.logaddexp(0.0, -prior) - np.logaddexp(0.0, -model)
    low, high = _interval(pairs, weights, saved)
    chance = sigmoid(model)
    accuracy, prior_accuracy = (float(np.average(each, weights=weights)) for each in (right, expected))
    return Evaluation(
        pairs=len(pairs),
        tasks=len(tasks),
        accuracy=accuracy,
        prior_accuracy=prior_accuracy,
        gain=float(np.average(saved, weights=weights)),
        low=low,
        high=high,
        log_loss=log_loss(model, weights),
        prior_log_loss=log_loss(prior, weights),
        brier=float(np.average((1.0 - chance) ** 2, weights=weights)),
        calibration_error=calibration_error(model, weights),
        refusal=_refusal(len(pairs), len(tasks), better=low > 0.0 and accuracy >= prior_accuracy),
    )


def calibration_error(margin: Floats, weights: Floats) -> float:
    """The expected calibration error (Naeini et al. 2015) of the favourite's chance, over `BINS` of [0.5, 1]."""
    chance, right = sigmoid(np.abs(margin)), _right(margin)
    bins = np.minimum(((chance - 0.5) * 2 * BINS).astype(int), BINS - 1)
    gaps = (abs(float(weights[bins == n] @ (right - chance)[bins == n])) for n in range(BINS))
    return sum(gaps) / float(weights.sum())


def _right(margin: Floats) -> Floats:
    return (np.sign(margin) + 1.0) / 2.0


def _interval(pairs: Sequence[Pair], weights: Floats, values: Floats) -> tuple[float, float]:
    """The 95 % interval of a weighted mean over pairs that are not independent, as they share tasks.

    Errors count together wherever two pairs have a task in common (Aronow, Samii and Assenova 2015, "Cluster-robust
    variance estimation for dyadic data"): summed by task, less what two tasks in common would count twice.
    """
    mean = float(np.average(values, weights=weights))
    errors = weights * (values - mean)
    by_task: Counter[str] = Counter()
    by_both: Counter[frozenset[str]] = Counter()
    for pair, error in zip(pairs, errors.tolist(), strict=True):
        tasks = frozenset((pair.better.task_id, pair.worse.task_id))
        by_task.update(dict.fromkeys(tasks, error))
        if len(tasks) > 1:
            by_both[tasks] += error
    together = sum(e**2 for e in by_task.values()) - sum(e**2 for e in by_both.values())
    variance = max(together, float(errors @ errors)) * len(by_task) / max(len(by_task) - 1, 1)
    half = _Z * sqrt(variance) / float(weights.sum())
    return mean - half, mean + half


def _refusal(pairs: int, tasks: int, *, better: bool) -> str:
    if pairs < LEAST_PAIRS or tasks < LEAST_TASKS:
        return (
            f"too little to tell: {pairs} held-out pairs of {tasks} tasks, "
            f"at least {LEAST_PAIRS} of {LEAST_TASKS} are needed"
        )
    return "" if better else "not shown to be better than the prior"


def _nothing() -> Evaluation:
    return Evaluation(
        pairs=0, tasks=0, accuracy=0.5, prior_accuracy=0.5, gain=0.0, low=-1.0, high=1.0, log_loss=float(np.log(2)),
        prior_log_loss=float(np.log(2)), brier=0.25, calibration_error=0.0, refusal=_refusal(0, 0, better=False),
    )  # fmt: skip
