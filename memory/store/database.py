"""Connections, transactions, column types and stored JSON: the one way to read the database and the one way to write it.

SQLite runs in WAL mode with `synchronous=FULL`: a webhook is answered 202 on the strength of its commit, and an effect on
GitHub that a power cut erases would be made twice. Callers that need more commits a second put several values into one call.
"""

import json
import os
import sqlite3
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import msgspec
from sqlalchemy import (
    URL,
    Column,
    Connection,
    CursorResult,
    DateTime,
    Delete,
    Dialect,
    Engine,
    Executable,
    Select,
    Table,
    Text,
    Update,
    create_engine,
    event,
    make_url,
    select,
    text,
)
from sqlalchemy import Row as ResultRow
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, InterfaceError, OperationalError, StatementError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.pool import ConnectionPoolEntry, Pool
from sqlalchemy.types import TypeDecorator

from memory.errors import StoreError, StoreUnavailable
from memory.measures import DATABASE

BUSY_SECONDS = 30.0
USE = "use sqlite:////absolute/path.db or postgresql://host/name, with user:password@ before the host"
_WRITE = "apprentice_write"
_MAY_PASS_IN_SQLITE = tuple(f"SQLITE_{name}" for name in ("BUSY", "LOCKED", "FULL", "IOERR", "PROTOCOL"))
_MAY_PASS_IN_POSTGRESQL = ("08", "25006", "40", "53", "55", "57", "58")
"""SQLSTATE: connection, a standby that is read-only, deadlock, no room, in use, operator, and the system below."""

_NO_PRIVILEGE = "42501"

_REFUSED_BY_SQLITE = ("SQLITE_AUTH", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_READONLY")
_REFUSED_BY_POSTGRESQL = ("authentication failed", "does not exist", "no pg_hba.conf entry", "no password supplied")

Item = TypeVar("Item")
Columns = TypeVarTuple("Columns")
Noun = TypeVar("Noun")
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Database:
    """An engine with two kinds of transaction."""

    engine: Engine

    @property
    def commits_at_once(self) -> int:
        """SQLite lets one writer in at a time; of PostgreSQL's, one prepares while the other waits for the disk."""
        return 2 if self.engine.dialect.name == "postgresql" else 1

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database and changes nothing."""
        with _translated(), DATABASE.timed(kind="read"), self.engine.connect() as connection:
            if connection.dialect.name == "postgresql":  # whose default shows each statement another state
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    def rows(self, query: Select[*Columns]) -> Sequence[ResultRow[*Columns]]:
        """What a query selects."""
        with self.reading() as connection:
            return connection.execute(query).all()

    def scalars(self, query: Select[Item]) -> list[Item]:
        """The values of the one column that a query selects."""
        return [value for (value,) in self.rows(query)]

    def nouns(self, kind: type[Noun], query: Select[str]) -> list[Noun]:
        """Those whose bodies a query selects."""
        return [load(kind, body) for body in self.scalars(query)]

    def noun(self, kind: type[Noun], query: Select[str]) -> Noun | None:
        """The first of those; None without any."""
        return next(iter(self.nouns(kind, query)), None)

    def insert(self, table: Table, row: Row) -> bool:
        """Insert `row` unless a unique key of it is taken; says whether it was inserted."""
        with self.writing() as connection:
            return insert_new(connection, table, row)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that commits at the end, or not at all. On SQLite writers queue up for it at its start."""
        with _translated(), DATABASE.timed(kind="write"), self.engine.connect() as connection:
            connection.execution_options(**{_WRITE: True})
            with connection.begin():
                yield connection

    def change(self, statement: Update | Delete) -> int:
        """Execute one UPDATE or DELETE; returns how many rows it touched."""
        with self.writing() as connection:
            return changed(connection, statement)


def connect(url: str) -> Database:
    """The database at `url`; raises StoreError with one clear line for a URL that cannot work."""
    parsed = _parse(url)
    if parsed.get_backend_name() == "sqlite":
        return Database(_sqlite(parsed))
    try:  # pre-ping replaces connections that the server or the network dropped
        engine = create_engine(parsed.set(drivername="postgresql+psycopg"), pool_use_lifo=True, pool_pre_ping=True)
    except ImportError as error:
        raise StoreError("PostgreSQL needs its driver: install Apprentice with the extra postgresql") from error
    _start_afresh_after_fork(engine)
    return Database(engine)


# ── Statements ─────────────────────────────────────────────────────────────────────────────────────────────────────


def insert_new(connection: Connection, table: Table, row: Row) -> bool:
    """Insert `row` unless a unique key of it is taken; says whether it was inserted."""
    return len(insert_several(connection, table, [row])) == 1


def insert_several(connection: Connection, table: Table, rows: Iterable[Row]) -> list[str]:
    """Insert the rows of which no unique key is taken, in the order of their keys; gives the first column of each new key."""
    in_lock_order = sorted(rows, key=itemgetter(*table.primary_key.columns.keys()))
    statement = _inserting_new(connection.dialect.name, table)
    return list(connection.execute(statement, in_lock_order).scalars()) if in_lock_order else []


@cache
def _inserting_new(dialect: str, table: Table) -> Executable:
    """An INSERT of rows of which no unique key is taken, which gives their keys; made once, as making it takes long."""
    insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
    return insert(table).on_conflict_do_nothing().returning(*table.primary_key)


def dialect_insert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that knows ON CONFLICT; both dialects write it alike."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def changed(connection: Connection, statement: Update | Delete) -> int:
    """Execute an UPDATE or DELETE; returns how many rows it touched."""
    result = connection.execute(statement)
    assert isinstance(result, CursorResult)
    return result.rowcount


def queue_for(connection: Connection, lock_id: int) -> None:
    """Wait for other writers with this lock to commit. On SQLite the write transaction itself is the lock."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:id)"), {"id": lock_id})


def in_batches(items: Iterable[Item], size: int = 1000) -> Iterator[list[Item]]:
    """Lists of at most `size`: a statement takes only so many parameters."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def known_among(connection: Connection, ids: Iterable[str], column: Column[str]) -> set[str]:
    """Those of some ids that a column holds."""
    known: set[str] = set()
    for batch in in_batches(sorted(set(ids))):
        known.update(connection.execute(select(column).where(column.in_(batch))).scalars())
    return known


def row_of(table: Table, noun: object, **given: object) -> Row:
    """`noun` as a row: the columns that are named like its attributes, its JSON where there is a `body`, and those given."""
    names = _names(table) - given.keys()
    if "body" in names:
        given["body"] = dump(noun)
    return {name: getattr(noun, name) for name in names - {"body"} if hasattr(noun, name)} | given


@cache
def _names(table: Table) -> frozenset[str]:
    return frozenset(table.columns.keys())


# ── Values in columns ────────────────────────────────────────────────────────────────────────────────────────


def dump(noun: object) -> str:
    """`noun`, a frozen value of memory.model or a plain JSON value, as JSON text.

    The text is pure ASCII: NUL and lone surrogates, which occur in test output, come back unchanged on every database.
    """
    return json.dumps(msgspec.to_builtins(noun), separators=(",", ":"))


def load(kind: type[Noun], body: str) -> Noun:
    """The noun that `dump` turned into `body`."""
    try:
        return msgspec.convert(json.loads(body), kind)
    except (ValueError, msgspec.ValidationError) as error:
        raise StoreError(f"a stored {kind.__name__} cannot be read: {error}") from error


def readable(text_from_outside: str) -> str:
    """Text with U+FFFD for NUL, which PostgreSQL refuses, and for lone surrogates."""
    clean = text_from_outside.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return clean.replace("\0", "\ufffd")


class UtcDateTime(TypeDecorator[datetime]):
    """Aware UTC in, aware UTC out. SQLite keeps no offset: its values are UTC without one."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise StoreError(f"{value.isoformat()} has no time zone; give aware times only")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  # SQLAlchemy's signature
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class FreeText(TypeDecorator[str]):
    """Text from outside, made `readable` in SQL."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002  # SQLAlchemy's signature
        return None if value is None else readable(value)


# ── Connections ────────────────────────────────────────────────────────────────────────────────────────────────────


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        # Without the URL: one that cannot be parsed cannot have its password removed.
        raise StoreError("the database URL cannot be read; " + USE) from error
    if parsed.get_backend_name() not in {"sqlite", "postgresql"}:
        raise StoreError(f"databases of kind {parsed.drivername} are not supported; {USE}")
    return parsed


def _sqlite(url: URL) -> Engine:
    if not url.database or not Path(url.database).is_absolute():
        raise StoreError(f"SQLite needs a file that every process finds, by its absolute path; {USE}")
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
    connection.execute(
        "PRAGMA wal_autocheckpoint=4000"
    )  # 16 MB: rows with random keys touch a page each, again and again
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA recursive_triggers=ON")  # else REPLACE deletes ledger rows behind the triggers' back


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
    """A connection must not be used, nor closed, on both sides of a fork: a child leaves it alone and opens its own."""
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
    """Turn SQLAlchemy's errors into ours: no caller outside this package knows SQLAlchemy."""
    try:
        yield
    except (PoolExhausted, StatementError) as error:
        if _may_pass(error):
            raise StoreUnavailable(f"the database does not answer: {_first_line(error)}") from error
        advice = "; its user must own the database and the tables" if _sqlstate(error) == _NO_PRIVILEGE else ""
        raise StoreError(f"the database refused: {_first_line(error)}{advice}") from error


def _may_pass(error: PoolExhausted | StatementError) -> bool:
    """Whether the same call may work later, by the driver's code; one without a code came over no connection.

    What SQLite refuses for a file's mode or place may be set right, so it counts as well: see `is_lasting`.
    """
    if isinstance(error, PoolExhausted):
        return True
    if isinstance(error.orig, sqlite3.Error):
        return getattr(error.orig, "sqlite_errorname", "").startswith(_MAY_PASS_IN_SQLITE + _REFUSED_BY_SQLITE)
    code = _sqlstate(error)
    return code.startswith(_MAY_PASS_IN_POSTGRESQL) if code else isinstance(error, InterfaceError | OperationalError)


def _sqlstate(error: PoolExhausted | StatementError) -> str:
    """PostgreSQL's code; empty where there is none."""
    return getattr(error.orig, "sqlstate", None) or "" if isinstance(error, StatementError) else ""


def is_lasting(error: StoreUnavailable) -> bool:
    """Whether a database answers, or its file is there, and refuses us: waiting does not help, a setting is wrong.

    Over a connection that was refused the driver has no code of PostgreSQL's, so its words count; where a server speaks
    another language, the error counts as temporary.
    """
    cause = error.__cause__.orig if isinstance(error.__cause__, StatementError) else None
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorname", "").startswith(_REFUSED_BY_SQLITE)
    return any(words in str(cause) for words in _REFUSED_BY_POSTGRESQL)


def _first_line(error: Exception) -> str:
    cause = error.orig if isinstance(error, StatementError) else error
    return str(cause).strip().partition("\n")[0]
