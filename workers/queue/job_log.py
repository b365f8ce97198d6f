"""One line of the log, one measure and one span for each attempt of a job. Lines in between carry the ids of the job."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum

import structlog
from structlog.contextvars import bind_contextvars, clear_contextvars

from memory.measures import JOBS
from memory.model.jobs import LeasedJob
from workers import traces

_begun: ContextVar[float] = ContextVar("begun")
_log = structlog.get_logger()


class RunResult(StrEnum):
    """How one attempt of a job ends. LOST: another worker has the lease. DEAD: its workers died."""

    DONE = "done"
    FAILED = "failed"
    POSTPONED = "postponed"
    WAITING = "waiting"
    STOPPED = "stopped"
    LOST = "lost"
    DEAD = "dead"


_LEVELS = {
    RunResult.DONE: logging.INFO,
    RunResult.FAILED: logging.ERROR,
    RunResult.DEAD: logging.ERROR,
}


@contextmanager
def logged(leased: LeasedJob) -> Iterator[None]:
    """Log the start of an attempt; `ended` is called within, once."""
    clear_contextvars()
    delivery = {"delivery": leased.delivery_id} if leased.delivery_id else {}
    bind_contextvars(job=leased.id, kind=leased.kind, attempt=leased.attempts, **delivery)
    _begun.set(time.monotonic())
    try:
        with traces.span(f"job {leased.kind}", parent=leased.trace, job=leased.id, attempt=leased.attempts, **delivery):
            _log.info("job started", worker=leased.worker)
            yield
    finally:
        clear_contextvars()


def ended(leased: LeasedJob, result: RunResult, **details: str) -> None:
    """Log the end of an attempt, and measure it."""
    seconds = time.monotonic() - _begun.get()
    JOBS.observe(seconds, kind=leased.kind, result=result.value)
    traces.annotate(result=result.value)
    level = _LEVELS.get(result, logging.WARNING)
    _log.log(level, "job ended", result=result.value, seconds=round(seconds, 3), **details)


def died(job_id: str, reason: str) -> None:
    """Log the end of a job that no attempt ended."""
    _log.error("job ended", job=job_id, result=RunResult.DEAD.value, reason=reason)
