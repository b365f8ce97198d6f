"""One database behind one door: how we connect, and what a transaction is.

SQLite runs in WAL mode with `synchronous=FULL` throughout. FULL because a webhook is answered 202 on the strength of its
commit, and because an effect on GitHub that a power cut makes us forget would be made twice; both live in the one file
that everything else shares. Callers that need more commits a second put several values into one call.
"""

from __future__ import annotations

import os
import select
import sqlite3
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import psycopg
from sqlalchemy import (
    URL,
    Connection,
    CursorResult,
    Delete,
    Engine,
    Table,
    Update,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DisconnectionError, InterfaceError, OperationalError, StatementError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.pool import ConnectionPoolEntry, Pool, PoolProxiedConnection

from memory.errors import StoreError, StoreUnavailable
from memory.store import direct
from memory.store.direct import Rows, Statement

BUSY_SECONDS = 30.0
RESTED_SECONDS = 30.0
USE = "use sqlite:////absolute/path.db or postgresql://user:password@host/name"
_WRITE = "apprentice_write"
_NO_ANSWER = (OperationalError, InterfaceError, PoolExhausted, psycopg.OperationalError, psycopg.InterfaceError)

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Database:
    """An engine with two kinds of transaction."""

    engine: Engine

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database and changes nothing."""
        with _translated(), self.engine.connect() as connection:
            if connection.dialect.name == "postgresql":  # whose default shows each statement another state
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    @contextmanager
    def glancing(self) -> Iterator[Connection]:
        """For a statement that reads: it sees one state of the database without a transaction around it."""
        with _translated(), self.engine.connect() as connection:
            if connection.dialect.name == "postgresql":  # saves two messages each way
                connection.execution_options(isolation_level="AUTOCOMMIT")
            yield connection

    def glance(self, statement: Statement, values: Mapping[str, object]) -> Rows:
        """The rows of one statement that reads, by the shortest way; `values` names all of its parameters."""
        if self.engine.dialect.name == "postgresql":
            with _translated():
                return direct.rows(self.engine, statement, values)
        with self.glancing() as connection:
            return connection.execute(statement, values).fetchall()

    def note(self, statement: Statement, values: Mapping[str, object]) -> Rows:
        """Execute one statement that writes, by the shortest way; `values` names all of its parameters. The rows it returns."""
        if self.engine.dialect.name == "postgresql":
            with _translated():
                return direct.rows(self.engine, statement, values)
        with self.writing() as connection:
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that commits at the end, or not at all. On SQLite writers queue up for it at its start."""
        with _translated(), self.engine.connect() as connection:
            connection.execution_options(**{_WRITE: True})
            with connection.begin():
                yield connection


def connect(url: str) -> Database:
    """The database at `url`; raises StoreError with one clear line for a URL that cannot work."""
    parsed = _parse(url)
    if parsed.get_backend_name() == "sqlite":
        return Database(_sqlite(parsed))
    engine = create_engine(parsed.set(drivername="postgresql+psycopg"), pool_use_lifo=True)
    event.listen(engine, "checkin", _note_rest)
    event.listen(engine, "checkout", _ping_rested)
    _start_afresh_after_fork(engine)
    return Database(engine)


def insert_new(connection: Connection, table: Table, row: dict[str, object]) -> bool:
    """Insert `row` unless a unique key of it is taken; tells whether it was inserted."""
    statement = dialect_insert(connection, table).on_conflict_do_nothing().returning(*table.primary_key)
    return connection.execute(statement.values(row)).first() is not None


def dialect_insert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that knows ON CONFLICT; both dialects write it alike."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def insert_bare(connection: Connection, table: Table, rows: Iterable[tuple[str | int | float, ...]]) -> None:
    """Insert very many rows, given in the order of the table's columns as we declare it, none of which may be there."""
    columns = ", ".join(column.name for column in table.columns)
    if connection.dialect.name == "postgresql":
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        with driver.cursor() as cursor, cursor.copy(f"COPY {table.name} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return
    places = ", ".join("?" for _ in table.columns)
    for batch in in_batches(rows, 10_000):
        connection.exec_driver_sql(f"INSERT INTO {table.name} ({columns}) VALUES ({places})", batch)  # noqa: S608  our own name


def changed(connection: Connection, statement: Update | Delete) -> int:
    """Execute an UPDATE or DELETE; returns how many rows it touched."""
    result = connection.execute(statement)
    assert isinstance(result, CursorResult)
    return result.rowcount


def in_batches(items: Iterable[Item], size: int = 1000) -> Iterator[list[Item]]:
    """Lists of at most `size`: a statement takes only so many parameters."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        # Without the URL: one that cannot be taken apart cannot have its password removed.
        raise StoreError("the database URL cannot be read; " + USE) from error
    if parsed.get_backend_name() not in {"sqlite", "postgresql"}:
        raise StoreError(f"databases of kind {parsed.drivername} are not supported; {USE}")
    return parsed


def _sqlite(url: URL) -> Engine:
    if not url.database or url.database.startswith((":memory:", "file:")):
        raise StoreError(f"SQLite needs a plain file that processes can share; {USE}")
    try:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot create the directory of {url.database}: {error.strerror}") from error
    engine = create_engine(url.set(drivername="sqlite+pysqlite"), connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    _start_afresh_after_fork(engine)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # the driver's own BEGIN comes too late and cannot be IMMEDIATE
    _switch_to_wal(connection)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA recursive_triggers=ON")  # else REPLACE deletes ledger rows behind the triggers' back


def _note_rest(_connection: psycopg.Connection | None, entry: ConnectionPoolEntry) -> None:
    entry.info["rests_since"] = time.monotonic()


def _ping_rested(connection: psycopg.Connection, entry: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:
    """Replace a connection that is dead, as after a restart of the server.

    A server that ends a connection leaves word in it, and nothing else arrives there unasked. One that has rested long is
    asked as well, as what stands between us and the server may have let it drop without a word.
    """
    if _has_word(connection):
        raise DisconnectionError
    if time.monotonic() - entry.info.get("rests_since", time.monotonic()) < RESTED_SECONDS:
        return
    try:
        connection.execute("SELECT 1")
        connection.rollback()
    except psycopg.OperationalError as error:
        raise DisconnectionError from error


def _has_word(connection: psycopg.Connection) -> bool:
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Ask until granted: SQLite does not wait for the lock that changing the mode takes."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    """Take the write lock at once: a transaction that reads first and writes later would fail, not wait."""
    writes = connection.get_execution_options().get(_WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _start_afresh_after_fork(engine: Engine) -> None:
    """A connection must not be used, nor closed, on both sides of a fork: a child lets it be and opens its own."""
    watched = weakref.ref(engine)
    inherited: list[Pool] = []

    def in_child() -> None:
        forked = watched()
        if forked is not None:
            inherited.append(forked.pool)
            forked.dispose(close=False)

    os.register_at_fork(after_in_child=in_child)


@contextmanager
def _translated() -> Iterator[None]:
    """Database errors as ours: nobody outside this package knows SQLAlchemy."""
    try:
        yield
    except _NO_ANSWER as error:
        raise StoreUnavailable(f"the database does not answer: {_first_line(error)}") from error
    except (StatementError, psycopg.Error) as error:
        raise StoreError(f"the database refused: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    cause = error.orig if isinstance(error, StatementError) else error
    return str(cause).strip().partition("\n")[0]
