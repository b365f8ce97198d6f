"""Deliveries, jobs and effects on GitHub."""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum


class JobState(StrEnum):
    """READY and LEASED jobs are open, the others have ended."""

    READY = "ready"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    DEAD = "dead"


NOT_DONE = (JobState.READY, JobState.LEASED, JobState.FAILED, JobState.DEAD)


class Priority(IntEnum):
    """What is done first, if several jobs wait. All but QUICK ones may take minutes: they are long."""

    QUICK = 0
    QUESTION = 1
    REVIEW = 2
    REPAIR = 3
    BACKGROUND = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """Work to be done once, not before `run_after`. Two with the same id are one job.

    The numbers are GitHub's: of the repository, of the issue or pull request, of the account that caused the job, of the
    App's installation. Of the jobs of one `conversation` one runs at a time. `trace` is the
    W3C trace context of what it follows from.
    """

    id: str
    kind: str
    payload: bytes
    run_after: datetime | None = None
    repository_id: int | None = None
    number: int | None = None
    actor_id: int | None = None
    installation_id: int | None = None
    conversation: str | None = None
    priority: Priority = Priority.BACKGROUND
    trace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A webhook delivery with its jobs. Two with the same `body_hash` are one; it is None where genuine bodies can repeat."""

    id: str
    event: str
    received_at: datetime
    body_hash: str | None = None
    jobs: tuple[NewJob, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimer:
    """One of the `processes` of a worker, whose names differ after the last colon.

    All but one of them may run long jobs at the same time. No installation has more than `most` long jobs running; 0 for no
    limit.
    """

    name: str
    processes: int = 1
    most: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedJob:
    """A job leased to one worker. `token` is its fence: it is void once another worker has leased the job.

    `attempts` counts its leases, this one included, however they ended; `waits` those that ended because something was
    away, since `waiting_since`.
    """

    id: str
    kind: str
    payload: bytes
    attempts: int
    token: int
    worker: str
    waits: int = 0
    waiting_since: datetime | None = None
    conversation: str | None = None
    delivery_id: str | None = None
    trace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredJob:
    """A job in its present state. `reason` says why it was postponed, failed or declared dead."""

    id: str
    kind: str
    payload: bytes
    delivery_id: str | None
    repository_id: int | None
    number: int | None
    state: JobState
    created_at: datetime
    run_after: datetime
    attempts: int
    worker: str
    lease_until: datetime | None
    ended_at: datetime | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Something on GitHub that is made once: begun under a key, and found again by `reference` when done.

    While `done_at` is None it may have been made or not: look for its marker first.
    """

    key: str
    job_id: str
    begun_at: datetime
    done_at: datetime | None
    reference: str
