"""A real worker whose flow is a toy: `python toy_worker.py HOME [BROKER_URL [JOB_SECONDS]]`. What it does follows from the job."""

from __future__ import annotations

import dataclasses
import os
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from memory.model.jobs import LeasedJob
from memory.store import Store, open_store
from workers.job_context import Effects
from workers.jobs import AnswerCommand, Fix, Job, ReportFailure, RepositoryRef, ReviewPull
from workers.logs import configure
from workers.queue.runner import Flow
from workers.queue.worker import WorkerTimes, run_worker
from workers.settings import WorkerSettings


@dataclasses.dataclass(frozen=True)
class ToyContext:
    settings: WorkerSettings
    store: Store
    flows: Mapping[type, Flow]
    leased: LeasedJob | None = None
    rng: random.Random = dataclasses.field(default_factory=lambda: random.Random(0))
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def for_job(self, leased: LeasedJob, stop: threading.Event) -> ToyContext:
        return dataclasses.replace(self, leased=leased)

    @property
    def job_id(self) -> str:
        return self.leased.id if self.leased else ""

    def drop_token(self, repository: RepositoryRef) -> None:
        """There is none."""


def append(path: Path, line: str) -> int:
    """One line, whole, whoever else writes; returns its length as a stand-in for an id."""
    with path.open("ab", buffering=0) as file:
        return file.write(line.encode())


def toy(job: Fix, context: ToyContext) -> Sequence[Job]:
    """Note the start, obey the guidance, make one effect, and ask for one answer."""
    home, seconds, leased = context.settings.home, context.settings.lease_seconds, context.leased
    assert leased is not None, "a job runs under its lease"
    effects = Effects(store=context.store, leased=leased, lease_seconds=seconds, clock=context.clock)
    append(home / "started", f"{context.job_id} {os.getpid()}\n")
    if job.guidance == "poison":
        os.kill(os.getpid(), signal.SIGKILL)
    if job.guidance == "freeze":
        re.match(r"(a+)+$", "a" * 100 + "b")  # lets no other thread run, for ever
    await_go(job.guidance, home)
    effects.once(context.job_id, make=lambda: make_effect(job, context), find=lambda: find_effect(context))
    return [AnswerCommand(repository=job.repository, actor=job.actor, number=job.number, comment_id=0, command="help")]


def await_go(word: str, home: Path) -> None:
    while word == "hang" or (word == "wait" and not (home / "go").exists()):
        time.sleep(0.02)


def make_effect(job: Fix, context: ToyContext) -> int:
    """Leave a mark outside the database; `die after effect` dies before anybody can note that it was left."""
    size = append(context.settings.home / "effects", f"{context.job_id}\n")
    if job.guidance == "die after effect":
        os.kill(os.getpid(), signal.SIGKILL)
    return size


def find_effect(context: ToyContext) -> int | None:
    path = context.settings.home / "effects"
    lines = path.read_text().splitlines() if path.exists() else []
    return len(context.job_id) + 1 if context.job_id in lines else None


def tell(job: ReportFailure, context: ToyContext) -> Sequence[Job]:
    """Note what a user would be told."""
    append(context.settings.home / "told", f"{job.reason}\n")
    return ()


def note(job: Job, context: ToyContext) -> Sequence[Job]:
    """Note that the job ran."""
    if isinstance(job, AnswerCommand):
        await_go(job.argument, context.settings.home)
    append(context.settings.home / "done", f"{context.job_id}\n")
    return ()


def main(home: Path, broker_url: str, job_seconds: float) -> int:
    short = {"budget_seconds": 0.1, "sandbox_wall_seconds": 0.1, "model_seconds": 0.1, "lease_seconds": 1.5}
    settings = WorkerSettings(home=home, broker_url=broker_url, workers=3, job_seconds=job_seconds, **short)
    configure(settings)
    flows: dict[type, Flow] = {Fix: toy, AnswerCommand: note, ReviewPull: note, ReportFailure: tell}
    times = WorkerTimes(look=3.0, watch=8.0, grace=1.0, frozen=5.0)
    return run_worker(settings, lambda: ToyContext(settings, open_store(settings.database()), flows), times)


if __name__ == "__main__":
    home, *given = sys.argv[1:]
    broker, seconds = (*given, *("", "3600")[len(given) :])
    sys.exit(main(Path(home), broker, float(seconds)))
