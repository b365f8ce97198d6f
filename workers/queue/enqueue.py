"""Turns jobs into database rows, and sends the ids of stored ones to the queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import structlog

from memory.errors import StoreError
from memory.model.jobs import NewJob
from workers.errors import Retryable
from workers.jobs import PRIORITIES, Fix, Job, RedeliverWebhooks, ReviewPull, encode, job_id
from workers.traces import context as trace_context

if TYPE_CHECKING:  # SQLAlchemy is slow to import
    from memory.store import Store

Send = Callable[[Sequence[str]], None]
"""Sends job ids to the queue; raises Retryable when the queue refuses them."""

_log = structlog.get_logger()


def rows(origin: str, jobs: Iterable[Job]) -> tuple[NewJob, ...]:
    """The rows for `jobs`. Ids are hashes of `origin` (a delivery, a parent job, a time slot) and job: a repeat adds nothing."""
    return tuple(_row(origin, job) for job in jobs)


def _row(origin: str, job: Job) -> NewJob:
    payload = encode(job)
    repository, actor = getattr(job, "repository", None), getattr(job, "actor", None)
    return NewJob(
        id=job_id(origin, payload),
        kind=kind_of(job),
        payload=payload,
        repository_id=repository and repository.id,
        number=getattr(job, "number", None),
        actor_id=actor and actor.id,
        installation_id=repository and repository.installation_id,
        conversation=_conversation(job),
        priority=PRIORITIES[type(job)],
        trace=trace_context(),
    )


def _conversation(job: Job) -> str | None:
    """Of the jobs of one name one runs at a time. A search for lost webhooks takes minutes, and would take every worker."""
    if isinstance(job, Fix | ReviewPull):
        return f"{job.repository.id}#{job.number}"
    return "webhooks" if isinstance(job, RedeliverWebhooks) else None


def kind_of(job: Job) -> str:
    """The job's tag without its version, as logs and the database show it."""
    return str(job.__struct_config__.tag).partition(".")[0]


def enqueue(store: Store, send: Send, ids: Sequence[str], now: datetime) -> bool:
    """Send committed jobs; False when that failed. They are safe in the database: the sweeper sends them later."""
    if not ids:
        return True
    try:
        send(ids)
        store.jobs.mark_sent(ids, now)
    except (Retryable, StoreError) as error:
        _log.warning("jobs left to the sweeper", jobs=len(ids), error=str(error))
        return False
    return True
