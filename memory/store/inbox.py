"""Deliveries and jobs. The database is the truth about what is to be done; the queue only carries hints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Update, and_, func, or_, select, update

from memory.store import effects
from memory.store.engine import Database, changed, in_batches, insert_new
from memory.store.jobs import Delivery, Effect, EffectState, JobState, LeasedJob, NewJob, StoredJob
from memory.store.tables import deliveries, jobs

MAX_ABANDONED = 5
"""A job whose worker fell silent this often in a row is dead: it probably kills its workers."""


@dataclass(frozen=True, slots=True)
class Inbox:
    """What came in, what follows from it, and who is on it.

    Methods that take a LeasedJob change nothing and return False when its lease has gone to another worker.
    """

    database: Database

    def record_delivery(
        self, *, delivery_id: str, event: str, received_at: datetime, jobs: Sequence[NewJob] = ()
    ) -> bool:
        """Store a delivery with its jobs; False, and nothing stored, when it is known. Durable on return."""
        delivery = Delivery(id=delivery_id, event=event, received_at=received_at, jobs=tuple(jobs))
        return self.record_deliveries([delivery])[0]

    def record_deliveries(self, batch: Sequence[Delivery]) -> list[bool]:
        """The same for several, in one commit: all are stored or none is."""
        with self.database.writing() as connection:
            return [_record(connection, delivery) for delivery in batch]

    def enqueue(self, jobs: Iterable[NewJob], *, now: datetime | None = None) -> int:
        """Add jobs that came from no delivery; returns how many ids were new. `now` defaults to the clock."""
        with self.database.writing() as connection:
            return _enqueue(connection, jobs, created_at=now or datetime.now(UTC))

    def lease(self, job_id: str, *, worker: str, now: datetime, seconds: float) -> LeasedJob | None:
        """Take a job that is ready, or whose worker let its lease run out; None when it is not to be had."""
        with self.database.writing() as connection:
            row = connection.execute(
                select(jobs).where(jobs.c.id == job_id, _free(now)).with_for_update()
            ).one_or_none()
            if row is None:
                return None
            abandoned = row.abandoned + 1 if row.state == JobState.LEASED else 0
            if abandoned >= MAX_ABANDONED:
                connection.execute(_burial(job_id, abandoned, now))
                return None
            grant: dict[str, object] = {
                "state": JobState.LEASED,
                "attempts": row.attempts + 1,
                "abandoned": abandoned,
                "token": row.token + 1,
                "worker": worker,
                "lease_until": now + timedelta(seconds=seconds),
                "sent_at": None,
                "note": "",
            }
            connection.execute(update(jobs).where(jobs.c.id == job_id).values(grant))
            return _leased(row, attempts=row.attempts + 1, token=row.token + 1, worker=worker)

    def renew(self, leased: LeasedJob, *, now: datetime, seconds: float) -> bool:
        """Keep the job for `seconds` from now; False: lost, stop and record nothing."""
        return self._change(leased, lease_until=now + timedelta(seconds=seconds))

    def note(self, leased: LeasedJob, text: str) -> bool:
        """Say in one line what is being done, for people who look."""
        return self._change(leased, note=text)

    def finish(self, leased: LeasedJob, *, now: datetime, follow_ups: Sequence[NewJob] = ()) -> bool:
        """The job is done and `follow_ups` come of it, in one transaction."""
        with self.database.writing() as connection:
            held = _change(connection, leased, state=JobState.DONE, ended_at=now, lease_until=None)
            if held:
                _enqueue(connection, follow_ups, created_at=now)
            return held

    def postpone(self, leased: LeasedJob, *, now: datetime, until: datetime, reason: str) -> bool:
        """Give the job back, to be taken up at `until` or later."""
        return self._change(
            leased,
            state=JobState.READY,
            run_after=max(now, until),
            abandoned=0,
            lease_until=None,
            sent_at=None,
            reason=reason,
        )

    def fail(self, leased: LeasedJob, *, now: datetime, reason: str) -> bool:
        """The job cannot be done; it is kept with the reason."""
        return self._change(leased, state=JobState.FAILED, ended_at=now, lease_until=None, reason=reason)

    def due(self, *, now: datetime, limit: int, resend_after: float = 30.0) -> list[str]:
        """Ids of jobs that can be leased and were not sent within `resend_after` seconds, longest waiting first."""
        unsent = or_(jobs.c.sent_at.is_(None), jobs.c.sent_at <= now - timedelta(seconds=resend_after))
        query = select(jobs.c.id).where(_free(now), unsent).order_by(jobs.c.run_after, jobs.c.id).limit(limit)
        with self.database.reading() as connection:
            return list(connection.execute(query).scalars())

    def mark_sent(self, ids: Sequence[str], now: datetime) -> None:
        """These ids went to the queue just now."""
        with self.database.writing() as connection:
            for batch in in_batches(sorted(ids)):
                connection.execute(update(jobs).where(jobs.c.id.in_(batch)).values(sent_at=now))

    def counts(self) -> Mapping[JobState, int]:
        """How many jobs are in each state; every state is there."""
        with self.database.reading() as connection:
            found = connection.execute(select(jobs.c.state, func.count()).group_by(jobs.c.state)).all()
        return dict.fromkeys(JobState, 0) | {JobState(state): count for state, count in found}

    def delivery_count(self) -> int:
        """How many deliveries were stored."""
        with self.database.reading() as connection:
            return connection.execute(select(func.count()).select_from(deliveries)).scalar_one()

    def unknown_deliveries(self, ids: Sequence[str]) -> set[str]:
        """Those of these deliveries that were never stored."""
        with self.database.reading() as connection:
            known: set[str] = set()
            for start in range(0, len(ids), 500):
                query = select(deliveries.c.id).where(deliveries.c.id.in_(ids[start : start + 500]))
                known |= set(connection.execute(query).scalars())
        return set(ids) - known

    def oldest_ready(self, now: datetime) -> datetime | None:
        """Since when the job that has waited longest could have been leased; None when none is waiting."""
        query = select(func.min(jobs.c.run_after)).where(jobs.c.state == JobState.READY, jobs.c.run_after <= now)
        with self.database.reading() as connection:
            since: datetime | None = connection.execute(query).scalar_one()
        return since

    def job(self, job_id: str) -> StoredJob | None:
        """The job as it stands."""
        with self.database.reading() as connection:
            row = connection.execute(select(jobs).where(jobs.c.id == job_id)).one_or_none()
        return None if row is None else _stored(row)

    def effect(self, key: str) -> Effect | None:
        """What is known of the effect with this key."""
        with self.database.reading() as connection:
            return effects.find(connection, key)

    def begin_effect(self, key: str, job_id: str, now: datetime) -> EffectState:
        """Announce that the effect is about to be made; the answer says whether it still has to be."""
        with self.database.writing() as connection:
            return effects.begin(connection, key, job_id, now)

    def complete_effect(self, key: str, reference: str, now: datetime) -> None:
        """The effect was made and is found by `reference`; the first reference stays. Raises StoreError if not begun."""
        with self.database.writing() as connection:
            effects.complete(connection, key, reference, now)

    def _change(self, leased: LeasedJob, **values: object) -> bool:
        with self.database.writing() as connection:
            return _change(connection, leased, **values)


def _change(connection: Connection, leased: LeasedJob, **values: object) -> bool:
    """The fence: only the latest lease of a job can change it."""
    held = and_(jobs.c.id == leased.id, jobs.c.token == leased.token, jobs.c.state == JobState.LEASED)
    return changed(connection, update(jobs).where(held).values(values)) == 1


def _record(connection: Connection, delivery: Delivery) -> bool:
    row: dict[str, object] = {"id": delivery.id, "event": delivery.event, "received_at": delivery.received_at}
    new = insert_new(connection, deliveries, row)
    if new:
        _enqueue(connection, delivery.jobs, created_at=delivery.received_at, delivery_id=delivery.id)
    return new


def _enqueue(
    connection: Connection, new_jobs: Iterable[NewJob], *, created_at: datetime, delivery_id: str | None = None
) -> int:
    in_lock_order = sorted(new_jobs, key=lambda job: job.id)
    return sum(insert_new(connection, jobs, _fresh(job, created_at, delivery_id)) for job in in_lock_order)


def _fresh(job: NewJob, created_at: datetime, delivery_id: str | None) -> dict[str, object]:
    return {
        "id": job.id,
        "delivery_id": delivery_id,
        "kind": job.kind,
        "payload": job.payload,
        "state": JobState.READY,
        "created_at": created_at,
        "run_after": job.run_after or created_at,
        "attempts": 0,
        "abandoned": 0,
        "token": 0,
        "worker": "",
        "reason": "",
        "note": "",
    }


def _free(now: datetime) -> ColumnElement[bool]:
    ready = and_(jobs.c.state == JobState.READY, jobs.c.run_after <= now)
    return or_(ready, and_(jobs.c.state == JobState.LEASED, jobs.c.lease_until <= now))


def _burial(job_id: str, abandoned: int, now: datetime) -> Update:
    reason = f"given up: {abandoned} workers in a row fell silent on it"
    return (
        update(jobs)
        .where(jobs.c.id == job_id)
        .values(state=JobState.DEAD, abandoned=abandoned, ended_at=now, lease_until=None, reason=reason)
    )


def _leased(row: Row[*tuple[Any, ...]], *, attempts: int, token: int, worker: str) -> LeasedJob:
    return LeasedJob(id=row.id, kind=row.kind, payload=row.payload, attempts=attempts, token=token, worker=worker)


def _stored(row: Row[*tuple[Any, ...]]) -> StoredJob:
    return StoredJob(
        id=row.id,
        kind=row.kind,
        payload=row.payload,
        delivery_id=row.delivery_id,
        state=JobState(row.state),
        created_at=row.created_at,
        run_after=row.run_after,
        attempts=row.attempts,
        worker=row.worker,
        lease_until=row.lease_until,
        ended_at=row.ended_at,
        reason=row.reason,
        note=row.note,
    )
