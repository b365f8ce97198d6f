"""Which processes are alive, and what time it is, by the database: the clocks of several hosts differ."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, func, select

from memory.errors import StoreError
from memory.store.database import Database, dialect_insert
from memory.store.tables import heartbeats

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
        with self.database.reading() as connection:
            found = connection.execute(query.group_by(heartbeats.c.kind)).all()
        return {kind: (at, until) for kind, at, until in found}

    def alive(self, now: datetime) -> dict[str, int]:
        """Of each kind how many processes count as alive."""
        query = select(heartbeats.c.kind, func.count()).where(heartbeats.c.until >= now).group_by(heartbeats.c.kind)
        with self.database.reading() as connection:
            return dict(connection.execute(query).all())
