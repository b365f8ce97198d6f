"""Intervals and tests: of proportions, and confidence sequences that stay valid however often they are looked at. Pure.

An ordinary 95 % interval that is looked at after every task misses the truth sooner or later almost surely. A confidence
sequence misses it, over all looks together, with a chance of about alpha (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas
2024, Time-uniform central limit theory).
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

Z = 1.959964
"""The normal quantile of a 95 % interval."""

TIGHTEST_AT = 500
"""The number of tasks at which the sequence is tightest."""

LEAST = 20
"""The fewest values, and of each arm, that a sequence speaks of: the guarantee is for large samples."""


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """The 95 % interval of a proportion (Wilson 1927); trials may be fractional. All of [0, 1] without trials."""
    if trials <= 0:
        return 0.0, 1.0
    share, z2 = successes / trials, Z**2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z / (1 + z2 / trials) * sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def effective(weights: Numbers) -> float:
    """How many equally weighted observations these are worth: (sum w)^2 / sum w^2 (Kish 1965)."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def more_often(ours: int, of_ours: int, theirs: int, of_theirs: int) -> float:
    """The one-sided p-value of `ours` of `of_ours` against `theirs` of `of_theirs`: Fisher's exact test (1935)."""
    from scipy.stats import fisher_exact  # slow to import, and seldom needed

    table = [[ours, of_ours - ours], [theirs, of_theirs - theirs]]
    return float(fisher_exact(table, alternative="greater").pvalue)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSequence:
    """A mean with its always-valid interval, over `n` values."""

    mean: float
    low: float
    high: float
    n: int


def confidence_sequence(values: Numbers, *, alpha: float = 0.05, two_sided: bool = True) -> ConfidenceSequence | None:
    """The mean of `values` and its interval at this look, valid at all looks at once; None with fewer than `LEAST`.

    The mixture boundary of the source's theorem 2.2, with rho chosen for `TIGHTEST_AT` as in its appendix. Where one side
    alone matters, each end misses the mean with a chance of `alpha`.
    """
    n = len(values)
    if n < LEAST:
        return None
    rho = (-2.0 * log(alpha) + log(-2.0 * log(alpha)) + 1.0) / TIGHTEST_AT  # rho squared
    growth = sqrt(n * rho + 1.0)
    crossing = log(growth / alpha) if two_sided else log(1.0 + growth / (2.0 * alpha))
    half = float(values.std(ddof=1)) * sqrt(2.0 * (n * rho + 1.0) / (n * n * rho) * crossing)
    mean = float(values.mean())
    return ConfidenceSequence(mean=mean, low=mean - half, high=mean + half, n=n)
