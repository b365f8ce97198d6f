"""The memory of plans: what worked in a repository comes first there, as it worked, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.model import Plan, PlanOutcome
from memory.store import Store, open_store
from workers.environments.plan_memory import PlanMemory

CI, TOX, PLAIN = (Plan(source=name, requirements=(name,)) for name in ("ci", "tox", "plain"))
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'a.db'}")


def outcome(plan: Plan, passed: int, failed: int, built: bool = True) -> PlanOutcome:
    return PlanOutcome(read=plan, plan=plan, built=built, passed=passed, failed=failed, at=NOW)


def test_what_worked_comes_first(store: Store) -> None:
    """By the share of tests that passed; a plan that failed comes after those never tried."""
    memory = PlanMemory(store, "7")
    assert memory.ordered((CI, TOX, PLAIN)) == (CI, TOX, PLAIN)
    memory.record(outcome(CI, 0, 0, built=False))
    memory.record(outcome(PLAIN, 9, 1))
    assert memory.ordered((CI, TOX, PLAIN)) == (PLAIN, TOX, CI)
    memory.record(outcome(TOX, 10, 0))
    assert memory.ordered((CI, TOX, PLAIN)) == (TOX, PLAIN, CI)
    assert PlanMemory(store, "8").ordered((CI, TOX, PLAIN)) == (CI, TOX, PLAIN)


def test_a_plan_is_tried_again_as_it_worked(store: Store) -> None:
    """With its mends; a plan with other requirements is another plan, whatever it is called."""
    memory, better = PlanMemory(store, "7"), replace(TOX, requirements=("tox", "pytest-mock"), mends=("a fixture",))
    memory.record(replace(outcome(TOX, 3, 0), plan=better))
    assert memory.ordered((CI, replace(TOX, source="tox.ini, line 3"))) == (better, CI)
    assert memory.ordered((CI, replace(TOX, requirements=("other",)))) == (CI, replace(TOX, requirements=("other",)))


def test_mends_of_a_failure_are_not_kept(store: Store) -> None:
    """They did not help, so the next time begins with what the repository says."""
    memory = PlanMemory(store, "7")
    memory.record(replace(outcome(CI, 1, 9), plan=replace(CI, requirements=())))
    assert memory.ordered((CI,)) == (CI,)


def test_files_that_cannot_be_collected_count(store: Store) -> None:
    """A plan under which 9 tests pass and 11 files cannot be collected did not work."""
    memory = PlanMemory(store, "7")
    memory.record(replace(outcome(CI, 9, 0), uncollected=11))
    assert memory.ordered((CI, TOX)) == (TOX, CI)
