"""Turns jobs into database rows and sends their ids to the queue; runs one job: lease, work under a heartbeat, finish, send what follows."""

from __future__ import annotations

import functools
import os
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol, Self

import msgspec
import structlog

from memory.errors import StoreError, StoreUnavailable
from memory.model.jobs import Claimer, LeasedJob, NewJob
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
    PRIORITIES,
    CommandedJob,
    Fix,
    Job,
    OwnJob,
    RedeliverWebhooks,
    ReportFailure,
    RepositoryRef,
    ReviewPull,
    TrackPull,
    decodable,
    decode,
    encode,
    job_id,
)
from workers.queue.job_log import RunResult, died, ended, logged
from workers.settings import WorkerSettings
from workers.traces import context as trace_context

if TYPE_CHECKING:  # SQLAlchemy is slow to import
    from memory.store import Store

Flow = Callable[..., Sequence[Job]]
"""`run(job, context) -> follow-up jobs`, for one type of job."""

Send = Callable[[Sequence[str]], None]
"""Sends job ids to the queue; raises Retryable when the queue refuses them."""

MOST_ATTEMPTS = 8
PATIENCE = timedelta(hours=24)
"""So long a job waits for what is away."""
FIRST_DELAY = timedelta(seconds=5)
LONGEST_DELAY = timedelta(minutes=15)
_log = structlog.get_logger()


def rows(origin: str, jobs: Iterable[Job]) -> tuple[NewJob, ...]:
    """The rows for `jobs`. Ids are hashes of `origin` (a delivery, a parent job, a time slot) and job: a repeat adds nothing."""
    return tuple(_row(origin, job) for job in jobs)


def _row(origin: str, job: Job) -> NewJob:
    payload = encode(job)
    repository, actor = getattr(job, "repository", None), getattr(job, "actor", None)
    number = job.issue if isinstance(job, Fix) else getattr(job, "number", None)
    return NewJob(
        id=job_id(origin, payload),
        kind=kind_of(job),
        payload=payload,
        repository_id=repository and repository.id,
        number=number,
        actor_id=actor and actor.id,
        installation_id=repository and repository.installation_id,
        conversation=_conversation(job),
        priority=PRIORITIES[type(job)],
        trace=trace_context(),
    )


def _conversation(job: Job) -> str | None:
    """Of the jobs of one name one runs at a time. A search for lost webhooks takes minutes, and would take every worker."""
    if isinstance(job, Fix | ReviewPull):
        return f"{job.repository.id}#{job.issue if isinstance(job, Fix) else job.number}"
    return "webhooks" if isinstance(job, RedeliverWebhooks) else None


def kind_of(job: Job) -> str:
    """The job's tag without its version, as logs and the database show it."""
    return _kind(type(job))


@functools.cache
def _kind(of: type[Job]) -> str:
    return str(of.__struct_config__.tag).partition(".")[0]


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
    def flows(self) -> Mapping[type, Flow]:
        """The flow of every type of job."""
        ...

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
    inbox, now, seconds = context.store.inbox, context.clock(), settings.lease_seconds
    leased = inbox.claim(claimer, now=now, seconds=seconds, on_death=_report_death)
    if leased is not None:
        with logged(leased):
            _run(context, leased, send)
    return leased is not None


def run_leased(context: RunContext, job_id: str, *, worker: str, send: Send) -> None:
    """Run this job, whosever turn it is, if this worker gets the lease."""
    now, seconds = context.clock(), context.settings.lease_seconds
    leased = context.store.inbox.lease(job_id, worker=worker, now=now, seconds=seconds, on_death=_report_death)
    if leased is not None:
        with logged(leased):
            _run(context, leased, send)


def _run(context: RunContext, leased: LeasedJob, send: Send) -> None:
    try:
        job = decode(leased.payload)
    except msgspec.DecodeError as error:
        _end(context, leased, f"this version cannot decode the job: {error}", (), send)
        return
    with _heartbeat(context, leased, job, send) as stop:
        _work(context.for_job(leased, stop), leased, job, send)


def delay(attempts: int, rng: random.Random) -> timedelta:
    """How long to wait after attempt number `attempts`: doubles up to a cap; the second half is random."""
    whole = min(FIRST_DELAY * float(2 ** min(attempts - 1, 20)), LONGEST_DELAY)
    return whole * rng.uniform(0.5, 1.0)


def _work(context: RunContext, leased: LeasedJob, job: Job, send: Send) -> None:
    try:
        follow_ups = _flow(context, job)(job, context)
    except JobStopped as error:
        ended(leased, RunResult.STOPPED, reason=str(error))
        now = context.clock()
        # Where the lease is still ours, the next job of the conversation does not wait for its end.
        context.store.inbox.postpone(leased, now=now, until=now, reason=str(error))
    except Unavailable as error:
        _wait(context, leased, job, error, send)
    except StoreUnavailable as error:
        _wait(context, leased, job, Unavailable(f"database unavailable: {error}"), send)
    except Retryable as error:
        _postpone(context, leased, job, error, send)
    except NoAccess as error:
        _end(context, leased, str(error), (), send, RunResult.STOPPED)
    except ApprenticeError as error:
        _fail(context, leased, job, error, send)
    except Exception as error:  # the edge of the process: record, report and re-raise
        _log.exception("unexpected error")
        shown = f"an unexpected {type(error).__name__} stopped this job; see the worker's log"
        _fail(context, leased, job, CannotRun(shown), send)
        raise
    else:
        _finish(context, leased, follow_ups, send)


def _flow(context: RunContext, job: Job) -> Flow:
    """Record the repository, so that the sweeper polls it, and choose the flow by type."""
    if not isinstance(job, OwnJob):
        context.store.repositories.keep(job.repository.key, job.repository)
    flow = context.flows.get(type(job))
    if flow is None:
        raise CannotRun(f"this version has no flow for the job {kind_of(job)}")
    return flow


def _finish(context: RunContext, leased: LeasedJob, follow_ups: Sequence[Job], send: Send) -> None:
    new = rows(leased.id, follow_ups)
    if context.store.inbox.finish(leased, now=context.clock(), follow_ups=new):
        ended(leased, RunResult.DONE)
        enqueue(context.store, send, [row.id for row in new], context.clock())
    else:
        ended(leased, RunResult.LOST)


def _postpone(context: RunContext, leased: LeasedJob, job: Job, error: Retryable, send: Send) -> None:
    attempts = leased.attempts - leased.waits
    if attempts >= MOST_ATTEMPTS:
        _fail(context, leased, job, CannotRun(f"gave up after {attempts} attempts: {error}"), send)
        return
    now = context.clock()
    until = now + delay(attempts, context.rng)
    ended(leased, RunResult.POSTPONED, until=until.isoformat(), reason=str(error))
    context.store.inbox.postpone(leased, now=now, until=until, reason=str(error))


def _wait(context: RunContext, leased: LeasedJob, job: Job, error: Unavailable, send: Send) -> None:
    """Wait as long as was asked, else ever longer, and for `PATIENCE` in all; where GitHub limits, the installation does."""
    now = context.clock()
    gives_up = (leased.waiting_since or now) + PATIENCE
    if now >= gives_up:
        hours = round(PATIENCE / timedelta(hours=1))
        _fail(context, leased, job, CannotRun(f"gave up after {hours} hours: {error}"), send)
        return
    repository = None if isinstance(job, OwnJob) else job.repository
    if repository is not None and isinstance(error, TokenRefused):
        context.drop_token(repository)
    asked = timedelta(seconds=error.seconds)
    until = min(now + max(asked, delay(leased.waits + 1, context.rng)), gives_up)
    installation = repository.installation_id if repository and isinstance(error, Limited) else None
    ended(leased, RunResult.WAITING, until=until.isoformat(), reason=str(error))
    inbox = context.store.inbox
    inbox.wait(leased, now=now, until=until, reason=str(error), installation_id=installation)


def _fail(context: RunContext, leased: LeasedJob, job: Job, error: ApprenticeError, send: Send) -> None:
    _end(context, leased, str(error), _reports(job, str(error)), send)


def _reports(job: Job, reason: str) -> tuple[Job, ...]:
    """Telling the user is a job of its own: it may have to wait too."""
    if isinstance(job, CommandedJob):
        return (ReportFailure(repository=job.repository, failed=job, reason=reason),)
    return ()


def _end(
    context: RunContext,
    leased: LeasedJob,
    reason: str,
    follow_ups: Sequence[Job],
    send: Send,
    result: RunResult = RunResult.FAILED,
) -> None:
    ended(leased, result, reason=reason)
    new, now = rows(leased.id, follow_ups), context.clock()
    if context.store.inbox.fail(leased, now=now, reason=reason, follow_ups=new):
        enqueue(context.store, send, [row.id for row in new], now)


def _report_death(job_id: str, payload: bytes, reason: str) -> tuple[NewJob, ...]:
    """The report of a job that killed its workers."""
    died(job_id, reason)
    try:
        return rows(job_id, _reports(decode(payload), reason))
    except msgspec.DecodeError:
        return ()


@contextmanager
def _heartbeat(context: RunContext, leased: LeasedJob, job: Job, send: Send) -> Iterator[threading.Event]:
    """Renew the lease while the flow runs, and end what runs too long.

    The event is set when the lease is lost, the time is over, or what the job is about is gone.
    """
    seconds, ended, stop, begun = context.settings.lease_seconds, threading.Event(), threading.Event(), context.clock()
    deadline, thread_of_flow = time.monotonic() + context.settings.job_seconds, threading.get_ident()

    def beat() -> None:
        while not ended.wait(seconds / 3):
            try:
                if time.monotonic() >= deadline:
                    _overrun(context, leased, job, send)
                    break
                held = context.store.inbox.renew(leased, now=context.clock(), seconds=seconds)
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


def _overrun(context: RunContext, leased: LeasedJob, job: Job, send: Send) -> None:
    _fail(context, leased, job, CannotRun(f"gave up: it ran longer than {context.settings.job_seconds:g} s"), send)


def _end_process(leased: LeasedJob, thread: int) -> None:
    """The flow hangs where it does not look whether to stop. The worker starts another process."""
    stack = "".join(traceback.format_stack(sys._current_frames().get(thread)))
    _log.critical("job hangs: its process is ended", job=leased.id, kind=leased.kind, stack=stack)
    os._exit(os.EX_SOFTWARE)


def _is_gone(context: RunContext, job: Job, since: datetime) -> bool:
    """Whether GitHub reported another head, or the end, of the pull request that is reviewed. A later event may differ."""
    if not isinstance(job, ReviewPull):
        return False
    found = context.store.inbox.stored_after(since, "track", job.repository.id, job.number)
    news = [each for each in decodable(stored.payload for stored in found) if isinstance(each, TrackPull)]
    return bool(news) and (news[-1].closed or job.head_sha not in ("", news[-1].head_sha))
