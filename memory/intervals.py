"""Intervals and tests of proportions, from their papers. Pure."""

from __future__ import annotations

from math import exp, lgamma, sqrt

import numpy as np
from numpy.typing import NDArray

Z = 1.959964
"""The normal quantile of a 95 % interval."""


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """The 95 % interval of a proportion (Wilson 1927); the whole of [0, 1] without trials."""
    if trials <= 0:
        return 0.0, 1.0
    share, z2 = successes / trials, Z**2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z / (1 + z2 / trials) * sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def overlap_chances(drawn: int, marked: int, total: int) -> NDArray[np.float64]:
    """The chances of 0, 1, … marked ones among `drawn` of `total`, `marked` of which are: the hypergeometric distribution."""
    whole, least = _log_choose(total, drawn), max(0, drawn + marked - total)
    chances = np.zeros(min(drawn, marked) + 1)
    for k in range(least, len(chances)):
        chances[k] = exp(_log_choose(marked, k) + _log_choose(total - marked, drawn - k) - whole)
    return chances


def more_often(ours: int, of_ours: int, theirs: int, of_theirs: int) -> float:
    """The one-sided p-value of `ours` of `of_ours` against `theirs` of `of_theirs`: Fisher's exact test (1935)."""
    chances = overlap_chances(of_ours, ours + theirs, of_ours + of_theirs)
    return float(min(1.0, chances[ours:].sum()))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
