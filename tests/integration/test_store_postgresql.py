"""What only a PostgreSQL store can show; all else is in tests/unit/memory/store, which runs on both databases."""

from __future__ import annotations

import time
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import text

from memory.store import Store, open_store
from memory.store.engine import RESTED_SECONDS


@pytest.fixture
def store(postgresql_url: str) -> Iterator[Store]:
    with open_store(postgresql_url) as opened:
        yield opened


def test_connections_that_the_server_dropped_are_replaced(store: Store, postgresql_url: str) -> None:
    """After the server has ended every connection, as at a restart, a call a moment later works."""
    assert store.inbox.delivery_count() == 0
    with psycopg.connect(postgresql_url, autocommit=True) as admin:
        ended = admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
    assert ended
    time.sleep(RESTED_SECONDS)
    assert store.inbox.delivery_count() == 0


def test_a_reading_transaction_sees_one_state(store: Store, postgresql_url: str) -> None:
    """What is committed while something is being read does not show up half-way."""
    count = text("SELECT count(*) FROM deliveries")
    with store.database.reading() as connection:
        assert connection.execute(count).scalar_one() == 0
        with psycopg.connect(postgresql_url) as other:
            other.execute("INSERT INTO deliveries VALUES ('g1', 'push', now())")
        assert connection.execute(count).scalar_one() == 0
    assert store.inbox.delivery_count() == 1


def test_any_spelling_of_the_url_uses_psycopg(postgresql_url: str) -> None:
    """A URL with or without a driver's name leads to the same store."""
    with open_store(postgresql_url.replace("postgresql://", "postgresql+psycopg://")) as store:
        assert store.database.engine.dialect.driver == "psycopg"
