"""Inserts many rows in one statement, which the database executes while other threads of this process run."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import chain
from typing import Any

import msgspec
from sqlalchemy import Connection, CursorResult, LargeBinary, Table
from sqlalchemy.dialects import postgresql

from memory.store.database import Row, UtcDateTime, in_batches

MAX_ROWS = 1000
"""In a statement: SQLite takes 32,766 parameters."""


class BulkInsert:
    """Inserts rows with values for the columns `names`, and in all rows the values of `same`, where no unique key is taken."""

    def __init__(self, table: Table, names: Sequence[str], same: Row | None = None) -> None:
        self._names = names
        self._times = {place for place, name in enumerate(names) if isinstance(table.c[name].type, UtcDateTime)}
        constants = tuple(str(value) if isinstance(value, str) else value for value in (same or {}).values())
        self._into = f"INSERT INTO {table.name} ({', '.join((*names, *(same or {})))})"
        self._row = f"({', '.join(('?',) * len(names) + tuple(map(repr, constants)))})"
        self._from_json = _from_json(table, names, constants)

    def insert(self, connection: Connection, rows: Iterable[tuple[object, ...]]) -> None:
        """Insert these, of which there may be very many."""
        for batch in in_batches(rows, MAX_ROWS):
            self._execute(connection, batch, "")

    def insert_new(self, connection: Connection, rows: Sequence[tuple[object, ...]]) -> set[str]:
        """Insert these; the ids of those that were not there."""
        results = (self._execute(connection, batch, " RETURNING id") for batch in in_batches(rows, MAX_ROWS))
        return {row[0] for result in results for row in result}

    def _execute(self, connection: Connection, rows: Sequence[tuple[object, ...]], ending: str) -> CursorResult[Any]:
        given: list[object]
        stamped = _stamped(connection, rows, self._times)
        if connection.dialect.name == "postgresql":
            objects = [dict(zip(self._names, row, strict=True)) for row in stamped]
            source, given = self._from_json, [msgspec.json.encode(objects).decode()]
        else:
            source, given = f"VALUES {', '.join([self._row] * len(rows))}", [*chain.from_iterable(stamped)]
        return connection.exec_driver_sql(f"{self._into} {source} ON CONFLICT DO NOTHING{ending}", tuple(given))


def _stamped(
    connection: Connection, rows: Sequence[tuple[object, ...]], times: set[int]
) -> Iterator[tuple[object, ...]]:
    """The rows with their times as SQLite keeps them, and as PostgreSQL reads them."""

    @cache  # many rows have the same time
    def stamp(time: object) -> str:
        assert isinstance(time, datetime)
        stored = UtcDateTime().process_bind_param(time, connection.dialect) or time
        return stored.isoformat(" ", "microseconds")

    columns = zip(*rows, strict=True)
    return zip(*(map(stamp, column) if at in times else column for at, column in enumerate(columns)), strict=True)


def _from_json(table: Table, names: Sequence[str], constants: Sequence[object]) -> str:
    """PostgreSQL takes one JSON text apart sooner than its driver binds as many parameters."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # as SQLAlchemy has it
    binary = {name for name in names if isinstance(table.c[name].type, LargeBinary)}
    given = ", ".join(f"{name} {'text' if name in binary else table.c[name].type.compile(dialect)}" for name in names)
    values = [f"decode({name}, 'base64')" if name in binary else name for name in names] + [*map(repr, constants)]
    return f"SELECT {', '.join(values)} FROM json_to_recordset(CAST(%s AS json)) AS given({given})"  # noqa: S608  # our own names
