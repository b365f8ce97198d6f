"""Whether a reward model may be used: what it foretells of a later time, against the prior. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.preferences.judged import Pair
from memory.preferences.reward import Floats, log_loss, sigmoid

LEAST_PAIRS, LEAST_TASKS = 30, 20
"""With fewer held-out pairs, or pairs from fewer tasks, an interval says nothing."""

RESAMPLES = 2000
BINS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a model foretold of pairs that were judged after everything it was trained on.

    `accuracy` is the share of pairs in the right order, a tie counting a half; `gain` how much more that is than the
    prior's, from `low` to `high` with 95 %. `log_loss` is in nats; `calibration_error` is the expected one (ECE).
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
    """Compare the margins, better over worse, that a model and the prior give to held-out pairs."""
    tasks = {task for pair in pairs for task in (pair.better.task_id, pair.worse.task_id)}
    if not pairs:
        return _nothing()
    weights = np.array([pair.weight for pair in pairs])
    right, expected = _right(model), _right(prior)
    low, high = _interval(pairs, weights, right - expected)
    chance = sigmoid(model)
    gain = float(np.average(right - expected, weights=weights))
    return Evaluation(
        pairs=len(pairs),
        tasks=len(tasks),
        accuracy=float(np.average(right, weights=weights)),
        prior_accuracy=float(np.average(expected, weights=weights)),
        gain=gain,
        low=low,
        high=high,
        log_loss=log_loss(model, weights),
        prior_log_loss=log_loss(prior, weights),
        brier=float(np.average((1.0 - chance) ** 2, weights=weights)),
        calibration_error=calibration_error(model, weights),
        refusal=_refusal(len(pairs), len(tasks), low),
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
    """The 95 % percentile interval of a weighted mean over pairs, drawing tasks and not pairs: these share findings.

    A pair is in a draw as often as both of its tasks are, multiplied.
    """
    ids = sorted({task for pair in pairs for task in (pair.better.task_id, pair.worse.task_id)})
    place = {task: number for number, task in enumerate(ids)}
    better = np.array([place[pair.better.task_id] for pair in pairs])
    worse = np.array([place[pair.worse.task_id] for pair in pairs])
    counts = np.random.default_rng(0).multinomial(len(ids), [1.0 / len(ids)] * len(ids), size=RESAMPLES)
    drawn = counts[:, better] * np.where(better == worse, 1, counts[:, worse]) * weights
    total = drawn.sum(axis=1)
    means = (drawn @ values)[total > 0] / total[total > 0]
    low, high = np.percentile(means, [2.5, 97.5]).tolist()
    return low, high


def _refusal(pairs: int, tasks: int, low: float) -> str:
    if pairs < LEAST_PAIRS or tasks < LEAST_TASKS:
        return (
            f"too little to tell: {pairs} held-out pairs of {tasks} tasks, "
            f"at least {LEAST_PAIRS} of {LEAST_TASKS} are needed"
        )
    return "" if low > 0.0 else "not shown to be better than the prior"


def _nothing() -> Evaluation:
    return Evaluation(
        pairs=0, tasks=0, accuracy=0.5, prior_accuracy=0.5, gain=0.0, low=-1.0, high=1.0, log_loss=float(np.log(2)),
        prior_log_loss=float(np.log(2)), brier=0.25, calibration_error=0.0, refusal=_refusal(0, 0, -1.0),
    )  # fmt: skip
