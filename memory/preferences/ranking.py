"""Order what is otherwise equal. Tests decide first: nothing that people like goes before what is proven. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf, log2

BANDS = 2
"""Weights count as equal while they are in the same of so many steps from the greatest to its half, and so on."""


def rank(*, proven: Sequence[bool], weights: Sequence[float], strengths: Sequence[float]) -> list[int]:
    """Positions, best first: what is proven before what is not, then by weight, and of about equal weights the liked first.

    All three stand in the order of what is ranked, which decides where nothing else does.
    """
    keys, most = zip(proven, weights, strengths, strict=True), max(weights, default=0.0)
    order = [(not sure, _band(weight, most), -strength, place) for place, (sure, weight, strength) in enumerate(keys)]
    return [place for *_, place in sorted(order)]


def _band(weight: float, most: float) -> float:
    return floor(BANDS * (log2(most) - log2(weight))) if weight > 0.0 else inf
