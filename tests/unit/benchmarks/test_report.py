"""Intervals and tables of the benchmarks."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.report import Interval, Numbers, bootstrap, show, spread


def median_of_rows(samples: Numbers) -> Numbers:
    """One median a row."""
    return np.asarray(np.median(samples, axis=1), dtype=np.float64)


def test_bootstrap_holds_the_estimate() -> None:
    """The interval of a median lies around it, and is a point for equal values."""
    interval = bootstrap([1.0, 2.0, 3.0, 4.0, 50.0], median_of_rows)
    assert interval.low <= interval.estimate == 3.0 <= interval.high
    assert bootstrap([2.0] * 5, median_of_rows) == Interval(estimate=2.0, low=2.0, high=2.0)


def test_the_table_names_the_commit(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever quotes a figure can say where it comes from."""
    show("title", [("name", "value")])
    assert "commit " in capsys.readouterr().out


def test_spread() -> None:
    """Several runs are told by their median, their number and their range."""
    assert spread([1.0, 3.0, 2.0]) == "2.00 (median of 3; 1.00 to 3.00)"
