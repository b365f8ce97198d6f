"""Proportions: intervals and exact tests, against published figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.intervals import more_often, wilson


@given(st.integers(0, 200), st.integers(0, 200))
def test_wilson_holds_the_proportion(successes: int, more: int) -> None:
    """The interval lies within [0, 1] and holds what was seen."""
    low, high = wilson(successes, successes + more)
    assert 0.0 <= low <= high <= 1.0
    if successes + more:
        assert low - 1e-9 <= successes / (successes + more) <= high + 1e-9


def test_wilson_knows_how_little_three_rejections_tell() -> None:
    """0 accepted of 3 leaves an upper bound of 56 %."""
    assert wilson(0, 3)[1] == pytest.approx(0.56, abs=0.005)


def test_fisher_and_the_lady_tasting_tea() -> None:
    """All four of four cups right by chance: 1 in 70; three of four or more: 17 in 70 (Fisher 1935)."""
    assert more_often(4, 4, 0, 4) == pytest.approx(1 / 70)
    assert more_often(3, 4, 1, 4) == pytest.approx(17 / 70)
