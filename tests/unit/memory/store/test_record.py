"""The ledger in bulk, and the events of the policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import text

from memory.errors import StoreError
from memory.model import (
    Attempt,
    AttemptOutcome,
    Decision,
    Outcome,
    PolicyEvent,
    PolicyEventKind,
    Signal,
    Task,
    TaskKind,
)
from memory.store import Store


def event(now: datetime, name: str = "e1") -> PolicyEvent:
    return PolicyEvent(
        id=name,
        kind=PolicyEventKind.ROLLED_BACK,
        version="v1",
        instead_of="v2",
        newest="v2",
        reason="worse",
        created_at=now,
    )


def test_everything_that_came_of_a_decision_comes_with_it(
    store: Store,
    decide: Callable[..., Decision],
    judge: Callable[..., Outcome],
    react: Callable[..., Signal],
    now: datetime,
) -> None:
    """Decisions in the order of time, each with its outcome and with the signals that were not taken back."""
    for each in [decide("d2", created_at=now + timedelta(seconds=1)), decide("d1")]:
        store.ledger.append_decision(each)
    store.ledger.append_outcome(judge("d1"), ())
    for signal in (react("s1"), react("s2", source="reaction:2"), react("s3", retracts="s1")):
        store.ledger.append_signal(signal, ())
    first, second = store.ledger.logged(TaskKind.REPAIR)
    assert (first.decision.id, first.outcome, [s.id for s in first.signals]) == ("d1", judge("d1"), ["s2"])
    assert (second.decision.id, second.outcome, second.signals) == ("d2", None, ())
    assert store.ledger.logged(TaskKind.REVIEW) == []


def test_attempts_come_by_task(store: Store, now: datetime) -> None:
    """In the order they were made, of repairs only."""
    made = Attempt(decision_id="d1", strategy="a", probability=0.5, candidates=3, outcome=AttemptOutcome.UNPROVEN)
    task = Task(id="t1", kind=TaskKind.REPAIR, repository="o/r", sha="s", number=1, created_at=now)
    for each in (task, replace(task, id="t2", kind=TaskKind.REVIEW)):
        store.tasks.add(each)
        store.tasks.add_attempt(each.id, made)
    store.tasks.add_attempt("t1", replace(made, decision_id="d2"))
    assert {task: [a.decision_id for a in each] for task, each in store.tasks.attempts_of_repairs().items()} == {
        "t1": ["d1", "d2"]
    }


def test_policy_events_are_kept_in_order_and_once(store: Store, now: datetime) -> None:
    """Oldest first; one whose id is known changes nothing."""
    later = event(now + timedelta(days=1), "e2")
    assert store.policy_events.append(later)
    assert store.policy_events.append(event(now))
    assert not store.policy_events.append(replace(event(now), reason="other"))
    assert store.policy_events.all() == [event(now), later]


@pytest.mark.parametrize("statement", ["UPDATE policy_events SET body = 'x'", "DELETE FROM policy_events"])
def test_policy_events_are_append_only(store: Store, now: datetime, statement: str) -> None:
    """The database itself refuses to change or remove them."""
    store.policy_events.append(event(now))
    with pytest.raises(StoreError, match="is append-only"), store.database.writing() as connection:
        connection.execute(text(statement))
