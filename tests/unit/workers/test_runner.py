"""One job from lease to end, whatever the flow does."""

from __future__ import annotations

import dataclasses
import errno
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from memory.model import Actor
from memory.model.jobs import JobState, LeasedJob, NewJob, StoredJob
from memory.store import Store
from tests.databases import migrated_store
from workers.errors import (
    ApprenticeError,
    BadInput,
    CannotRun,
    JobStopped,
    Limited,
    Retryable,
    TokenRefused,
    Unavailable,
)
from workers.jobs import (
    PRIORITIES,
    AnswerCommand,
    Fix,
    Job,
    PollReactions,
    ReportFailure,
    RepositoryRef,
    decode,
    encode,
    job_id,
)
from workers.queue.enqueue import rows
from workers.queue.runner import FIRST_DELAY, LONGEST_DELAY, MAX_ATTEMPTS, PATIENCE, Flow, delay, run_leased
from workers.settings import WorkerSettings

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
REPOSITORY = RepositoryRef(id=77, full_name="acme/scales", installation_id=3003)
POLL = PollReactions(repository=REPOSITORY)
ANSWER = AnswerCommand(repository=REPOSITORY, actor=Actor(id=501, login="mara"), number=1, comment_id=2, command="help")
ASKED = AnswerCommand(repository=REPOSITORY, actor=Actor(id=501, login="mara"), number=1, comment_id=1, command="help")


@dataclasses.dataclass(frozen=True)
class Bench:
    """A context over a real store, with a clock set by hand, that records sent jobs and dropped tokens."""

    store: Store
    settings: WorkerSettings
    flows: Mapping[type, Flow]
    now: list[datetime] = dataclasses.field(default_factory=lambda: [NOW])
    dropped: list[RepositoryRef] = dataclasses.field(default_factory=list)
    sent: list[str] = dataclasses.field(default_factory=list)
    job_id: str = ""
    rng: random.Random = dataclasses.field(default_factory=lambda: random.Random(1))

    def clock(self) -> datetime:
        return self.now[0]

    def for_job(self, leased: LeasedJob, stop: threading.Event) -> Bench:
        return dataclasses.replace(self, job_id=leased.id)

    def drop_token(self, repository: RepositoryRef) -> None:
        self.dropped.append(repository)

    @property
    def reports(self) -> list[str]:
        """What the users who asked are to be told."""
        found = [self.store.jobs.job(each) for each in self.store.jobs.due(now=self.clock(), limit=100, resend_after=0)]
        jobs = [decode(each.payload) for each in found if each and each.kind == "report"]
        return [f"{type(job.failed).__name__}: {job.reason}" for job in jobs if isinstance(job, ReportFailure)]

    def run(self, flow: Callable[..., Sequence[Job]] | None = None, job: str = "j") -> StoredJob:
        """Run the job, by `flow` if given, and return it as it stands then."""
        context = self if flow is None else dataclasses.replace(self, flows={AnswerCommand: flow})
        run_leased(context, job, worker="w", send=self.send)
        stored = self.store.jobs.job(job)
        assert stored is not None
        return stored

    def send(self, ids: Sequence[str]) -> None:
        self.sent.extend(ids)

    def pass_time(self, by: timedelta) -> None:
        self.now[0] += by


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    settings = WorkerSettings(home=tmp_path, lease_seconds=30)
    with migrated_store(tmp_path / "apprentice.db") as store:
        store.jobs.enqueue([NewJob(id="j", kind="answer", payload=encode(ASKED))], now=NOW)
        yield Bench(store=store, settings=settings, flows={})


def test_done_with_follow_ups(bench: Bench) -> None:
    """What follows from a job is stored with its end and sent, under an id that comes from both."""
    stored = bench.run(lambda job, context: [ANSWER])
    follow_up = bench.store.jobs.job(job_id("j", encode(ANSWER)))
    assert stored.state is JobState.DONE
    assert follow_up is not None
    assert (follow_up.state, follow_up.payload) == (JobState.READY, encode(ANSWER))
    assert bench.sent == [follow_up.id]


def test_flow_knows_its_job(bench: Bench) -> None:
    """The flow gets the decoded job and a context for it alone."""
    seen: list[tuple[Job, str]] = []

    def flow(job: AnswerCommand, context: Bench) -> Sequence[Job]:
        seen.append((job, context.job_id))
        return ()

    bench.run(flow)
    assert seen == [(ASKED, "j")]


def test_not_to_be_had(bench: Bench) -> None:
    """A job that is done, that somebody else has, or that does not exist is left alone."""
    ran: list[str] = []

    def flow(job: AnswerCommand, context: Bench) -> Sequence[Job]:
        ran.append(context.job_id)
        bench.run(lambda job, context: ran.append("again") or (), job="j")
        return ()

    bench.run(flow)
    bench.run(flow)
    run_leased(bench, "no such job", worker="w", send=bench.send)
    assert ran == ["j"]


def test_postponed(bench: Bench) -> None:
    """What may work later is tried later, and not before."""

    def flow(job: AnswerCommand, context: Bench) -> Sequence[Job]:
        raise Retryable("GitHub does not answer")

    stored = bench.run(flow)
    assert (stored.state, stored.reason) == (JobState.READY, "GitHub does not answer")
    assert NOW + FIRST_DELAY / 2 <= stored.run_after <= NOW + FIRST_DELAY
    assert bench.run(lambda job, context: ()).attempts == 1
    bench.pass_time(FIRST_DELAY)
    assert bench.run(lambda job, context: ()).state is JobState.DONE
    assert bench.reports == []


def test_patience_ends(bench: Bench) -> None:
    """What never works ends after some attempts, and the user gets one report."""

    def flow(job: AnswerCommand, context: Bench) -> Sequence[Job]:
        raise Retryable("GitHub does not answer")

    for _ in range(MAX_ATTEMPTS - 1):
        assert bench.run(flow).state is JobState.READY
        bench.pass_time(LONGEST_DELAY)
    stored = bench.run(flow)
    assert (stored.state, stored.reason) == (JobState.FAILED, "gave up after 8 attempts: GitHub does not answer")
    assert bench.reports == ["AnswerCommand: gave up after 8 attempts: GitHub does not answer"]


def away(job: AnswerCommand, context: Bench) -> Sequence[Job]:
    """A flow that finds GitHub away."""
    raise Unavailable("GitHub answered 503 while commenting")


def test_an_outage_is_waited_for(bench: Bench) -> None:
    """What is away is tried for 24 hours, however often, and counts as no attempt; then the user is told."""
    while (stored := bench.run(away)).state is JobState.READY:
        bench.pass_time(LONGEST_DELAY)
    assert bench.clock() - NOW >= PATIENCE
    assert stored.attempts > MAX_ATTEMPTS
    assert stored.reason == "gave up after 24 hours: GitHub answered 503 while commenting"
    assert bench.reports == [f"AnswerCommand: {stored.reason}"]


def test_a_full_disk_is_waited_for(bench: Bench) -> None:
    """A worker without room loses no job, and counts no attempt."""

    def flow(job: AnswerCommand, context: Bench) -> Sequence[Job]:
        raise OSError(errno.ENOSPC, "No space left on device", "mirrors/7")

    stored = bench.run(flow)
    assert (stored.state, stored.reason) == (JobState.READY, "the worker's disk is full: No space left on device")
    assert bench.reports == []


def test_waiting_leaves_all_attempts(bench: Bench) -> None:
    """After an outage a job has as many attempts as ever."""

    def flow(job: AnswerCommand, context: Bench) -> Sequence[Job]:
        raise Retryable("no branch")

    for _ in range(MAX_ATTEMPTS + 1):
        bench.run(away)
        bench.pass_time(LONGEST_DELAY)
    for _ in range(MAX_ATTEMPTS - 1):
        assert bench.run(flow).state is JobState.READY
        bench.pass_time(LONGEST_DELAY)
    assert bench.run(flow).reason == "gave up after 8 attempts: no branch"


def test_one_limit_stops_one_installation(bench: Bench) -> None:
    """Where GitHub limits an installation, its jobs wait as long as was asked, and those of others do not."""
    other = structs.replace(ASKED, repository=RepositoryRef(id=88, full_name="bolt/nut", installation_id=4004))
    same, others = rows("d", [POLL])[0], rows("d", [other])[0]
    bench.store.jobs.enqueue([same, others], now=NOW)

    def limited(job: AnswerCommand, context: Bench) -> Sequence[Job]:
        raise Limited("GitHub limits us", seconds=600)

    bench.store.jobs.enqueue(rows("e", [ASKED]), now=NOW)
    asked = rows("e", [ASKED])[0].id
    bench.run(limited, job=asked)
    assert bench.store.jobs.lease(same.id, worker="w", now=bench.clock(), seconds=30) is None
    assert set(bench.store.jobs.due(now=bench.clock(), limit=10)) == {"j", others.id}
    bench.pass_time(timedelta(seconds=601))
    assert set(bench.store.jobs.due(now=bench.clock(), limit=10)) == {"j", others.id, same.id, asked}


def test_a_refused_token_is_dropped(bench: Bench) -> None:
    """The next try mints another."""

    def flow(job: AnswerCommand, context: Bench) -> Sequence[Job]:
        raise TokenRefused("GitHub refused our token")

    assert bench.run(flow).state is JobState.READY
    assert bench.dropped == [REPOSITORY]


@pytest.mark.parametrize("error", [BadInput("that is no id"), CannotRun("there is no sandbox")])
def test_failed(error: ApprenticeError, bench: Bench) -> None:
    """What cannot be done is kept with its reason, and reported."""

    def flow(job: AnswerCommand, context: Bench) -> Sequence[Job]:
        raise error

    stored = bench.run(flow)
    assert (stored.state, stored.reason) == (JobState.FAILED, str(error))
    assert bench.reports == [f"AnswerCommand: {error}"]


def test_unexpected(bench: Bench) -> None:
    """A bug of ours is recorded, reported without its inner details, and re-raised."""

    def flow(job: AnswerCommand, context: Bench) -> Sequence[Job]:
        raise ZeroDivisionError("secret detail")

    with pytest.raises(ZeroDivisionError):
        bench.run(flow)
    stored = bench.store.jobs.job("j")
    assert stored is not None
    assert stored.state is JobState.FAILED
    assert bench.reports == ["AnswerCommand: an unexpected ZeroDivisionError stopped this job; see the worker's log"]


def test_no_flow(bench: Bench) -> None:
    """A job for which there is no flow fails with a reason."""
    assert bench.run().reason == "this version has no flow for the job answer"


def test_unreadable(bench: Bench) -> None:
    """A payload of no known kind or version fails with a reason; the runner cannot know whom to notify."""
    bench.store.jobs.enqueue([NewJob(id="x", kind="poll", payload=b'{"type": "poll.99"}')], now=NOW)
    stored = bench.run(job="x")
    assert stored.state is JobState.FAILED
    assert "cannot decode the job" in stored.reason
    assert bench.reports == []


def test_lease_lost(bench: Bench) -> None:
    """A worker that lost its lease records nothing: neither the end nor what would have followed."""

    def slow(job: AnswerCommand, context: Bench) -> Sequence[Job]:
        bench.pass_time(timedelta(seconds=31))
        assert bench.store.jobs.lease("j", worker="other", now=bench.clock(), seconds=30)
        return [ANSWER]

    stored = bench.run(slow)
    assert (stored.state, stored.worker) == (JobState.LEASED, "other")
    assert bench.store.jobs.job(job_id("j", encode(ANSWER))) is None
    assert bench.sent == []


@pytest.mark.parametrize("lost", [False, True])
def test_a_job_that_stops_gives_its_lease_back(bench: Bench, lost: bool) -> None:
    """Unless another worker has it, it is ready at once: what waits beside it waits for no lease to run out."""

    def stopped(job: AnswerCommand, context: Bench) -> Sequence[Job]:
        if lost:
            bench.pass_time(timedelta(seconds=31))
            assert bench.store.jobs.lease("j", worker="other", now=bench.clock(), seconds=30)
        raise JobStopped("what it is about is gone")

    stored = bench.run(stopped)
    assert (stored.state, stored.worker) == ((JobState.LEASED, "other") if lost else (JobState.READY, "w"))
    if not lost:
        assert bench.run(lambda job, context: ()).state is JobState.DONE


def test_heartbeat(bench: Bench) -> None:
    """While a job is worked on its lease is renewed, however long that takes."""
    context = dataclasses.replace(bench, settings=bench.settings.model_copy(update={"lease_seconds": 0.06}))
    renewed = threading.Event()

    def flow(job: AnswerCommand, context: Bench) -> Sequence[Job]:
        bench.pass_time(timedelta(minutes=5))
        while not renewed.wait(0.01):
            stored = bench.store.jobs.job("j")
            if stored and stored.lease_until and stored.lease_until > bench.clock():
                renewed.set()
        return ()

    assert context.run(flow).state is JobState.DONE


def test_a_dead_job_is_reported(bench: Bench) -> None:
    """A job that killed worker after worker ends, and the user gets a report."""
    for _ in range(5):
        bench.store.jobs.lease("j", worker="gone", now=bench.clock(), seconds=1)
        bench.pass_time(timedelta(seconds=2))
    stored = bench.run(lambda job, context: ())
    assert stored.state is JobState.DEAD
    assert bench.reports == [f"AnswerCommand: {stored.reason}"]


@given(st.integers(1, 10**6), st.integers())
def test_delay_is_bounded(attempts: int, seed: int) -> None:
    """The wait never exceeds its cap and never falls below half of what it stands at."""
    whole = min(FIRST_DELAY.total_seconds() * 2.0 ** min(attempts - 1, 50), LONGEST_DELAY.total_seconds())
    assert whole / 2 <= delay(attempts, random.Random(seed)).total_seconds() <= whole


def test_rows_repeat() -> None:
    """The same job from the same origin is the same row; from another origin it is another."""
    assert rows("a", [POLL]) == rows("a", [POLL])
    assert rows("a", [POLL])[0].id != rows("b", [POLL])[0].id
    assert rows("a", [POLL])[0].kind == "poll"


def test_every_job_has_a_priority() -> None:
    """No kind of job can be stored without its place among the others."""
    assert set(PRIORITIES) == set(get_args(Job))


def test_a_request_that_waited_through_an_upgrade_is_read() -> None:
    """Its fields have other names in the code; what is stored keeps its own."""
    stored = (
        b'{"type":"fix.1","repository":{"id":1,"full_name":"a/b","installation_id":2},"actor":{"id":3,"login":"x"},'
        b'"issue":4,"pull":true,"commanded":true,"sha":"abc"}'
    )
    job = decode(stored)
    assert isinstance(job, Fix)
    assert (job.number, job.head_sha) == (4, "abc")
