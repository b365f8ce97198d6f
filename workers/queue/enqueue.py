"""Turns jobs into database rows, and sends their ids to the queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import structlog

from memory.errors import StoreError
from memory.store import Store
from memory.store.jobs import NewJob
from workers.errors import Retryable
from workers.jobs import Job, encode, job_id

Send = Callable[[Sequence[str]], None]
"""Sends job ids to the queue; raises Retryable when the queue refuses them."""

_log = structlog.get_logger()


def rows(origin: str, jobs: Iterable[Job]) -> tuple[NewJob, ...]:
    """The rows for `jobs`. Ids are hashes of `origin` (a delivery, a parent job, a time slot) and job: a repeat adds nothing."""
    return tuple(NewJob(id=job_id(origin, job), kind=kind_of(job), payload=encode(job)) for job in jobs)


def kind_of(job: Job) -> str:
    """The job's tag without its version, as logs and the database show it."""
    return str(type(job).__struct_config__.tag).partition(".")[0]


def enqueue(store: Store, send: Send, ids: Sequence[str], now: datetime) -> bool:
    """Send committed jobs; False when that failed. They are safe in the database: the sweeper sends them later."""
    if not ids:
        return True
    try:
        send(ids)
        store.inbox.mark_sent(ids, now)
    except (Retryable, StoreError) as error:
        _log.warning("jobs left to the sweeper", jobs=len(ids), error=str(error))
        return False
    return True
