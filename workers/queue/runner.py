"""Runs one job: lease, work under a heartbeat, finish, send what follows.

Each attempt is one line of the log, one measure and one span. Lines in between carry the ids of the job.
"""

from __future__ import annotations

import errno
import logging
import os
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, Self

import msgspec
import structlog
from structlog.contextvars import bind_contextvars, clear_contextvars

from memory.errors import StoreError, StoreUnavailable
from memory.measures import JOBS
from memory.model.jobs import Claimer, LeasedJob, NewJob
from workers import traces
from workers.errors import (
    ApprenticeError,
    CannotRun,
    JobStopped,
    Limited,
    NoAccess,
    Retryable,
    TokenRefused,
    Unavailable,
)
from workers.jobs import (
    CommandedJob,
    Job,
    OwnJob,
    ReportFailure,
    RepositoryRef,
    ReviewPull,
    TrackPull,
    decodable,
    decode,
)
from workers.queue.enqueue import Send, enqueue, kind_of, rows
from workers.settings import WorkerSettings

if TYPE_CHECKING:  # SQLAlchemy is slow to import
    from memory.store import Store

Flow = Callable[..., Sequence[Job]]
"""`run(job, context) -> follow-up jobs`, for one type of job."""

MAX_ATTEMPTS = 8
PATIENCE = timedelta(hours=24)
"""How long a job waits for what is unavailable."""
FIRST_DELAY = timedelta(seconds=5)
LONGEST_DELAY = timedelta(minutes=15)
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


_LEVELS = {RunResult.DONE: logging.INFO, RunResult.FAILED: logging.ERROR}


class RunContext(Protocol):
    """The part of a flow's context that the runner needs."""

    @property
    def store(self) -> Store: ...

    @property
    def settings(self) -> WorkerSettings: ...

    @property
    def clock(self) -> Callable[[], datetime]: ...

    @property
    def rng(self) -> random.Random: ...

    @property
    def flows(self) -> Mapping[type, Flow]: ...

    def for_job(self, leased: LeasedJob, stop: threading.Event) -> Self:
        """This context, for one job's effects. Its progress raises JobStopped when `stop` is set."""
        ...

    def drop_token(self, repository: RepositoryRef) -> None:
        """Forget the token for a repository, so that the next job mints another."""
        ...


def run_next(context: RunContext, *, worker: str, send: Send) -> bool:
    """Run the job whose turn it is; False where there is none that this process may take.

    Records every result, and then re-raises an unexpected exception.
    """
    settings = context.settings
    claimer = Claimer(name=worker, processes=settings.workers, most=settings.jobs_per_installation)
    jobs, now, seconds = context.store.jobs, context.clock(), settings.lease_seconds
    leased = jobs.claim(claimer, now=now, seconds=seconds, on_death=_report_death)
    if leased is not None:
        _Attempt(context, leased, send).run()
    return leased is not None


def run_leased(context: RunContext, job_id: str, *, worker: str, send: Send) -> None:
    """Run this job, regardless of turns, if this worker gets the lease."""
    now, seconds = context.clock(), context.settings.lease_seconds
    leased = context.store.jobs.lease(job_id, worker=worker, now=now, seconds=seconds, on_death=_report_death)
    if leased is not None:
        _Attempt(context, leased, send).run()


def delay(attempts: int, rng: random.Random) -> timedelta:
    """How long to wait after attempt number `attempts`: doubles up to a cap; the second half is random."""
    whole = min(FIRST_DELAY * float(2 ** min(attempts - 1, 20)), LONGEST_DELAY)
    return whole * rng.uniform(0.5, 1.0)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt of a job, while this worker has its lease."""

    context: RunContext
    leased: LeasedJob
    send: Send
    begun: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Run the job, in a span and with its ids in every line of the log."""
        leased = self.leased
        clear_contextvars()
        delivery = {"delivery": leased.delivery_id} if leased.delivery_id else {}
        bind_contextvars(job=leased.id, kind=leased.kind, attempt=leased.attempts, **delivery)
        try:
            with traces.span(
                f"job {leased.kind}", parent=leased.trace, job=leased.id, attempt=leased.attempts, **delivery
            ):
                _log.info("job started", worker=leased.worker)
                self._run()
        finally:
            clear_contextvars()

    def _run(self) -> None:
        try:
            job = decode(self.leased.payload)
        except msgspec.DecodeError as error:
            self._end(f"this version cannot decode the job: {error}")
            return
        with self._heartbeat(job) as stop:
            self._work(job, self.context.for_job(self.leased, stop))

    def _work(self, job: Job, context: RunContext) -> None:
        try:
            follow_ups = _flow(context, job)(job, context)
        except JobStopped as error:
            self._log_end(RunResult.STOPPED, reason=str(error))
            now = context.clock()
            # Where the lease is still ours, the next job of the conversation does not wait for its end.
            context.store.jobs.postpone(self.leased, now=now, until=now, reason=str(error))
        except Unavailable as error:
            self._wait(job, error)
        except StoreUnavailable as error:
            self._wait(job, Unavailable(f"database unavailable: {error}"))
        except Retryable as error:
            self._postpone(job, error)
        except NoAccess as error:
            self._end(str(error), result=RunResult.STOPPED)
        except ApprenticeError as error:
            self._fail(job, str(error))
        except Exception as error:  # the edge of the process: record, report and re-raise
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                self._wait(job, Unavailable(f"the worker's disk is full: {error.strerror}"))
                return
            _log.exception("unexpected error")
            self._fail(job, f"an unexpected {type(error).__name__} stopped this job; see the worker's log")
            raise
        else:
            self._finish(follow_ups)

    def _finish(self, follow_ups: Sequence[Job]) -> None:
        store, clock = self.context.store, self.context.clock
        new = rows(self.leased.id, follow_ups)
        if store.jobs.finish(self.leased, now=clock(), follow_ups=new):
            self._log_end(RunResult.DONE)
            enqueue(store, self.send, [row.id for row in new], clock())
        else:
            self._log_end(RunResult.LOST)

    def _postpone(self, job: Job, error: Retryable) -> None:
        attempts = self.leased.attempts - self.leased.waits
        if attempts >= MAX_ATTEMPTS:
            self._fail(job, f"gave up after {attempts} attempts: {error}")
            return
        now = self.context.clock()
        until = now + delay(attempts, self.context.rng)
        self._log_end(RunResult.POSTPONED, until=until.isoformat(), reason=str(error))
        self.context.store.jobs.postpone(self.leased, now=now, until=until, reason=str(error))

    def _wait(self, job: Job, error: Unavailable) -> None:
        """Wait as long as was asked, else ever longer, and for `PATIENCE` in all; where GitHub limits, the installation does."""
        context, leased, now = self.context, self.leased, self.context.clock()
        gives_up = (leased.waiting_since or now) + PATIENCE
        if now >= gives_up:
            self._fail(job, f"gave up after {round(PATIENCE / timedelta(hours=1))} hours: {error}")
            return
        repository = None if isinstance(job, OwnJob) else job.repository
        if repository is not None and isinstance(error, TokenRefused):
            context.drop_token(repository)
        asked = timedelta(seconds=error.seconds)
        until = min(now + max(asked, delay(leased.waits + 1, context.rng)), gives_up)
        installation = repository.installation_id if repository and isinstance(error, Limited) else None
        self._log_end(RunResult.WAITING, until=until.isoformat(), reason=str(error))
        jobs = context.store.jobs
        jobs.wait(leased, now=now, until=until, reason=str(error), installation_id=installation)

    def _fail(self, job: Job, reason: str) -> None:
        self._end(reason, _reports(job, reason))

    def _end(self, reason: str, follow_ups: Sequence[Job] = (), result: RunResult = RunResult.FAILED) -> None:
        self._log_end(result, reason=reason)
        store, now = self.context.store, self.context.clock()
        new = rows(self.leased.id, follow_ups)
        if store.jobs.fail(self.leased, now=now, reason=reason, follow_ups=new):
            enqueue(store, self.send, [row.id for row in new], now)

    def _log_end(self, result: RunResult, **details: str) -> None:
        """Log the end of the attempt, and measure it."""
        seconds = time.monotonic() - self.begun
        JOBS.observe(seconds, kind=self.leased.kind, result=result.value)
        traces.annotate(result=result.value)
        level = _LEVELS.get(result, logging.WARNING)
        _log.log(level, "job ended", result=result.value, seconds=round(seconds, 3), **details)

    @contextmanager
    def _heartbeat(self, job: Job) -> Iterator[threading.Event]:
        """Renew the lease while the flow runs, and end what runs too long.

        The event is set when the lease is lost, the time is over, or what the job is about is gone.
        """
        context, leased, thread_of_flow = self.context, self.leased, threading.get_ident()
        seconds, most, begun = context.settings.lease_seconds, context.settings.job_seconds, context.clock()
        deadline, ended, stop = time.monotonic() + most, threading.Event(), threading.Event()

        def beat() -> None:
            while not ended.wait(seconds / 3):
                try:
                    if time.monotonic() >= deadline:
                        self._fail(job, f"gave up: it ran longer than {most:g} s")
                        break
                    held = context.store.jobs.renew(leased, now=context.clock(), seconds=seconds)
                    if not held or _is_gone(context, job, begun):
                        stop.set()
                except StoreError as error:
                    _log.warning("lease not renewed", job=leased.id, error=str(error))
                    continue
                if not held:
                    break
            stop.set()
            if not ended.wait(max(seconds, deadline - time.monotonic())):
                _end_process(leased, thread_of_flow)

        in_job = copy_context()  # the end of a job that runs too long is logged as the job's
        thread = threading.Thread(target=in_job.run, args=(beat,), name=f"heartbeat-{leased.id}", daemon=True)
        thread.start()
        try:
            yield stop
        finally:
            ended.set()
            thread.join()


def _flow(context: RunContext, job: Job) -> Flow:
    flow = context.flows.get(type(job))
    if flow is None:
        raise CannotRun(f"this version has no flow for the job {kind_of(job)}")
    return flow


def _reports(job: Job, reason: str) -> tuple[Job, ...]:
    """Telling the user is a job of its own: it may have to wait too."""
    if isinstance(job, CommandedJob):
        return (ReportFailure(repository=job.repository, failed=job, reason=reason),)
    return ()


def _report_death(job_id: str, payload: bytes, reason: str) -> tuple[NewJob, ...]:
    """The report of a job that killed its workers."""
    _log.error("job ended", job=job_id, result=RunResult.DEAD.value, reason=reason)
    try:
        return rows(job_id, _reports(decode(payload), reason))
    except msgspec.DecodeError:
        return ()


def _end_process(leased: LeasedJob, thread: int) -> None:
    """The flow hangs where it does not look whether to stop. The worker starts another process."""
    stack = "".join(traceback.format_stack(sys._current_frames().get(thread)))
    _log.critical("job hangs: its process is ended", job=leased.id, kind=leased.kind, stack=stack)
    os._exit(os.EX_SOFTWARE)


def _is_gone(context: RunContext, job: Job, since: datetime) -> bool:
    """Whether GitHub reported another head, or the end, of the pull request that is reviewed. A later event may differ."""
    if not isinstance(job, ReviewPull):
        return False
    found = context.store.jobs.about("track", job.repository.id, job.number, after=since)
    news = [each for each in decodable(stored.payload for stored in found) if isinstance(each, TrackPull)]
    return bool(news) and (news[-1].closed or job.head_sha not in ("", news[-1].head_sha))
