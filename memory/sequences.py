"""Intervals that stay valid however often they are looked at. Pure.

An ordinary 95 % interval that is looked at after every task misses the truth sooner or later almost surely. These are
asymptotic confidence sequences: over all looks together, from the first one on that has enough data, they miss it with
a chance of about alpha (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, Time-uniform central limit theory).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

TIGHTEST_AT = 500
"""The number of tasks at which the sequence is tightest; elsewhere it is a little wider, and as valid."""

LEAST = 20
"""So many values, and so many of each arm, before anything is said: the guarantee is for large samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A mean with its always-valid interval, over `n` values."""

    mean: float
    low: float
    high: float
    n: int


def band(values: Numbers, *, alpha: float = 0.05) -> Band | None:
    """The mean of `values` and its interval at this look, valid at all looks at once; None with fewer than `LEAST`.

    The mixture boundary of the source's theorem 2.2, with rho chosen for `TIGHTEST_AT` as in its appendix.
    """
    return _band(values, alpha, lambda growth: log(growth / alpha))


def sides(values: Numbers, *, alpha: float) -> Band | None:
    """The same where one side alone matters: each end misses the mean with a chance of `alpha` (the one-sided boundary)."""
    return _band(values, alpha, lambda growth: log(1.0 + growth / (2.0 * alpha)))


def _band(values: Numbers, alpha: float, crossing: Callable[[float], float]) -> Band | None:
    n = len(values)
    if n < LEAST:
        return None
    rho = (-2.0 * log(alpha) + log(-2.0 * log(alpha)) + 1.0) / TIGHTEST_AT  # rho squared
    spread = float(values.std(ddof=1))
    half = spread * sqrt(2.0 * (n * rho + 1.0) / (n * n * rho) * crossing(sqrt(n * rho + 1.0)))
    mean = float(values.mean())
    return Band(mean=mean, low=mean - half, high=mean + half, n=n)


def arm_difference(treated: NDArray[np.bool_], outcomes: Numbers) -> Numbers:
    """One number a task whose mean estimates the mean outcome of the treated minus that of the others.

    Augmented inverse propensity weighting (Robins, Rotnitzky and Zhao 1994) with the share observed and, as predictions,
    the running means of the tasks before: tasks stand in the order they came in. Empty unless both arms have `LEAST`.
    """
    n, share = len(treated), float(treated.mean()) if len(treated) else 0.0
    if min(share, 1.0 - share) * n < LEAST:
        return np.zeros(0)
    expected = [_mean_before(outcomes, arm) for arm in (treated, ~treated)]
    ours, theirs = outcomes - expected[0], outcomes - expected[1]
    weighted: Numbers = np.where(treated, ours / share, -theirs / (1.0 - share))
    return expected[0] - expected[1] + weighted


def _mean_before(outcomes: Numbers, arm: NDArray[np.bool_]) -> Numbers:
    """Before each task, the mean outcome of its arm so far, from a half that counts as one task."""
    total = np.cumsum(np.where(arm, outcomes, 0.0)) - np.where(arm, outcomes, 0.0)
    count: Numbers = np.cumsum(arm).astype(np.float64) - arm
    return np.asarray((total + 0.5) / (count + 1.0), dtype=np.float64)
