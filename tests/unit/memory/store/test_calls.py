"""Accounts of calls to a model, on each kind of database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memory.model import Task, TaskKind
from memory.store import Store
from memory.store.calls import BudgetLimit, BudgetScope, BudgetUnit, ExceededBudget, PurposeCost, Reservation, TaskCost

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
RUN = BudgetLimit(scope=BudgetScope.RUN, unit=BudgetUnit.TOKENS, most=100)
DAY = BudgetLimit(scope=BudgetScope.DAY, unit=BudgetUnit.TOKENS, most=100)
REPOSITORY_DAY = BudgetLimit(scope=BudgetScope.REPOSITORY_DAY, unit=BudgetUnit.TOKENS, most=100)
MONEY = BudgetLimit(scope=BudgetScope.DAY, unit=BudgetUnit.MICROS, most=1000)

RESERVE = """
import sys
from datetime import UTC, datetime
from memory.store import open_store
from memory.store.calls import BudgetLimit, BudgetScope, BudgetUnit, Reservation
url, worker = sys.argv[1:]
limit = BudgetLimit(scope=BudgetScope.DAY, unit=BudgetUnit.TOKENS, most=300)
with open_store(url) as store:
    for number in range(25):
        wanted = Reservation(
            id=f"{worker}-{number}", task_id=worker, repository="o/r", purpose="repair", tier="strong", model="m",
            tokens=10, micros=0, created_at=datetime(2026, 11, 22, tzinfo=UTC),
        )
        if store.calls.reserve(wanted, [limit]) is None and number % 2:
            store.calls.settle(wanted.id, prompt=4, cached=0, completion=6, micros=0)
"""


def wanted(
    call_id: str = "c1",
    tokens: int = 60,
    *,
    task_id: str = "t1",
    repository: str = "o/r",
    micros: int = 0,
    at: datetime = NOON,
    purpose: str = "repair",
) -> Reservation:
    return Reservation(
        id=call_id,
        task_id=task_id,
        repository=repository,
        purpose=purpose,
        tier="strong",
        model="m",
        tokens=tokens,
        micros=micros,
        created_at=at,
    )


def settle(store: Store, call_id: str, prompt: int, completion: int, *, micros: int = 0) -> bool:
    return store.calls.settle(call_id, prompt=prompt, cached=prompt // 2, completion=completion, micros=micros)


@pytest.mark.parametrize(
    ("limit", "other", "refused"),
    [
        (RUN, {"task_id": "t1", "repository": "o/s"}, True),
        (RUN, {"task_id": "t2"}, False),
        (RUN, {"at": NOON + timedelta(days=1)}, True),
        (DAY, {"task_id": "t2", "repository": "o/s"}, True),
        (DAY, {"at": NOON.replace(hour=23, minute=59)}, True),
        (DAY, {"at": NOON.replace(day=23, hour=0)}, False),
        (DAY, {"at": datetime(2026, 11, 23, 1, tzinfo=timezone(timedelta(hours=2)))}, True),
        (REPOSITORY_DAY, {"task_id": "t2"}, True),
        (REPOSITORY_DAY, {"task_id": "t2", "repository": "o/s"}, False),
        (MONEY, {"task_id": "t2"}, True),
    ],
)
def test_a_budget_covers_what_it_is_for(
    store: Store, limit: BudgetLimit, other: dict[str, object], refused: bool
) -> None:
    """A run's budget is its own, a day's ends at midnight UTC, a repository's is no other's; reserved counts as spent."""
    assert store.calls.reserve(wanted(micros=600), [limit]) is None
    exceeded = store.calls.reserve(wanted("c2", micros=600, **{"at": NOON, **other}), [limit])  # type: ignore[arg-type]
    amount = 60 if limit.unit is BudgetUnit.TOKENS else 600
    assert exceeded == (ExceededBudget(limit=limit, taken=amount, wanted=amount) if refused else None)
    assert sum(each.calls for each in store.calls.summary()) == (1 if refused else 2)


def test_a_budget_may_be_used_up_to_the_last_token(store: Store) -> None:
    """Exactly the limit is no more than the limit."""
    assert store.calls.reserve(wanted("c1", 60), [RUN]) is None
    assert store.calls.reserve(wanted("c2", 40), [RUN]) is None
    assert store.calls.reserve(wanted("c3", 1), [RUN]) is not None


def test_what_was_not_used_is_given_back(store: Store) -> None:
    """A settled call counts by what it took, a failed one not at all, one of unknown fate by its reservation."""
    store.calls.reserve(wanted("c1", 90), [RUN])
    assert settle(store, "c1", 20, 10)
    store.calls.reserve(wanted("c2", 70), [RUN])
    assert store.calls.fail("c2")
    assert store.calls.reserve(wanted("c3", 70, micros=5), [RUN]) is None
    assert store.calls.settle_as_reserved("c3")
    exceeded = store.calls.reserve(wanted("c4", 1), [RUN])
    assert exceeded is not None
    assert exceeded.taken == 100


def test_a_call_ends_once(store: Store) -> None:
    """Whoever comes second changes nothing."""
    store.calls.reserve(wanted(), [])
    assert settle(store, "c1", 20, 10)
    assert not store.calls.fail("c1")
    assert not store.calls.settle_as_reserved("c1")
    assert not settle(store, "c1", 1, 1)
    assert not store.calls.fail("unknown")
    assert store.calls.summary()[0].prompt == 20


def test_the_summary_is_by_repository_purpose_and_tier(store: Store) -> None:
    """Every call is counted, and what they took is summed."""
    store.calls.reserve(wanted("c1"), [])
    store.calls.reserve(wanted("c2"), [])
    store.calls.reserve(wanted("c3", 30, micros=7), [])
    store.calls.reserve(wanted("c4"), [])
    store.calls.reserve(wanted("c5", purpose="reflect"), [])
    settle(store, "c1", 20, 10, micros=3_000_000_000)
    store.calls.fail("c2")
    store.calls.settle_as_reserved("c3")
    nothing = PurposeCost(
        repository="o/r", purpose="reflect", tier="strong", calls=1, open=1, failed=0, prompt=0, cached=0, completion=0,
        micros=0, estimated=0,
    )  # fmt: skip
    assert store.calls.summary() == [
        nothing,
        PurposeCost(
            repository="o/r", purpose="repair", tier="strong", calls=4, open=1, failed=1, prompt=50, cached=10,
            completion=10, micros=3_000_000_007, estimated=1,
        ),
    ]  # fmt: skip


def test_tasks_are_told_with_their_kind(store: Store) -> None:
    """A task that was never recorded has none."""
    store.tasks.add(Task(id="t1", kind=TaskKind.REVIEW, repository="o/r", sha="s", number=1, created_at=NOON))
    for call_id, task_id in (("c1", "t1"), ("c2", "t1"), ("c3", "t2")):
        store.calls.reserve(wanted(call_id, task_id=task_id), [])
        settle(store, call_id, 20, 10, micros=4)
    assert sorted(store.calls.by_task(), key=lambda each: each.task_id) == [
        TaskCost(task_id="t1", kind="review", tokens=60, micros=8),
        TaskCost(task_id="t2", kind="", tokens=30, micros=4),
    ]


@pytest.mark.slow
def test_processes_share_a_budget(
    store: Store, database_url: str, run_together: Callable[[str, list[list[str]]], list[str]]
) -> None:
    """Four processes that reserve at the same time get exactly the budget between them."""
    run_together(RESERVE, [[database_url, str(worker)] for worker in range(4)])
    assert sum(each.calls for each in store.calls.summary()) == 30
