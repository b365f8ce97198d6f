"""Order what is otherwise equal. Tests decide first: nothing that people like goes before what is proven. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf, log2

BANDS = 2
"""Weights count as equal within such a fraction of a doubling."""


def rank(*, proven: Sequence[bool], weights: Sequence[float], strengths: Sequence[float]) -> list[int]:
    """Positions, best first: what is proven before what is not, then by weight, and of about equal weights the liked first.

    All three stand in the order of what is ranked, which decides where nothing else does.
    """
    keys = zip(proven, weights, strengths, strict=True)
    order = [(not sure, -_band(weight), -strength, place) for place, (sure, weight, strength) in enumerate(keys)]
    return [place for *_, place in sorted(order)]


def _band(weight: float) -> float:
    return floor(BANDS * log2(weight)) if weight > 0.0 else -inf
