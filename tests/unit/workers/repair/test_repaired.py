from __future__ import annotations

from memory.model import Failure, Family
from memory.store.database import dump, load
from workers.repair.result import Repaired, RepairStatus


def test_a_repair_is_kept_whatever_its_tests_say() -> None:
    """Half a letter in a test's message, which UTF-8 cannot hold, keeps no repair from being stored."""
    failure = Failure(
        error_type="ValueError", family=Family.VALUE, message="bad \ud800", frames=(), failing_tests=("t.py::a",)
    )
    repaired = Repaired(
        status=RepairStatus.NOT_FIXED,
        failure=failure,
        attempts=(),
        tests=1,
        flaky=(),
        candidates=0,
        test_runs=1,
        seconds=1.0,
    )
    assert load(Repaired, dump(repaired)) == repaired
