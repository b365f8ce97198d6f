"""Jobs as the inbox knows them: a payload it does not look into, a state, and who has it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class JobState(StrEnum):
    """Where a job stands. READY and LEASED are under way, the others have ended."""

    READY = "ready"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """Work to be done once, not before `run_after`. Two with the same id are one job."""

    id: str
    kind: str
    payload: bytes
    run_after: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A webhook delivery and the jobs that it implies."""

    id: str
    event: str
    received_at: datetime
    jobs: tuple[NewJob, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedJob:
    """A job in one worker's hands. `token` is its fence: it is void once another worker has leased the job.

    `attempts` counts its leases, this one included, however they ended.
    """

    id: str
    kind: str
    payload: bytes
    attempts: int
    token: int
    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredJob:
    """A job as it stands, for people who look. `reason` says why it was postponed, failed or declared dead."""

    id: str
    kind: str
    payload: bytes
    delivery_id: str | None
    state: JobState
    created_at: datetime
    run_after: datetime
    attempts: int
    worker: str
    lease_until: datetime | None
    ended_at: datetime | None
    reason: str
    note: str


class EffectStatus(StrEnum):
    """NEW: make it. UNFINISHED: it may have been made; look for its marker first. DONE: it was made."""

    NEW = "new"
    UNFINISHED = "unfinished"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectState:
    """What is known of an effect at the moment somebody wants to make it. `reference` is set when it is DONE."""

    status: EffectStatus
    reference: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Something on GitHub that is made once: begun under a key, and found again by `reference` when done."""

    key: str
    job_id: str
    begun_at: datetime
    done_at: datetime | None
    reference: str
