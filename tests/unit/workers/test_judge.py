"""The daily look at the policy in use."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from memory.model import Arm
from memory.model.jobs import LeasedJob
from memory.policy.q_table import CONTROL, FORMER, PRESENT
from memory.retrieval.embeddings import HashedWords
from memory.rewards import contributions_of_outcome
from tests.databases import migrated
from tests.unit.memory.ledgers import logged
from workers.flows import FLOWS, maintenance
from workers.job_context import JobContext, open_job_context
from workers.jobs import CheckPolicy
from workers.settings import WorkerSettings, load

EVEN = {"a": 0.5, "b": 0.5}


LEASED = LeasedJob(id="job-1", kind="judge", payload=b"", attempts=1, token=1, worker="w")


@pytest.fixture
def context(tmp_path: Path) -> JobContext:
    migrated(tmp_path / "apprentice.db")
    return open_job_context(load(WorkerSettings, home=tmp_path), embedder=HashedWords()).for_job(LEASED, Event())


def worse_than_control(context: JobContext) -> None:
    """400 repairs in which control fixes everything and the version in use nothing."""
    ledger = context.store.ledger
    for number in range(400):
        arm = Arm.CONTROL if number % 5 == 0 else Arm.LEARNED
        entry = logged(number, EVEN, "a", proven=arm is Arm.CONTROL, arm=arm, version=PRESENT.version)
        assert entry.outcome is not None
        ledger.append_decision(entry.decision)
        ledger.append_outcome(entry.outcome, contributions_of_outcome(entry.decision, entry.outcome))


def test_an_empty_ledger_changes_nothing(context: JobContext) -> None:
    """There is nothing to go back for."""
    assert FLOWS[CheckPolicy] is maintenance.check_policy
    assert maintenance.check_policy(CheckPolicy(), context) == ()
    assert context.store.policy_events.all() == []


@pytest.mark.extended
def test_workers_use_the_former_from_the_next_task_on(context: JobContext) -> None:
    """A worse version is left once, and the next task's learner decides with the former."""
    worse_than_control(context)
    assert context.for_task("a").learner.policy_version == PRESENT.version
    maintenance.check_policy(CheckPolicy(), context)
    maintenance.check_policy(CheckPolicy(), context)
    assert [event.id for event in context.store.policy_events.all()] == ["job-1"]
    assert context.for_task("b").learner.policy_version == FORMER.version
    assert CONTROL not in (FORMER.version, PRESENT.version)
