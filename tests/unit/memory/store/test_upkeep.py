"""What is old goes, and what is needed stays; on each kind of database."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

import pytest

from memory.model.jobs import Delivery, NewJob
from memory.store import Store
from memory.store.jobs import LONGEST_WAIT
from memory.store.processes import KEPT, DatabaseClock
from memory.store.upkeep import PrunedRows, Retention

DAY = timedelta(days=1)
KEEP = Retention(deliveries=30 * DAY, jobs=90 * DAY, effects=400 * DAY)


def job(name: str, kind: str = "fix", **given: int) -> NewJob:
    return NewJob(id=name, kind=kind, payload=b"{}", **given)


def end(store: Store, name: str, at: datetime, *, failed: bool = False) -> None:
    leased = store.jobs.lease(name, worker="w", now=at, seconds=60)
    assert leased is not None
    assert store.jobs.fail(leased, now=at, reason="no") if failed else store.jobs.finish(leased, now=at)


def test_old_rows_go(store: Store, now: datetime) -> None:
    """An ended job goes by its end, its delivery by its arrival once no job is left of it, an effect by its begin."""
    old = now - 91 * DAY
    store.jobs.record_deliveries(
        [
            Delivery(id="old", event="issues", received_at=old, jobs=(job("ended"),)),
            Delivery(id="held", event="issues", received_at=old, jobs=(job("open"),)),
            Delivery(id="new", event="issues", received_at=now),
        ]
    )
    end(store, "ended", old)
    store.jobs.begin_effect("old", "ended", now - 401 * DAY)
    store.jobs.begin_effect("new", "ended", now - 399 * DAY)
    assert store.upkeep.prune(KEEP, now=now) == PrunedRows(deliveries=1, jobs=1, effects=1)
    assert store.jobs.unknown_deliveries(["old", "held", "new"]) == {"old"}
    assert (store.jobs.job("ended"), store.jobs.effect("old")) == (None, None)
    assert store.jobs.job("open") and store.jobs.effect("new")
    assert store.upkeep.prune(KEEP, now=now) == PrunedRows(deliveries=0, jobs=0, effects=0)


def test_rows_go_in_portions(store: Store, now: datetime) -> None:
    """A sweep removes at most so many; the next one goes on."""
    old = now - 31 * DAY
    store.jobs.record_deliveries([Delivery(id=f"d{each}", event="ping", received_at=old) for each in range(2500)])
    removed = [store.upkeep.prune(KEEP, now=now, most=1200).deliveries for _ in range(4)]
    assert removed == [1200, 1200, 100, 0]


def test_the_last_head_of_a_pull_request_stays(store: Store, now: datetime) -> None:
    """Of the jobs that say which head a pull request has, the latest stays as long as effects: a command would find none."""
    for number, age in enumerate((200, 150, 100)):
        at = now - age * DAY
        store.jobs.enqueue([job(f"head{number}", "track", repository_id=1, number=7)], now=at)
        end(store, f"head{number}", at)
    assert store.upkeep.prune(KEEP, now=now).jobs == 2
    assert [each.payload for each in store.jobs.about("track", 1, 7)][-1] == b"{}"
    assert store.upkeep.prune(KEEP, now=now + 301 * DAY).jobs == 1


@pytest.mark.parametrize("years", [1, 100])
def test_no_job_waits_for_a_wrong_clock(store: Store, now: datetime, years: int) -> None:
    """A time that is far away is cut when it is given, and brought forward where an earlier version stored it."""
    far = now + 365 * years * DAY
    store.jobs.enqueue([NewJob(id="new", kind="fix", payload=b"", run_after=far)], now=now)
    store.jobs.enqueue([job("put off")], now=now)
    leased = store.jobs.lease("put off", worker="w", now=now, seconds=60)
    assert leased is not None
    store.jobs.postpone(leased, now=now, until=far, reason="limited")
    assert set(store.jobs.due(now=now + LONGEST_WAIT, limit=9)) == {"new", "put off"}
    store.jobs.enqueue([job("of a clock that was ahead")], now=far)
    assert store.jobs.bring_forward(now) == 1
    assert store.jobs.due(now=now, limit=9) == ["of a clock that was ahead"]


def test_heartbeats(store: Store, now: datetime) -> None:
    """Of each kind the latest counts; a process that is long gone is forgotten."""
    second = timedelta(seconds=1)
    store.heartbeats.beat("worker", "w1", now=now, until=now + 40 * second)
    store.heartbeats.beat("worker", "w2", now=now + 5 * second, until=now + 45 * second)
    store.heartbeats.beat("worker", "w1", now=now + 10 * second, until=now + 50 * second)
    assert store.heartbeats.last() == {"worker": (now + 10 * second, now + 50 * second)}
    later = now + KEPT + 60 * second
    store.heartbeats.beat("sweeper", "s", now=later, until=later)
    assert store.heartbeats.last() == {"sweeper": (later, later)}


def test_the_clock_is_the_databases(store: Store) -> None:
    """Between two looks at the database it goes on by a clock that does not jump, and looks again by itself beside the call
    that finds it old; on SQLite it is this machine's."""
    passed = 0.0
    clock = DatabaseClock(store.database, lambda: passed)
    first = clock()
    passed = 3600.0
    went = clock() - first
    assert abs(store.clock.ahead()) < timedelta(seconds=5)
    if store.database.engine.dialect.name == "postgresql":
        assert went == timedelta(hours=1)
        for thread in threading.enumerate():
            if thread.name == "database-clock":
                thread.join()
        assert clock() - first < timedelta(minutes=5)
    else:
        assert went < timedelta(minutes=5)


def test_what_is_unchanged_is_not_written(store: Store) -> None:
    """A document that is kept again as it is costs a look and no write."""
    store.plans.keep("a", {"n": 1})
    with store.database.writing():  # no one else can write now, on SQLite
        store.plans.keep("a", {"n": 1})
    store.plans.keep("a", {"n": 2})
    assert store.plans.get("a", dict) == {"n": 2}
