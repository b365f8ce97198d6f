"""Intervals that may be looked at as often as one likes."""

from __future__ import annotations

import numpy as np
import pytest

from memory.evaluation.control_arm import arm_difference
from memory.intervals import LEAST, confidence_sequence


def test_little_data_says_nothing() -> None:
    """Below the least number of values, or of either arm's, there is no interval."""
    assert confidence_sequence(np.zeros(LEAST - 1)) is None
    treated = np.arange(100) < LEAST - 1
    assert arm_difference(treated, np.zeros(100)).size == 0
    assert arm_difference(np.zeros(0, dtype=np.bool_), np.zeros(0)).size == 0


def test_looking_often_misses_the_truth_seldom() -> None:
    """Over 300 streams looked at after every value from the 20th to the 600th, at most 5 % ever miss the mean."""
    rng = np.random.default_rng(5)
    missed = 0
    for _ in range(300):
        values = rng.normal(size=600)
        found = [confidence_sequence(values[:n]) for n in range(LEAST, 600, 5)]
        missed += any(each is not None and not each.low <= 0.0 <= each.high for each in found)
    assert missed <= 15


def test_an_ordinary_interval_would_not_do() -> None:
    """The sequence is wider than the interval of one look, by less than three times."""
    values = np.random.default_rng(1).normal(size=400)
    found = confidence_sequence(values)
    assert found is not None
    assert 1.2 < (found.high - found.low) / (2 * 1.96 * values.std() / 20) < 3.0


def test_the_interval_narrows() -> None:
    """With more data it closes in on the mean."""
    values = np.random.default_rng(2).normal(size=4000)
    widths = [found.high - found.low for n in (50, 200, 1000, 4000) if (found := confidence_sequence(values[:n]))]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.2


def test_one_side_alone_is_a_little_tighter() -> None:
    """At the same chance for that side alone, and it too misses seldom however often it is looked at."""
    rng = np.random.default_rng(6)
    values = rng.normal(size=400)
    both, one = confidence_sequence(values, alpha=0.05), confidence_sequence(values, alpha=0.05, two_sided=False)
    assert both is not None and one is not None
    assert both.low < one.low < one.high < both.high
    missed = 0
    for _ in range(300):
        stream = rng.normal(size=600)
        found = [confidence_sequence(stream[:n], two_sided=False) for n in range(LEAST, 600, 5)]
        missed += any(each is not None and each.high < 0.0 for each in found)
    assert missed <= 15


@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_arms_are_compared_without_bias(gap: float) -> None:
    """With one control task in ten the mean of the numbers is the difference of the arms."""
    rng = np.random.default_rng(3)
    treated = rng.random(20_000) < 0.9
    outcomes = (rng.random(20_000) < np.where(treated, 0.4 + gap, 0.4)).astype(np.float64)
    assert arm_difference(treated, outcomes).mean() == pytest.approx(gap, abs=0.03)
