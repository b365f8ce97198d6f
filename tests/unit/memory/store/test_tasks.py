"""Tasks and their attempts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from memory.errors import StoreError
from memory.model import Attempt, AttemptOutcome, EditShape, Proof, SuiteCount, Task, TaskKind
from memory.store import Store
from memory.store.tasks import StoredTask


def task(task_id: str, created_at: datetime) -> Task:
    return Task(id=task_id, kind=TaskKind.REPAIR, repository="o/r", sha="1" * 40, number=3, created_at=created_at)


def attempt(decision_id: str) -> Attempt:
    count = SuiteCount(passed=3, failed=0, skipped=0, collected=3)
    proof = Proof(failed_before=("t",), passed_after=("t",), before=count, suite=count, repeats=2, command="pytest")
    return Attempt(
        decision_id=decision_id,
        strategy="guard",
        probability=0.25,
        candidates=7,
        outcome=AttemptOutcome.PROVEN,
        shape=EditShape(template="guard", before="x", after="y"),
        proof=proof,
    )


def test_a_task_collects_its_attempts(store: Store, now: datetime) -> None:
    """Attempts come back with their task, in the order they were made, each once."""
    assert store.tasks.add(task("t1", now))
    assert [store.tasks.add_attempt("t1", attempt(each)) for each in ("d9", "d1", "d9")] == [True, True, False]
    stored = store.tasks.get("t1")
    assert stored == StoredTask(task=task("t1", now), attempts=(attempt("d9"), attempt("d1")), status="", summary="")
    assert store.tasks.get("t2") is None


def test_a_known_task_stays_as_it_was(store: Store, now: datetime) -> None:
    """Adding a task again changes nothing; it keeps its attempts."""
    assert store.tasks.add(task("t1", now))
    store.tasks.add_attempt("t1", attempt("d1"))
    assert not store.tasks.add(task("t1", now + timedelta(days=1)))
    stored = store.tasks.get("t1")
    assert stored is not None
    assert (stored.task, stored.attempts) == (task("t1", now), (attempt("d1"),))


def test_a_task_ends_with_a_summary(store: Store, now: datetime) -> None:
    """Status and summary are kept beside the task."""
    store.tasks.add(task("t1", now))
    store.tasks.finish("t1", "fixed", '{"seconds": 1.5}')
    assert store.tasks.get("t1") == StoredTask(
        task=task("t1", now), attempts=(), status="fixed", summary='{"seconds": 1.5}'
    )


def test_a_repository_lists_its_tasks(store: Store, now: datetime) -> None:
    """The tasks of one repository are listed oldest first, each with its own attempts."""
    late, early = task("a", now + timedelta(seconds=1)), task("b", now)
    for each in (late, early, replace(task("c", now), repository="o/other")):
        store.tasks.add(each)
    store.tasks.add_attempt("a", attempt("d1"))
    listed = [(each.task, each.attempts) for each in store.tasks.by_repository("o/r")]
    assert listed == [(early, ()), (late, (attempt("d1"),))]


def test_the_ended_tasks_of_one_pull_request(store: Store, now: datetime) -> None:
    """Only those of this kind and number that came to their end are told, oldest first."""
    made = [replace(task(f"t{n}", now + timedelta(seconds=n)), kind=TaskKind.REVIEW, number=3) for n in range(3)]
    others = [
        replace(task("x", now), number=3),
        replace(made[0], id="y", number=33),
        replace(made[0], id="z", number=1),
    ]
    for each in (*reversed(made), *others):
        store.tasks.add(each)
    for each in (*made[:2], *others):
        store.tasks.finish(each.id, "reviewed", "{}")
    assert [each.task for each in store.tasks.ended(TaskKind.REVIEW, "o/r", 3)] == made[:2]


def test_an_unknown_task_is_named(store: Store) -> None:
    """Attempts and endings of a task that was never added are refused by name."""
    with pytest.raises(StoreError, match="no task t9"):
        store.tasks.add_attempt("t9", attempt("d1"))
    with pytest.raises(StoreError, match="no task t9"):
        store.tasks.finish("t9", "fixed", "{}")
