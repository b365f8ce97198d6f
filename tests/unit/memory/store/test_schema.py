"""Opening a store: its directory, its schema, and the errors that say what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from memory.errors import StoreError, StoreUnavailable
from memory.model.jobs import JobState, NewJob
from memory.store import HEAD, Store, open_store
from memory.store.database import connect
from memory.store.tables import holds, metadata
from tests.databases import migrated_store

OPEN_AND_WRITE = """
import sys
from datetime import UTC, datetime
from memory.store import open_store
from memory.model.jobs import NewJob
url, worker = sys.argv[1:]
with open_store(url) as store:
    store.jobs.enqueue([NewJob(id=worker, kind="fix", payload=b"")], now=datetime(2026, 1, 1, tzinfo=UTC))
"""

FORK_AND_WRITE = """
import os, sys
from datetime import UTC, datetime
from memory.store import open_store
from memory.model.jobs import NewJob

def write(name):
    store.jobs.enqueue([NewJob(id=name, kind="fix", payload=b"")], now=datetime(2026, 1, 1, tzinfo=UTC))

with open_store(sys.argv[1]) as store:
    write("before")
    child = os.fork()
    write("parent" if child else "child")
    if child:
        assert os.waitpid(child, 0)[1] == 0
"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, of each kind in turn: here the migrations themselves are tested."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'apprentice.db'}"
    url: str = request.getfixturevalue("postgresql_url")
    return url


def test_head_is_the_newest_revision() -> None:
    """The revision that an opened store must have is the newest that there is, and revisions form one line."""
    config = Config()
    config.set_main_option("script_location", "memory:migrations")
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_the_migrations_make_the_declared_tables(store: Store) -> None:
    """From an empty database to head gives exactly the tables that the code declares."""
    with store.database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == [HEAD]


def test_opening_again_keeps_what_is_there(store: Store, database_url: str, now: datetime) -> None:
    """A store that is opened again has its data, and no migration runs."""
    store.jobs.enqueue([NewJob(id="j", kind="fix", payload=b"")], now=now)
    with open_store(database_url) as again:
        assert again.jobs.counts()[JobState.READY] == 1


@pytest.mark.slow
def test_processes_that_open_at_once_do_not_clash(
    database_url: str, run_together: Callable[[str, list[list[str]]], list[str]]
) -> None:
    """Four processes that open an empty database at the same time all get to work with it."""
    run_together(OPEN_AND_WRITE, [[database_url, f"w{number}"] for number in range(4)])
    with open_store(database_url) as store:
        assert store.jobs.counts()[JobState.READY] == 4


def test_a_newer_schema_is_refused(store: Store, database_url: str) -> None:
    """A database that a later version has migrated is left alone, with one clear line."""
    with store.database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match=r"^the database's schema 9999 is newer than this Apprentice knows \(\d+\)"):
        open_store(database_url)


@pytest.mark.parametrize("revision", ["0001", "0080"])
def test_a_schema_from_before_the_first_is_refused(store: Store, database_url: str, revision: str) -> None:
    """A database that no migration starts from is left alone, with one line that says what to do."""
    with store.database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :old"), {"old": revision})
    with pytest.raises(StoreError, match=f"schema {revision} is older than 0085, .* see Upgrade in deploy/runbook.md"):
        open_store(database_url)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("", "the database URL cannot be read; use sqlite:"),
        ("apprentice.db", "the database URL cannot be read; use sqlite:"),
        ("sqlite://", "SQLite needs a file"),
        ("sqlite:///:memory:", "SQLite needs a file"),
        ("sqlite:///apprentice.db", "SQLite needs a file that every process finds, by its absolute path; use sqlite:"),
        ("sqlite:////dev/null/x/a.db", "cannot create the directory of /dev/null/x/a.db: Not a directory"),
        ("mysql://localhost/a", "databases of kind mysql are not supported; use sqlite:"),
        ("nonsense://localhost/a", "databases of kind nonsense are not supported; use sqlite:"),
        ("postgresql://host:notaport/a", "the database URL cannot be read"),
    ],
)
def test_a_bad_url_is_one_clear_line(url: str, complaint: str) -> None:
    """A URL that cannot work is refused with a single line that says what to do."""
    with pytest.raises(StoreError) as caught:
        open_store(url)
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


def test_a_password_in_a_url_is_not_shown() -> None:
    """The text of an error never holds the password of the URL that it is about."""
    with pytest.raises(StoreError) as caught:
        open_store("postgresql://ada:s3cret@host:notaport/a")
    assert "s3cret" not in str(caught.value)


def test_no_server_is_unavailable(tmp_path: Path) -> None:
    """A PostgreSQL that does not answer is told apart from a wrong URL: it may work later."""
    with pytest.raises(StoreUnavailable, match=r"^the database does not answer: ") as caught:
        open_store(f"postgresql://postgres@/x?host={tmp_path}")
    assert "\n" not in str(caught.value)


def test_what_no_database_does_is_refused(store: Store) -> None:
    """A statement beyond a database's limits fails for good: no caller waits for a better time."""
    with pytest.raises(StoreError, match=r"^the database refused: ") as caught, store.database.reading() as connection:
        connection.execute(text(f"SELECT {'1, ' * 2500} 1"))
    assert not isinstance(caught.value, StoreUnavailable)


def test_a_database_in_use_is_unavailable(tmp_path: Path, now: datetime) -> None:
    """SQLite that another writer holds too long may be free later."""
    with (
        migrated_store(tmp_path / "a.db") as store,
        store.database.writing(),
        pytest.raises(StoreUnavailable, match="database is locked"),
        store.database.reading() as connection,
    ):
        connection.execute(text("PRAGMA busy_timeout = 0"))
        connection.execute(holds.insert(), {"installation_id": 7, "until": now})


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """A file of another kind is refused, and left as it is."""
    path = tmp_path / "notes.txt"
    path.write_text("these are notes, not a database" * 50)
    with pytest.raises(StoreError, match="file is not a database"):
        open_store(f"sqlite:///{path}")
    assert path.read_text().startswith("these are notes")


def test_the_directory_is_made(tmp_path: Path) -> None:
    """A new SQLite file gets its directories, and readers do not block its writer (WAL)."""
    path = tmp_path / "a" / "b" / "apprentice.db"
    with open_store(f"sqlite:///{path}"):
        pass
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_sqlite_keeps_pools_in_the_order_of_their_key(tmp_path: Path) -> None:
    """A choice reads their rows in half the time so."""
    with migrated_store(tmp_path / "apprentice.db"), sqlite3.connect(tmp_path / "apprentice.db") as file:
        ((made_by,),) = file.execute("SELECT sql FROM sqlite_master WHERE name = 'pools'")
    file.close()
    assert "WITHOUT ROWID" in made_by


def test_commits_are_on_disk(tmp_path: Path) -> None:
    """Every SQLite connection syncs its commits, queues for the write lock and checks foreign keys."""
    database = connect(f"sqlite:///{tmp_path / 'a.db'}")
    with database.reading() as connection:
        pragmas = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("synchronous", "foreign_keys", "busy_timeout")
        ]
    database.engine.dispose()
    assert pragmas == [2, 1, 30_000]


def test_a_naive_time_is_refused(store: Store) -> None:
    """A time without a zone is an error, not a guess."""
    with pytest.raises(StoreError, match="has no time zone"):
        store.jobs.enqueue([NewJob(id="j", kind="fix", payload=b"")], now=datetime(2026, 1, 1))  # noqa: DTZ001


def test_a_forked_child_gets_its_own_connection(
    store: Store, database_url: str, run_together: Callable[[str, list[list[str]]], list[str]]
) -> None:
    """After a fork parent and child both go on using the store."""
    run_together(FORK_AND_WRITE, [[database_url]])
    assert store.jobs.counts()[JobState.READY] == 3
