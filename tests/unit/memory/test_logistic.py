"""Logistic regression with a normal prior."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.logistic import Floats, fitted, sigmoid


def fit(rows: Floats, targets: Floats, pull: float = 11.0) -> Floats:
    size = len(rows)
    prior, offsets = np.zeros(rows.shape[1]), np.zeros(size)
    return fitted(rows, targets, np.ones(size), prior=prior, pull=pull, offsets=offsets)


def test_fitting_finds_the_truth() -> None:
    """With many rows the weights are found; with none they are the prior."""
    rng = np.random.default_rng(1)
    truth = np.array([-1.0, 2.0, -1.0])
    rows = np.column_stack([np.ones(4000), rng.normal(size=(4000, 2))])
    targets = (rng.random(4000) < sigmoid(rows @ truth)).astype(np.float64)
    assert fit(rows, targets, pull=0.01) == pytest.approx(truth, abs=0.2)
    assert fit(rows[:0], targets[:0]).tolist() == [0.0, 0.0, 0.0]


def test_offsets_are_log_odds_that_are_known() -> None:
    """What the offsets tell already is not told again by the weights."""
    rng = np.random.default_rng(2)
    rows, offsets = np.ones((4000, 1)), np.full(4000, 1.5)
    targets = (rng.random(4000) < sigmoid(offsets)).astype(np.float64)
    found = fitted(rows, targets, np.ones(4000), prior=np.zeros(1), pull=0.01, offsets=offsets)
    assert found == pytest.approx([0.0], abs=0.1)


@given(st.integers(0, 2**32 - 1))
def test_fitting_never_runs_away(seed: int) -> None:
    """Rows that can be told apart exactly, and large ones, still give finite weights near the prior's scale."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([np.ones(60), rng.normal(scale=30.0, size=(60, 3))])
    assert np.abs(fit(rows, (rows[:, 1] > 0).astype(np.float64))).max() < 50.0


def test_a_chance_never_overflows() -> None:
    """Log-odds beyond what an exponential can hold are sure things."""
    assert sigmoid(np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]
