"""Between a job as a value and a job as a row."""

from __future__ import annotations

from collections.abc import Iterable

from memory.store import NewJob
from workers.jobs import Job, encode, job_id


def rows(origin: str, jobs: Iterable[Job]) -> tuple[NewJob, ...]:
    """The rows for `jobs`. Ids follow from `origin` (a delivery, a parent job, a time slot): a repeat adds nothing."""
    return tuple(NewJob(id=job_id(origin, job), kind=kind_of(job), payload=encode(job)) for job in jobs)


def kind_of(job: Job) -> str:
    """The job's tag without its version: what people and metrics call it."""
    return type(job).__name__.lower()
