"""Deliveries, jobs and effects on GitHub. The database is the truth about open work; the queue only carries hints."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from operator import attrgetter, itemgetter

from sqlalchemy import ColumnElement, Connection, and_, exists, func, or_, select, update

from memory.errors import StoreError
from memory.measures import JOBS_ENDED
from memory.model.jobs import Claimer, Delivery, Effect, JobState, LeasedJob, NewJob, StoredJob
from memory.store.bulk import BulkInsert
from memory.store.database import (
    Database,
    Row,
    changed,
    dialect_insert,
    in_batches,
    insert_new,
    known_among,
    queue_for,
    row_of,
)
from memory.store.job_control import is_drained, stored_jobs
from memory.store.tables import deliveries, effects, holds, jobs
from memory.store.turns import Turns, place

MAX_ABANDONED = 5
"""The number of workers in a row that stop renewing a job's lease before it is dead: it probably kills its workers."""


_LOCK_ID, _CLAIM_LOCK_ID = 0x4C494D54, 0x434C4149  # any constants that nothing else in the database uses

LONGEST_WAIT = timedelta(hours=25)
"""No job waits longer, whatever time a wrong clock gave it."""

_OTHERS = jobs.alias("others")
_UNDER_WAY = (JobState.READY, JobState.LEASED)

OnDeath = Callable[[str, bytes, str], Sequence[NewJob]]


def _none(_job_id: str, _payload: bytes, _reason: str) -> Sequence[NewJob]:
    return ()


@dataclass(frozen=True, slots=True)
class Jobs:
    """Deliveries, the jobs that follow from them, and their leases.

    Methods that take a LeasedJob change nothing and return False when its lease has gone to another worker.
    """

    database: Database
    turns: Turns = field(default_factory=Turns)

    def record_deliveries(self, batch: Sequence[Delivery]) -> list[bool]:
        """Store deliveries with their jobs, in one commit: all or none. Durable on return.

        False each, and nothing stored, for one whose id or body is known.
        """
        stored = list[bool]()
        with self.database.writing() as connection:
            for part in _without_doubles(batch):
                # two statements for all of it, each row in the order of its id: no deadlock
                rows = sorted((each.id, each.event, each.received_at, each.body_hash) for each in part)
                new = _DELIVERIES.insert_new(connection, rows)
                fresh = (_fresh(job, each.received_at, each.id) for each in part if each.id in new for job in each.jobs)
                _JOBS.insert(connection, sorted(fresh, key=itemgetter(0)))
                stored += (each.id in new for each in part)
        return stored

    def enqueue(self, jobs: Iterable[NewJob], *, now: datetime | None = None) -> int:
        """Add jobs that came from no delivery; returns how many ids were new. `now` defaults to the clock."""
        with self.database.writing() as connection:
            return _enqueue(connection, jobs, created_at=now or datetime.now(UTC))

    def claim(self, claimer: Claimer, *, now: datetime, seconds: float, on_death: OnDeath = _none) -> LeasedJob | None:
        """Lease the job whose turn it is; None where there is none that this worker may take now.

        Claims queue up, so that no two take what together would be too many: see memory.store.turns.
        """
        with self.database.writing() as connection:
            if is_drained(connection):
                return None
            queue_for(connection, _CLAIM_LOCK_ID)
            for _ in range(MAX_ABANDONED):  # one may turn out to be dead, and the next one's turn comes
                job_id = self.turns.next_job(connection, claimer, now)
                if job_id is None:
                    return None
                if leased := _lease(connection, job_id, claimer.name, now, seconds, on_death):
                    return leased
            return None

    def lease(
        self, job_id: str, *, worker: str, now: datetime, seconds: float, on_death: OnDeath = _none
    ) -> LeasedJob | None:
        """Lease this job, regardless of turns, if it is ready or its lease has expired; None where it cannot be leased.

        One that killed too many workers is declared dead. `on_death` makes the jobs that follow from that, of its id, its
        payload and the reason, in the same transaction.
        """
        with self.database.writing() as connection:
            if is_drained(connection):
                return None
            queue_for(connection, _CLAIM_LOCK_ID)
            return _lease(connection, job_id, worker, now, seconds, on_death)

    def about(self, kind: str, repository_id: int, number: int, *, after: datetime | None = None) -> list[StoredJob]:
        """The jobs of a kind about an issue or pull request, those that were stored after a time, oldest first."""
        query = select(jobs).where(jobs.c.repository_id == repository_id, jobs.c.number == number, jobs.c.kind == kind)
        query = query.where(jobs.c.created_at > after) if after else query
        return stored_jobs(self.database, query.order_by(jobs.c.created_at, jobs.c.id))

    def under_way(self, kind: str) -> frozenset[int | None]:
        """The repositories that a job of this kind waits or runs for."""
        query = select(jobs.c.repository_id).where(jobs.c.kind == kind, jobs.c.state.in_(_UNDER_WAY))
        return frozenset(self.database.scalars(query))

    def renew(self, leased: LeasedJob, *, now: datetime, seconds: float) -> bool:
        """Keep the job for `seconds` from now; False: lost, stop and record nothing."""
        return self._change(leased, lease_until=now + timedelta(seconds=seconds))

    def finish(self, leased: LeasedJob, *, now: datetime, follow_ups: Sequence[NewJob] = ()) -> bool:
        """End the job and add `follow_ups`, in one transaction."""
        return self._end(leased, JobState.DONE, "", now, follow_ups)

    def _end(
        self, leased: LeasedJob, state: JobState, reason: str, now: datetime, follow_ups: Sequence[NewJob]
    ) -> bool:
        with self.database.writing() as connection:
            held = _change(connection, leased, state=state, ended_at=now, lease_until=None, reason=reason)
            if held:
                _enqueue(connection, follow_ups, created_at=now, delivery_id=leased.delivery_id)
        if held:
            JOBS_ENDED.add(state=state)
        return held

    def postpone(self, leased: LeasedJob, *, now: datetime, until: datetime, reason: str) -> bool:
        """Give the job back, to be leased at `until` or later, and after LONGEST_WAIT at the latest."""
        return self._change(leased, **_given_back(now, until, reason), waiting_since=None)

    def wait(
        self, leased: LeasedJob, *, now: datetime, until: datetime, reason: str, installation_id: int | None = None
    ) -> bool:
        """The same for something that is unavailable, which is no attempt. With an installation, all of its jobs wait until then."""
        since, waits = leased.waiting_since or now, leased.waits + 1
        with self.database.writing() as connection:
            if installation_id is not None:
                hold = dialect_insert(connection, holds).values(installation_id=installation_id, until=until)
                earlier, key = holds.c.until < until, ["installation_id"]
                connection.execute(hold.on_conflict_do_update(index_elements=key, set_={"until": until}, where=earlier))
            given_back = _given_back(now, until, reason)
            return _change(connection, leased, **given_back, waits=waits, waiting_since=since)

    def fail(self, leased: LeasedJob, *, now: datetime, reason: str, follow_ups: Sequence[NewJob] = ()) -> bool:
        """End the job as one that cannot be done, with the reason, and add `follow_ups`, in one transaction."""
        return self._end(leased, JobState.FAILED, reason, now, follow_ups)

    def due(self, *, now: datetime, limit: int, resend_after: float = 30.0) -> list[str]:
        """Ids of jobs that can be leased and were not sent within `resend_after` seconds, longest waiting first."""
        unsent = or_(jobs.c.sent_at.is_(None), jobs.c.sent_at <= now - timedelta(seconds=resend_after))
        query = select(jobs.c.id).where(_free(now), unsent).order_by(jobs.c.run_after, jobs.c.id).limit(limit)
        with self.database.reading() as connection:
            return [] if is_drained(connection) else list(connection.execute(query).scalars())

    def bring_forward(self, now: datetime) -> int:
        """Let jobs run now that would wait longer than LONGEST_WAIT: the clock that gave them their time was wrong."""
        late = (jobs.c.state == JobState.READY) & (jobs.c.run_after > now + LONGEST_WAIT)
        return self.database.change(update(jobs).where(late).values(run_after=now))

    def mark_sent(self, ids: Sequence[str], now: datetime) -> None:
        """These ids went to the queue just now."""
        with self.database.writing() as connection:
            for batch in in_batches(sorted(ids)):
                connection.execute(update(jobs).where(jobs.c.id.in_(batch)).values(sent_at=now))

    def counts(self, states: Collection[JobState] = tuple(JobState)) -> Mapping[JobState, int]:
        """How many jobs are in each of these states; every one is there. Those that are NOT_DONE are few."""
        query = select(jobs.c.state, func.count()).where(jobs.c.state.in_(states)).group_by(jobs.c.state)
        return dict.fromkeys(states, 0) | {JobState(state): count for state, count in self.database.rows(query)}

    def delivery_count(self) -> int:
        return self.database.scalars(select(func.count()).select_from(deliveries))[0]

    def unknown_deliveries(self, ids: Sequence[str]) -> set[str]:
        """Those of these deliveries that were never stored."""
        with self.database.reading() as connection:
            return set(ids) - known_among(connection, ids, deliveries.c.id)

    def oldest_ready(self, now: datetime) -> datetime | None:
        """Since when the job that has waited longest could have been leased; None when none is waiting."""
        query = select(func.min(jobs.c.run_after)).where(jobs.c.state == JobState.READY, jobs.c.run_after <= now)
        since: datetime | None = self.database.scalars(query)[0]
        return since

    def job(self, job_id: str) -> StoredJob | None:
        """The job in its present state."""
        return next(iter(stored_jobs(self.database, select(jobs).where(jobs.c.id == job_id))), None)

    def effect(self, key: str) -> Effect | None:
        with self.database.reading() as connection:
            return _effect(connection, key)

    def begin_limited(self, key: str, job_id: str, now: datetime, *, among: str, most: int, alone: bool = True) -> bool:
        """Announce an effect if fewer than `most` were begun within a day whose keys begin with `among`; False beyond the limit.

        One that was begun before is no other: True for the job that began it, and for any job if it is not made by one `alone`.
        """
        like = effects.c.key.startswith(among, autoescape=True) & (effects.c.begun_at > now - timedelta(days=1))
        with self.database.writing() as connection:
            queue_for(connection, _LOCK_ID)
            if (known := _effect(connection, key)) is not None:
                return not alone or known.job_id == job_id
            if connection.execute(select(func.count()).where(like)).scalar_one() >= most:
                return False
            return _begin(connection, key, job_id, now)

    def begin_effect(
        self, key: str, job_id: str, now: datetime, *, in_flight: timedelta = timedelta()
    ) -> Effect | None:
        """Announce an effect before it is made; None where it is new, else what was known of it.

        One that is not done passes to this job, unless another job announced it less than `in_flight` ago.
        """
        with self.database.writing() as connection:
            if _begin(connection, key, job_id, now):
                return None
            row = connection.execute(select(effects).where(effects.c.key == key).with_for_update()).one()
            known = Effect(**row._mapping)
            if known.done_at is None and (known.job_id == job_id or known.begun_at <= now - in_flight):
                passed = update(effects).where(effects.c.key == key)
                connection.execute(passed.values(job_id=job_id, begun_at=now))
            return known

    def complete_effect(self, key: str, reference: str, now: datetime, *, follow_ups: Sequence[NewJob] = ()) -> None:
        """Record the `reference` of an effect that was made, and add `follow_ups`; the first reference stays.

        Raises StoreError if it was not begun.
        """
        with self.database.writing() as connection:
            _enqueue(connection, follow_ups, created_at=now)
            if _effect(connection, key) is None:
                raise StoreError(f"effect {key} was never begun; call begin_effect before making it")
            not_done = update(effects).where(effects.c.key == key, effects.c.done_at.is_(None))
            connection.execute(not_done.values(done_at=now, reference=reference))

    def _change(self, leased: LeasedJob, **values: object) -> bool:
        with self.database.writing() as connection:
            return _change(connection, leased, **values)


def _change(connection: Connection, leased: LeasedJob, **values: object) -> bool:
    """The fence: only the latest lease of a job can change it. Where it is given back, the next of its conversation is free."""
    held = and_(jobs.c.id == leased.id, jobs.c.token == leased.token, jobs.c.state == JobState.LEASED)
    done = changed(connection, update(jobs).where(held).values(values)) == 1
    if done and "state" in values and leased.conversation is not None:
        waiting = (jobs.c.conversation == leased.conversation, jobs.c.state == JobState.READY)
        connection.execute(update(jobs).where(*waiting).values(sent_at=None))
    return done


def _lease(
    connection: Connection, job_id: str, worker: str, now: datetime, seconds: float, on_death: OnDeath
) -> LeasedJob | None:
    free = select(jobs).where(jobs.c.id == job_id, _free(now)).with_for_update(of=jobs)
    row = connection.execute(free).one_or_none()
    if row is None:
        return None
    abandoned = row.abandoned + 1 if row.state == JobState.LEASED else 0
    if abandoned >= MAX_ABANDONED:
        reason = f"given up: {abandoned} workers in a row stopped renewing its lease"
        dead = {"state": JobState.DEAD, "abandoned": abandoned, "ended_at": now, "lease_until": None, "reason": reason}
        connection.execute(update(jobs).where(jobs.c.id == job_id).values(dead))
        JOBS_ENDED.add(state=JobState.DEAD)
        reports = on_death(job_id, row.payload, reason)
        _enqueue(connection, reports, created_at=now, delivery_id=row.delivery_id)
        return None
    known = {each.name: row._mapping[each.name] for each in fields(LeasedJob)}
    leased = LeasedJob(**known | {"attempts": row.attempts + 1, "token": row.token + 1, "worker": worker})
    until = now + timedelta(seconds=seconds)
    grant = row_of(jobs, leased, state=JobState.LEASED, abandoned=abandoned, lease_until=until)
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(grant | {"sent_at": None}))
    return leased


def _without_doubles(batch: Iterable[Delivery]) -> Iterator[list[Delivery]]:
    """The batch in parts, in which no id and no body occurs twice: which one of them is stored would be left to chance."""
    part: list[Delivery] = []
    seen: set[tuple[str, str | None]] = set()
    for delivery in batch:
        keys = {("id", delivery.id)} | ({("body", delivery.body_hash)} if delivery.body_hash else set())
        if keys & seen:
            yield part
            part, seen = [], set()
        part.append(delivery)
        seen |= keys
    if part:
        yield part


_ABOUT = ("repository_id", "number", "actor_id", "installation_id", "conversation", "trace")
_DELIVERIES = BulkInsert(deliveries, ("id", "event", "received_at", "body_hash"))
_JOBS = BulkInsert(
    jobs,
    ("id", "kind", "payload", *_ABOUT, "run_after", "created_at", "delivery_id", "lane", "share"),
    {"state": JobState.READY, "attempts": 0, "abandoned": 0, "token": 0, "worker": "", "reason": ""},
)


def _enqueue(
    connection: Connection, new_jobs: Iterable[NewJob], *, created_at: datetime, delivery_id: str | None = None
) -> int:
    fresh = (_fresh(job, created_at, delivery_id) for job in new_jobs)
    return len(_JOBS.insert_new(connection, sorted(fresh, key=itemgetter(0))))


def _fresh(job: NewJob, created_at: datetime, delivery_id: str | None) -> tuple[object, ...]:
    about = attrgetter(*_ABOUT)(job)
    run_after = min(job.run_after or created_at, created_at + LONGEST_WAIT)
    return (job.id, job.kind, job.payload, *about, run_after, created_at, delivery_id, *place(job).values())


def _given_back(now: datetime, until: datetime, reason: str) -> Row:
    free: Row = {"state": JobState.READY, "abandoned": 0, "lease_until": None, "sent_at": None}
    return {**free, "run_after": min(max(now, until), now + LONGEST_WAIT), "reason": reason}


def _free(now: datetime) -> ColumnElement[bool]:
    ready = and_(jobs.c.state == JobState.READY, jobs.c.run_after <= now)
    held = exists().where(holds.c.installation_id == jobs.c.installation_id, holds.c.until > now)
    beside = (_OTHERS.c.conversation == jobs.c.conversation, _OTHERS.c.id != jobs.c.id)
    runs = exists().where(*beside, _OTHERS.c.state == JobState.LEASED, _OTHERS.c.lease_until > now)
    return and_(or_(ready, and_(jobs.c.state == JobState.LEASED, jobs.c.lease_until <= now)), ~held, ~runs)


def _begin(connection: Connection, key: str, job_id: str, now: datetime) -> bool:
    return insert_new(connection, effects, {"key": key, "job_id": job_id, "begun_at": now, "reference": ""})


def _effect(connection: Connection, key: str) -> Effect | None:
    row = connection.execute(select(effects).where(effects.c.key == key)).one_or_none()
    return None if row is None else Effect(**row._mapping)
