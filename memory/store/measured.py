"""The sums of what all processes measured: one row for each series, so that a scrape reads a small table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, func, or_, select, text

from memory.errors import StoreError
from memory.measures import Labels, UnstoredMeasures, unstored
from memory.store.database import Database, Row, dialect_insert
from memory.store.tables import measures, metadata

FORGOTTEN_AFTER = timedelta(days=1)
"""So late that no other process stores the same row again at that moment: each would wait for the other's lock."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured. Counts of a process that is killed since it last stored its own are lost."""

    database: Database

    def store(self, now: datetime, own: UnstoredMeasures = unstored) -> None:
        """Add what this process measured, and remove what does not count any more. Raises StoreError, and keeps it then."""
        added, latest = own.take()
        try:
            self._write(now, added, {key: (each.value, each.until) for key, each in latest.items()})
        except StoreError:
            own.give_back(added, latest)
            raise

    def _write(
        self,
        now: datetime,
        added: Mapping[tuple[str, Labels], float],
        latest: Mapping[tuple[str, Labels], tuple[float, datetime | None]],
    ) -> None:
        with self.database.writing() as connection:
            insert = dialect_insert(connection, measures)
            old = {"value": measures.c.value + insert.excluded.value}
            new = {"value": insert.excluded.value, "until": insert.excluded.until}
            for rows, values in (
                (_rows((key, (amount, None)) for key, amount in added.items()), old),
                (_rows(latest.items()), new),
            ):
                if rows:
                    key = list(measures.primary_key)
                    connection.execute(insert.on_conflict_do_update(index_elements=key, set_=values), rows)
            connection.execute(delete(measures).where(measures.c.until < now - FORGOTTEN_AFTER))

    def all(self, now: datetime) -> list[tuple[str, Labels, float]]:
        """Measure, values of its labels, and value, of all that counts now."""
        query = select(measures.c.name, measures.c.labels, measures.c.value)
        query = query.where(or_(measures.c.until.is_(None), measures.c.until >= now))
        with self.database.reading() as connection:
            found = connection.execute(query.order_by(measures.c.name, measures.c.labels)).all()
        return [(name, tuple(json.loads(labels)), value) for name, labels, value in found]

    def table_rows(self) -> dict[str, int]:
        """The rows of each table: counted on SQLite, estimated by PostgreSQL."""
        with self.database.reading() as connection:
            if connection.dialect.name == "postgresql":
                query = text("SELECT relname, reltuples FROM pg_class WHERE relkind = 'r' AND relname = ANY(:names)")
                found = connection.execute(query, {"names": list(metadata.tables)}).all()
                return {name: max(0, int(rows)) for name, rows in found}
            return {
                name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                for name, table in metadata.tables.items()
            }

    def size(self) -> int:
        """Bytes of the database."""
        with self.database.reading() as connection:
            if connection.dialect.name == "postgresql":
                return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
            pages, size = (connection.execute(text(f"PRAGMA {of}")).scalar_one() for of in ("page_count", "page_size"))
            return int(pages * size)


def _rows(series: Iterable[tuple[tuple[str, Labels], tuple[float, datetime | None]]]) -> list[Row]:
    """In the order of their keys: two processes that store at once cannot lock each other."""
    rows: list[Row] = [
        {"name": name, "labels": json.dumps(labels), "value": value, "until": until}
        for (name, labels), (value, until) in series
    ]
    return sorted(rows, key=lambda row: (str(row["name"]), str(row["labels"])))
