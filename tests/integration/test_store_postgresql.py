"""What only a PostgreSQL store can show; all else is in tests/unit/memory/store, which runs on both databases."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import psycopg
import pytest
from sqlalchemy import select, text

from memory.errors import StoreError, StoreUnavailable
from memory.model import Arm, Decision, State, TaskKind
from memory.store import Store, open_store
from memory.store.tables import decisions

NOW = datetime(2026, 11, 22, tzinfo=UTC)
STATE = State(kind=TaskKind.REPAIR, repository="o/r", label="KeyError", family="lookup")


def decision(decision_id: str, *, created_at: datetime = NOW) -> Decision:
    """A repair in `STATE` that chose "guard"."""
    return Decision(
        id=decision_id,
        task_id="t1",
        state=STATE,
        available=("guard", "swap"),
        probabilities=(0.6, 0.4),
        chosen="guard",
        arm=Arm.LEARNED,
        policy_version="levelled",
        created_at=created_at,
    )


def end_connections(migrated_postgresql_url: str) -> None:
    """End every other connection, and wait until they are gone."""
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(migrated_postgresql_url, autocommit=True) as admin:
        assert admin.execute(f"SELECT pg_terminate_backend(pid) {others}").fetchall()
        while admin.execute(f"SELECT 1 {others}").fetchall():
            time.sleep(0.02)


@pytest.fixture
def store(migrated_postgresql_url: str) -> Iterator[Store]:
    with open_store(migrated_postgresql_url) as opened:
        yield opened


def test_connections_that_the_server_dropped_are_replaced(store: Store, migrated_postgresql_url: str) -> None:
    """After the server has ended every connection, as at a restart, a call a moment later works."""
    assert store.jobs.delivery_count() == 0
    end_connections(migrated_postgresql_url)
    assert store.jobs.delivery_count() == 0


def test_a_time_is_the_same_in_whatever_zone_it_was_given(store: Store) -> None:
    """A decision comes back as it was appended, and two that differ in the zone alone have the same columns."""
    here = decision("d1", created_at=NOW.astimezone(timezone(timedelta(hours=5))))
    assert store.ledger.append_decision(here)
    assert not store.ledger.append_decision(here)
    store.ledger.append_decision(decision("d2"))
    with store.database.reading() as connection:
        one, other = connection.execute(select(decisions).order_by(decisions.c.id)).all()
    assert one[1:-1] == other[1:-1]
    assert [store.ledger.decision(each) for each in ("d1", "d2")] == [here, decision("d2")]


def test_what_the_driver_says_is_an_error_of_ours(store: Store, migrated_postgresql_url: str) -> None:
    """A value that cannot be kept is refused, a server that went away is unavailable, and the next call works."""
    with pytest.raises(StoreError, match="NUL"):
        store.ledger.append_decision(decision("d\0"))
    with pytest.raises(StoreError, match="no time zone"):
        store.ledger.append_decision(decision("d1", created_at=NOW.replace(tzinfo=None)))
    with pytest.raises(StoreUnavailable), store.database.writing() as connection:
        connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert store.ledger.append_decision(decision("d1"))


def test_a_reading_transaction_sees_one_state(store: Store, migrated_postgresql_url: str) -> None:
    """What is committed while something is being read does not show up half-way."""
    count = text("SELECT count(*) FROM deliveries")
    with store.database.reading() as connection:
        assert connection.execute(count).scalar_one() == 0
        with psycopg.connect(migrated_postgresql_url) as other:
            other.execute("INSERT INTO deliveries VALUES ('g1', 'push', now())")
        assert connection.execute(count).scalar_one() == 0
    assert store.jobs.delivery_count() == 1


def test_any_spelling_of_the_url_uses_psycopg(migrated_postgresql_url: str) -> None:
    """A URL with or without a driver's name leads to the same store."""
    with open_store(migrated_postgresql_url.replace("postgresql://", "postgresql+psycopg://")) as store:
        assert store.database.engine.dialect.driver == "psycopg"
