"""What processes share through the database: which are alive, what time it is, and the sums of what all measured.

The clocks of several hosts differ, so the database's counts. A series is one row, so a scrape reads a small table.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, false, func, or_, select, text

from memory.errors import StoreError
from memory.measures import Labels, UnstoredMeasures, unstored
from memory.store.database import Database, Row, dialect_insert
from memory.store.tables import heartbeats, measures, metadata

READ_AGAIN_SECONDS = 60.0
KEPT = timedelta(days=1)
"""How long a process that is gone is remembered."""


class DatabaseClock:
    """The time of the database. Only the first call waits for it: later ones have it read again beside them, once a minute.

    In between it goes on by this machine's monotonic clock, which does not jump. SQLite has no clock but this machine's.
    """

    def __init__(self, database: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._monotonic = monotonic
        self._read: tuple[datetime, float] | None = None
        self._tried = 0.0

    def __call__(self) -> datetime:
        if self._database.engine.dialect.name == "sqlite":
            return datetime.now(UTC)
        at, since = self._read or self.refresh()
        passed = self._monotonic()
        if passed - max(since, self._tried) > READ_AGAIN_SECONDS:
            self._tried = passed
            threading.Thread(target=self._try_to_refresh, name="database-clock", daemon=True).start()
        return at + timedelta(seconds=passed - since)

    def _try_to_refresh(self) -> None:
        with suppress(StoreError):  # who works with the database finds out as well
            self.refresh()

    def refresh(self) -> tuple[datetime, float]:
        """Ask the database for the time; raises StoreUnavailable where it does not answer."""
        if self._database.engine.dialect.name == "sqlite":
            return datetime.now(UTC), self._monotonic()
        with self._database.reading() as connection:
            connection.execute(select(1))  # connecting takes time that is not between question and answer
            before = self._monotonic()
            at = connection.execute(select(func.clock_timestamp())).scalar_one()
            self._read = at.astimezone(UTC), (before + self._monotonic()) / 2
        return self._read

    def ahead(self) -> timedelta:
        """How far this machine's clock is ahead of the database's."""
        self.refresh()
        return datetime.now(UTC) - self()


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """The processes of the App. Each says until when it counts as alive without another heartbeat."""

    database: Database

    def check(self) -> None:
        """Raise StoreError where nothing can be written."""
        with self.database.writing() as connection:
            connection.execute(delete(heartbeats).where(false()))

    def beat(self, kind: str, process: str, *, now: datetime, until: datetime) -> None:
        """This process is alive. Forgets those that are long gone. Raises StoreError where nothing can be written."""
        values = {"kind": kind, "at": now, "until": until}
        with self.database.writing() as connection:
            new = dialect_insert(connection, heartbeats).values(process=process, **values)
            connection.execute(new.on_conflict_do_update(index_elements=["process"], set_=values))
            connection.execute(delete(heartbeats).where(heartbeats.c.until < now - KEPT))

    def last(self) -> dict[str, tuple[datetime, datetime]]:
        """Of each kind of process the latest heartbeat, and until when one of them counts as alive."""
        query = select(heartbeats.c.kind, func.max(heartbeats.c.at), func.max(heartbeats.c.until))
        return {kind: (at, until) for kind, at, until in self.database.rows(query.group_by(heartbeats.c.kind))}

    def alive(self, now: datetime) -> dict[str, int]:
        """Of each kind how many processes count as alive."""
        query = select(heartbeats.c.kind, func.count()).where(heartbeats.c.until >= now).group_by(heartbeats.c.kind)
        return dict(self.database.rows(query))


FORGOTTEN_AFTER = timedelta(days=1)
"""So late that no other process stores the same row again at that moment: each would wait for the other's lock."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured. Counts of a process that is killed since it last stored its own are lost."""

    database: Database

    def store(self, now: datetime, own: UnstoredMeasures = unstored) -> None:
        """Add what this process measured, and remove what does not count any more. Raises StoreError, and keeps it then."""
        added, latest = own.take()
        sums = _rows((key, (amount, None)) for key, amount in added.items())
        values = _rows((key, (each.value, each.until)) for key, each in latest.items())
        try:
            with self.database.writing() as connection:
                insert = dialect_insert(connection, measures)
                added_up = {"value": measures.c.value + insert.excluded.value}
                replaced = {"value": insert.excluded.value, "until": insert.excluded.until}
                for rows, changes in ((sums, added_up), (values, replaced)):
                    if rows:
                        key = list(measures.primary_key)
                        connection.execute(insert.on_conflict_do_update(index_elements=key, set_=changes), rows)
                connection.execute(delete(measures).where(measures.c.until < now - FORGOTTEN_AFTER))
        except StoreError:
            own.give_back(added, latest)
            raise

    def all(self, now: datetime) -> list[tuple[str, Labels, float]]:
        """Measure, values of its labels, and value, of all that counts now."""
        query = select(measures.c.name, measures.c.labels, measures.c.value)
        query = query.where(or_(measures.c.until.is_(None), measures.c.until >= now))
        found = self.database.rows(query.order_by(measures.c.name, measures.c.labels))
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
