"""What an operator does with jobs: look, give back, cancel, and keep workers from taking any."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, select, update

from memory.model.jobs import JobState, StoredJob
from memory.store.database import Database, in_batches
from memory.store.documents import Documents
from memory.store.tables import documents, holds, jobs

CANCELLED = "cancelled by the operator"
_QUEUE, _DRAINED = "queue", "drained"
_OPEN = (JobState.READY, JobState.LEASED)


@dataclass(frozen=True, slots=True)
class JobControl:
    """Jobs, for the operator. What changes none returns fewer ids than it was given."""

    database: Database

    def listed(
        self, states: Collection[JobState], *, kind: str = "", repositories: Collection[int] = (), most: int
    ) -> list[StoredJob]:
        """Jobs in these states, the youngest first."""
        query = select(jobs).where(jobs.c.state.in_(states))
        query = query.where(jobs.c.kind == kind) if kind else query
        query = query.where(jobs.c.repository_id.in_(repositories)) if repositories else query
        return stored_jobs(self.database, query.order_by(jobs.c.created_at.desc(), jobs.c.id).limit(most))

    def matching(self, prefix: str) -> list[str]:
        """The ids that begin so, two at most."""
        query = select(jobs.c.id).where(jobs.c.id.startswith(prefix, autoescape=True)).limit(2)
        return self.database.scalars(query)

    def retry(self, ids: Sequence[str], *, now: datetime) -> list[str]:
        """Give failed and dead jobs back, with all their attempts before them, and put off ones forward; returns which."""
        fresh = {"state": JobState.READY, "attempts": 0, "abandoned": 0, "reason": "", "run_after": now, "waits": 0}
        states = (JobState.FAILED, JobState.DEAD, JobState.READY)
        return self._change(ids, states, **fresh, sent_at=None, ended_at=None, lease_until=None, waiting_since=None)

    def cancel(self, ids: Sequence[str], *, now: datetime) -> list[str]:
        """End open jobs as failed; returns which. The worker of a leased one finds its lease gone, and records nothing."""
        return self._change(ids, _OPEN, state=JobState.FAILED, ended_at=now, lease_until=None, reason=CANCELLED)

    def release(self, installation_id: int, *, now: datetime) -> None:
        """Let the jobs of an installation go on that wait for it."""
        waiting = (jobs.c.installation_id == installation_id) & jobs.c.waiting_since.is_not(None)
        with self.database.writing() as connection:
            connection.execute(delete(holds).where(holds.c.installation_id == installation_id))
            connection.execute(update(jobs).where(waiting, jobs.c.state == JobState.READY).values(run_after=now))

    def _change(self, ids: Sequence[str], states: Collection[JobState], **values: object) -> list[str]:
        done: list[str] = []
        with self.database.writing() as connection:
            for batch in in_batches(sorted(ids)):
                wanted = jobs.c.id.in_(batch) & jobs.c.state.in_(states)
                changing = update(jobs).where(wanted).values(token=jobs.c.token + 1, **values).returning(jobs.c.id)
                done += connection.execute(changing).scalars()
        return done

    def drain(self, *, now: datetime) -> bool:
        """Let workers take no more jobs; False where that is so already."""
        return Documents(self.database, _QUEUE).add(_DRAINED, {}, now=now)

    def resume(self) -> bool:
        """Let workers take jobs again; False where they may already."""
        return self.database.change(delete(documents).where(_drained())) == 1

    def drained_since(self) -> datetime | None:
        """Since when workers take no jobs; None where they do."""
        return next(iter(self.database.scalars(select(documents.c.created_at).where(_drained()))), None)


def stored_jobs(database: Database, query: Select[*tuple[Any, ...]]) -> list[StoredJob]:
    """The jobs whose rows a query selects."""
    names = [each.name for each in fields(StoredJob)]
    rows = [row._mapping for row in database.rows(query)]
    return [StoredJob(**{name: row[name] for name in names} | {"state": JobState(row["state"])}) for row in rows]


def is_drained(connection: Connection) -> bool:
    """Whether workers may take no jobs."""
    return connection.execute(select(documents.c.key).where(_drained())).first() is not None


def _drained() -> ColumnElement[bool]:
    return (documents.c.kind == _QUEUE) & (documents.c.key == _DRAINED)
