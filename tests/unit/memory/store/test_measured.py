"""What processes measured is added up in the database, for all of them."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.errors import StoreError
from memory.measures import (
    GITHUB_REMAINING,
    JOBS,
    JOBS_ENDED,
    MEASURES,
    SUM,
    TOKENS_MINTED,
    LatestValue,
    UnstoredMeasures,
    unstored,
)
from memory.model.jobs import NewJob
from memory.store import Store
from memory.store.tables import metadata
from tests.databases import migrated_store

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def nothing_unstored(store: Store) -> None:
    """Nothing of other tests, and of opening the store."""
    unstored.forget()


def found(store: Store, name: str, now: datetime = NOW) -> dict[tuple[str, ...], float]:
    return {labels: value for measure, labels, value in store.measured.all(now) if measure == name}


def test_processes_add_up(store: Store) -> None:
    """What two processes counted is one sum; a second store adds only what is new."""
    one, other = UnstoredMeasures(), UnstoredMeasures()
    for own, times in ((one, 3), (other, 4)):
        own.add({("apprentice_token_mints_total", ("minted",)): times})
        store.measured.store(NOW, own)
    store.measured.store(NOW, one)
    assert found(store, "apprentice_token_mints_total") == {("minted",): 7.0}


def test_ended_jobs_are_counted_by_state(store: Store) -> None:
    """Each end counts once, for the worker that still had the lease."""
    store.jobs.enqueue([NewJob(id=name, kind="fix", payload=b"{}") for name in "ab"], now=NOW)
    first, second = (store.jobs.lease(name, worker="w", now=NOW, seconds=60) for name in "ab")
    assert first is not None
    assert second is not None
    for _ in range(2):
        store.jobs.finish(first, now=NOW)
        store.jobs.fail(second, now=NOW, reason="no")
    store.measured.store(NOW)
    assert found(store, JOBS_ENDED.name) == {("done",): 1.0, ("failed",): 1.0}


def test_durations_are_counted_by_bound(store: Store) -> None:
    """Each duration is in the first bucket that holds it, and in the sum; the longest are in the last bucket."""
    for seconds in (0.1, 0.2, 400.0, 5000.0):
        JOBS.observe(seconds, kind="fix", result="done")
    store.measured.store(NOW)
    assert found(store, JOBS.name) == {
        ("fix", "done", "0.1"): 1.0,
        ("fix", "done", "0.5"): 1.0,
        ("fix", "done", "900.0"): 1.0,
        ("fix", "done", "+Inf"): 1.0,
        ("fix", "done", SUM): pytest.approx(5400.3),
    }


def test_the_latest_value_counts_until_its_time(store: Store) -> None:
    """A later value replaces an earlier one. After its time it is not shown, and a day later it is removed."""
    for left in (4000, 3999):
        GITHUB_REMAINING.set(left, until=NOW + timedelta(minutes=5), installation="7", resource="core")
        store.measured.store(NOW)
    assert found(store, GITHUB_REMAINING.name) == {("7", "core"): 3999.0}
    assert found(store, GITHUB_REMAINING.name, NOW + timedelta(minutes=6)) == {}
    store.measured.store(NOW + timedelta(days=1, minutes=6))
    assert found(store, GITHUB_REMAINING.name) == {}


def test_nothing_is_lost_while_the_database_is_away(tmp_path: Path) -> None:
    """What cannot be stored is kept for the next time."""
    own = UnstoredMeasures()
    own.add({(TOKENS_MINTED.name, ("minted",)): 1.0})
    for resource in ("core", "graphql"):
        own.replace((GITHUB_REMAINING.name, ("7", resource)), LatestValue(value=9.0, until=None))
    database = tmp_path / "away.db"
    store = migrated_store(database)
    store.close()
    database.rename(tmp_path / "away")
    with pytest.raises(StoreError):
        store.measured.store(NOW, own)
    store.close()
    database.unlink()
    (tmp_path / "away").rename(database)
    own.replace((GITHUB_REMAINING.name, ("7", "core")), LatestValue(value=8.0, until=None))
    store.measured.store(NOW, own)
    assert found(store, TOKENS_MINTED.name) == {("minted",): 1.0}
    assert found(store, GITHUB_REMAINING.name) == {("7", "core"): 8.0, ("7", "graphql"): 9.0}
    store.close()


def test_a_fork_begins_with_nothing() -> None:
    """A child does not store again what its parent measured, and is not stopped by a lock that was held at the fork."""
    TOKENS_MINTED.add(result="minted")
    with unstored.lock:
        pid = os.fork()
        if pid == 0:
            os._exit(len(unstored.take()[0]))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert unstored.take()[0]


def test_transactions_are_timed(store: Store) -> None:
    """Reads and writes are observed by kind."""
    store.measured.all(NOW)
    store.measured.store(NOW)
    assert ("read", SUM) in found(store, "apprentice_database_seconds")
    store.measured.store(NOW)
    assert ("write", SUM) in found(store, "apprentice_database_seconds")


def test_sizes(store: Store) -> None:
    """Each table has its rows, as PostgreSQL knows them after an ANALYZE, and the database has a size."""
    TOKENS_MINTED.add(result="minted")
    store.measured.store(NOW)
    with store.database.writing() as connection:
        connection.exec_driver_sql("ANALYZE")
    rows = store.measured.table_rows()
    assert rows["measures"] == len(store.measured.all(NOW))
    assert rows["jobs"] == 0
    assert len(rows) == len(metadata.tables)
    assert store.measured.size() > 4096


def test_names_follow_the_rules() -> None:
    """A counter ends with `_total`, and nothing else does; each measure has a name of its own."""
    names = [measure.name for measure in MEASURES]
    assert len(set(names)) == len(names)
    for measure in MEASURES:
        assert measure.name.endswith("_total") == (type(measure).__name__ == "CounterMeasure")
