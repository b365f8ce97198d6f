"""Tests that never end: seen for what they are, located, and repaired like any other failure."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path

import pytest

from memory.model import AttemptOutcome, Family
from workers.ports import Limits
from workers.repair.classify import failure_of
from workers.repair.engines.search.session import SearchSession
from workers.repair.reproduce import reproduce
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project, discover

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]

LIMITS = Limits(wall_seconds=60, cpu_seconds=60)

SOURCE = """
    def halvings(number):
        count = 0
        while number > 1:
            try:
                number *= 2
                count += 1
            except Exception:
                pass
        return count
"""
TESTS = """
    import pytest
    from steps import halvings

    @pytest.mark.parametrize("number", [8, 9, 64, 100])
    def test_many(number):
        assert halvings(number) == number.bit_length() - 1

    def test_none():
        assert halvings(1) == 0
"""


def project_of(directory: Path, tests: str) -> Project:
    for name, text in {"steps.py": SOURCE, "test_steps.py": tests}.items():
        (directory / name).write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return discover(directory, python=None, test_command=None)


@pytest.mark.extended
def test_tests_that_never_end_are_one_failure_with_its_place(tmp_path: Path) -> None:
    """Each is ended in the loop, though that catches exceptions and stood at another line; the others keep their results."""
    seen = reproduce(Bubblewrap(), project_of(tmp_path, TESTS), limits=LIMITS)
    failure = failure_of(seen.failing_report)
    assert failure is not None
    assert (failure.error_type, failure.family) == ("Timeout", Family.TIMEOUT)
    assert len(failure.failing_tests) == 4
    assert failure.frames[-1].function == "halvings"
    assert seen.passing == ("test_steps.py::test_none",)
    assert seen.report.complete


@pytest.mark.extended
def test_a_test_that_is_only_slow_passes(tmp_path: Path) -> None:
    """What takes longer than a first look gives is looked at again, and is no failure."""
    slow = """
        import time

        def test_slow():
            while time.process_time() < 2.5:
                pass
    """
    seen = reproduce(Bubblewrap(), project_of(tmp_path, slow), limits=LIMITS)
    assert not seen.failing_report.failing()
    assert [result.outcome for result in seen.report.results] == ["passed"]


@pytest.mark.extended
def test_an_endless_loop_is_repaired(tmp_path: Path) -> None:
    """Candidates are tried with a small share of the time that the unedited tests would use up."""
    project = project_of(tmp_path, TESTS)
    reproduction = reproduce(Bubblewrap(), project, limits=LIMITS)
    failure = failure_of(reproduction.failing_report)
    assert failure is not None
    with SearchSession(Bubblewrap(), project, reproduction, failure, lambda _line: None, limits=LIMITS) as bench:
        result = bench.attempt(
            bench.proposed(("operators",)), strategies=("operators",), deadline=time.monotonic() + 600
        )
    assert result.outcome is AttemptOutcome.PROVEN
    assert "number //= 2" in result.patch


@pytest.mark.extended
def test_what_a_cut_run_did_not_come_to_has_no_id_that_moves(tmp_path: Path) -> None:
    """A test that fails at once keeps its id, though a later run of its function shows parameters that are new."""
    tests = TESTS.replace("[8, 9, 64, 100]", "[0, 8, 1]")
    seen = reproduce(Bubblewrap(), project_of(tmp_path, tests), limits=Limits(wall_seconds=3, cpu_seconds=3))
    assert not seen.moved
    assert "test_steps.py::test_many[0]" in {result.id for result in seen.failing_report.failing()}
    assert not seen.set_aside
