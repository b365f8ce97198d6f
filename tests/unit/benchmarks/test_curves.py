"""Repairs of past fixes in the order of time: what counts as right, and how ways are compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.repair.cases import Case, load_cases, write_case
from benchmarks.repair.curves import PRESENT_POLICY, Tried, by_case, compared, is_solution, lived
from benchmarks.report import ratio_of_sums

SUM = "def total(prices):\n    return prices[0] - prices[1]\n"
CHECK = "from shop import total\n\n\ndef test_total():\n    assert [total([2, 3]), total([7, 1]), total([9, 9])] == [5, 8, 18]\n"
PATCH = """\
--- a/shop.py
+++ b/shop.py
@@ -1,2 +1,2 @@
 def total(prices):
-    return prices[0] - prices[1]
+    return (prices[0] {operator} prices[1])
"""


def cases(folder: Path, check: str = CHECK) -> list[Case]:
    """One past fix, judged by a suite that its repair does not see."""
    write_case(
        folder / "shop",
        name="shop",
        files={"shop.py": SUM, "test_shop.py": check},
        test_command="python -m pytest -q",
        budget_seconds=60.0,
        held_out={"test_shop.py": CHECK + "\n\ndef test_more():\n    assert total([4, 4]) == 8\n"},
        solution={"shop.py": SUM.replace("-", "+")},
        labels={"project": "shop", "hunks": "1"},
    )
    return load_cases(folder)


def test_the_fix_itself_is_right_whatever_its_layout(tmp_path: Path) -> None:
    """Code is compared, not text; another edit is not the fix."""
    (case,) = cases(tmp_path)
    assert is_solution(case, PATCH.format(operator="+"))
    assert not is_solution(case, PATCH.format(operator="*"))


@pytest.mark.extended
@pytest.mark.sandbox
def test_each_way_meets_each_case(tmp_path: Path) -> None:
    """A repair that the held-out suite passes with is right, with the table and without any choice."""
    found = lived(cases(tmp_path), [PRESENT_POLICY, "without choices"], 1, 40, tmp_path / "found.json")
    assert [(each.way, each.right) for each in found] == [(PRESENT_POLICY, True), ("without choices", True)]
    assert all(0 < each.candidates <= 40 for each in found)


@pytest.mark.extended
@pytest.mark.sandbox
def test_a_whole_repair_does_not_end_by_candidates(tmp_path: Path) -> None:
    """The clock ends it: it is right where the search alone may try nothing."""
    given = cases(tmp_path), [PRESENT_POLICY], 1, 0, tmp_path / "found.json"
    (alone,), (whole,) = (lived(*given, whole=seconds) for seconds in (None, 60.0))
    assert (alone.right, whole.right) == (False, True)


@pytest.mark.extended
@pytest.mark.sandbox
@pytest.mark.parametrize(("check", "met"), [(CHECK, 1), (CHECK.replace("5, 8", "object(), 8"), 0)])
def test_only_what_an_untaught_search_reaches_is_met(tmp_path: Path, check: str, met: int) -> None:
    """The rest would tell nothing and take most of the time."""
    assert len(lived(cases(tmp_path, check), [PRESENT_POLICY], 1, 40, tmp_path / "found.json", reach=40)) == met


def test_two_ratios_tell_short_searches_from_long_ones() -> None:
    """By case, one that takes 3 instead of 1 outweighs one that takes 100 instead of 200; in total it does not."""
    sample = np.array([[[3.0, 1.0], [100.0, 200.0]]])
    assert by_case(sample)[0] == pytest.approx(1.5**0.5)
    assert ratio_of_sums(sample)[0] == pytest.approx(103 / 201)


def tried(way: str, case: str, candidates: int, *, right: bool) -> Tried:
    return Tried(way=way, case=case, seed=1, candidates=candidates, seconds=1.0, plausible=True, right=right)


def test_what_is_not_right_is_worth_all_that_may_be_tried() -> None:
    """So a way gains nothing by giving up early."""
    found = [
        tried(way, case, candidates, right=right)
        for case in ("a", "b", "c")
        for way, candidates, right in ((PRESENT_POLICY, 10, True), ("control", 1, False))
    ]
    rows = dict(compared(found, "control", 100))
    assert rows["share right, less that of control"].startswith("1.00")
    assert rows["candidates over control, in total"].startswith("0.10")
