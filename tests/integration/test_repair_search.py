"""What a search does with a verdict, on the real runner: the condition of an edit that is too broad, a near miss made again elsewhere."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from memory.model import AttemptOutcome
from workers.ports import Limits
from workers.repair.classify import failure_of
from workers.repair.engines.search.session import SearchSession
from workers.repair.reproduce import reproduce
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.run_tests import discover

pytestmark = pytest.mark.sandbox

LIMITS = Limits(wall_seconds=60, cpu_seconds=60)

SOURCE = """
def clean(key, seen):
    if " " in key:
        raise ValueError(key)
    return key.lower()
"""

TESTS = """
import pytest
from keys import clean


def test_a_tab_is_refused():
    with pytest.raises(ValueError):
        clean("ab\\tc-1", {})


def test_a_space_is_refused():
    with pytest.raises(ValueError):
        clean("ab c", {})


def test_a_key_is_cleaned():
    assert [clean(key, {}) for key in ("Ab", "b", "c-1")] == ["ab", "b", "c-1"]
"""


@pytest.mark.extended
def test_the_condition_that_a_broad_edit_lacks_is_tried_next(tmp_path: Path) -> None:
    """One edit is given, which refuses what was accepted; the one that is proven refuses the tab alone."""
    (tmp_path / "keys.py").write_text(SOURCE)
    (tmp_path / "test_keys.py").write_text(TESTS)
    project = discover(tmp_path, python=None, test_command=None)
    before = reproduce(Bubblewrap(), project, limits=LIMITS)
    failure = failure_of(before.failing_report)
    assert failure is not None
    with SearchSession(Bubblewrap(), project, before, failure, print) as session:
        broad = next(c for c in session.proposed(("operators",)) if 'if " " not in key' in c.source)
        result = session.attempt([broad], strategies=("operators",), deadline=time.monotonic() + 120)
    assert (result.outcome, result.made_by) == (AttemptOutcome.PROVEN, "guards")
    assert r'+    if " " in key or "\t" in key:' in result.patch.splitlines()


TWICE = """
def first(rows, limit):
    return [row for row in rows if row > limit]


def last(rows, limit):
    return [row for row in rows[::-1] if row > limit]
"""

TESTS_OF_BOTH = """
import pytest
from pick import first, last


@pytest.mark.parametrize("pick", [first, last])
def test_the_limit_is_picked_too(pick):
    assert 3 in pick([1, 3, 5], 3)


def test_what_is_below_the_limit_is_not():
    assert first([1, 5], 3) == last([1, 5], 3) == [5]
"""


@pytest.mark.extended
def test_a_near_miss_is_tried_in_the_other_place_that_reads_alike(tmp_path: Path) -> None:
    """One edit is given, which repairs one of two failing tests; the patch that is proven makes it in both functions."""
    (tmp_path / "pick.py").write_text(TWICE)
    (tmp_path / "test_pick.py").write_text(TESTS_OF_BOTH)
    project = discover(tmp_path, python=None, test_command=None)
    before = reproduce(Bubblewrap(), project, limits=LIMITS)
    failure = failure_of(before.failing_report)
    assert failure is not None
    assert len(failure.failing_tests) == 2
    with SearchSession(Bubblewrap(), project, before, failure, print) as session:
        near = next(c for c in session.proposed(("operators",)) if c.source.count("row >= limit") == 1)
        result = session.attempt([near], strategies=("operators",), deadline=time.monotonic() + 120)
    assert result.outcome is AttemptOutcome.PROVEN
    assert result.patch.count("+    return") == 2
