"""What keeps the tables of work small: old rows are pruned; and what there is in them."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Table, and_, delete, exists, func, or_, select, text

from memory.errors import StoreError
from memory.model.jobs import JobState
from memory.store.database import Database
from memory.store.tables import deliveries, effects, jobs

LAST_HEAD = "track"
"""The kind of job that says which head a pull request has: a command in a comment is about the latest one that is known."""

_BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long rows are kept: deliveries after their arrival, jobs after their end, effects after they were begun."""

    deliveries: timedelta
    jobs: timedelta
    effects: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedRows:
    deliveries: int
    jobs: int
    effects: int

    def reached(self, most: int) -> bool:
        """Whether there may be more to prune."""
        return max(self.deliveries, self.jobs, self.effects) >= most


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Pruning and counting. Several processes may do it at the same time."""

    database: Database

    def server(self) -> str:
        """What the database is, with its version."""
        if self.database.engine.dialect.name == "sqlite":
            return f"SQLite {sqlite3.sqlite_version}"
        with self.database.reading() as connection:
            return f"PostgreSQL {connection.execute(text('SHOW server_version')).scalar_one()}"

    def damage(self) -> str:
        """What SQLite finds damaged in the file; empty where it finds nothing. PostgreSQL has tools of its own for that."""
        if self.database.engine.dialect.name != "sqlite":
            return ""
        try:
            with self.database.reading() as connection:
                found: str = connection.execute(text("PRAGMA quick_check(1)")).scalars().first() or ""
        except StoreError as error:
            return str(error)
        return "" if found == "ok" else found

    def prune(self, keep: Retention, *, now: datetime, most: int | None = None) -> PrunedRows:
        """Remove what is older, of each kind at most `most` rows, in short transactions."""
        done_with = or_(_is_not_last_head(), jobs.c.ended_at < now - keep.effects)
        old_jobs = and_(jobs.c.ended_at < now - keep.jobs, done_with)
        unused = ~exists().where(jobs.c.delivery_id == deliveries.c.id)
        old_deliveries = and_(deliveries.c.received_at < now - keep.deliveries, unused)
        return PrunedRows(
            jobs=self._remove(jobs, old_jobs, most),
            deliveries=self._remove(deliveries, old_deliveries, most),
            effects=self._remove(effects, effects.c.begun_at < now - keep.effects, most),
        )

    def _remove(self, table: Table, old: ColumnElement[bool], most: int | None) -> int:
        (key,), removed = table.primary_key, 0
        while most is None or removed < most:
            size = _BATCH if most is None else min(_BATCH, most - removed)
            gone = self.database.change(delete(table).where(key.in_(select(key).where(old).limit(size))))
            removed += gone
            if gone < size:
                break
        return removed

    def expired_leases(self, now: datetime) -> int:
        """How many jobs were left by a worker that no longer renews its lease, and no other worker has them yet."""
        left = (jobs.c.state == JobState.LEASED, jobs.c.lease_until <= now)
        return self.database.scalars(select(func.count()).select_from(jobs).where(*left))[0]


def _is_not_last_head() -> ColumnElement[bool]:
    """A later job of the kind knows a later head of the same pull request, or the job is of another kind."""
    later = jobs.alias("later")
    same = and_(
        later.c.kind == LAST_HEAD,
        later.c.repository_id == jobs.c.repository_id,
        later.c.number == jobs.c.number,
        later.c.created_at > jobs.c.created_at,
    )
    return or_(jobs.c.kind != LAST_HEAD, exists().where(same))
