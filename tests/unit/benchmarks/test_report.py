"""Intervals and tables of the benchmarks."""

from __future__ import annotations

import pytest

from benchmarks.repair import Outcome, paired, verdict
from benchmarks.report import Interval, bootstrap, median_of_rows, show, spread


def test_bootstrap_holds_the_estimate() -> None:
    """The interval of a median lies around it, and is a point for equal values."""
    interval = bootstrap([1.0, 2.0, 3.0, 4.0, 50.0], median_of_rows)
    assert interval.low <= interval.estimate == 3.0 <= interval.high
    assert bootstrap([2.0] * 5, median_of_rows) == Interval(estimate=2.0, low=2.0, high=2.0)


def outcome(candidates: int, *, fixed: bool = True) -> Outcome:
    return Outcome(fixed=fixed, exact=False, candidates=candidates, seconds=1.0)


def test_pairs_are_bugs_fixed_both_times() -> None:
    """A bug that was fixed only once is no pair; repeats of a bug count as one."""
    colds = [outcome(10), outcome(10), outcome(10), outcome(10, fixed=False)] * 2
    warms = [outcome(5), outcome(5), outcome(5, fixed=False), outcome(5)] * 2
    pair = paired(colds, warms, 4)
    assert pair is not None
    interval, count = pair
    assert (round(interval.estimate, 6), count) == (0.5, 2)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.5, 0.9, "memory saves"), (0.5, 1.2, "no effect of memory shown"), (1.1, 1.9, "memory costs")],
)
def test_a_null_result_is_said(low: float, high: float, said: str) -> None:
    """An interval that holds 1 shows nothing, and says so."""
    assert said in verdict((Interval(estimate=(low + high) / 2, low=low, high=high), 9))


def test_the_table_names_the_commit(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever quotes a figure can say where it comes from."""
    show("title", [("name", "value")])
    assert "commit " in capsys.readouterr().out


def test_spread() -> None:
    """Several runs are told by their median, their number and their range."""
    assert spread([1.0, 3.0, 2.0]) == "2.00 (median of 3; 1.00 to 3.00)"
