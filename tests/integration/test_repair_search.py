"""What a search does with a verdict, on the real runner: an edit that is too broad has its condition looked for at once."""

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
from workers.sandbox.project import discover

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
        result = session.attempt([broad], strategies=("operators",), deadline=time.monotonic() + 600)
    assert (result.outcome, result.made_by) == (AttemptOutcome.PROVEN, "guards")
    assert r'+    if " " in key or "\t" in key:' in result.patch.splitlines()
