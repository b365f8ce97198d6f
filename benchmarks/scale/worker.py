"""The App's worker, which notes what each job cost in a folder."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from sqlalchemy import Engine, event

from workers.flows import FLOWS
from workers.home import scratch
from workers.job_context import JobContext, open_job_context
from workers.jobs import Job
from workers.queue.enqueue import kind_of
from workers.queue.runner import Flow
from workers.queue.worker import run_worker
from workers.settings import WorkerSettings, load


class JobNote(msgspec.Struct, frozen=True, kw_only=True):
    """What a process had used when a job was done: statements and commits, seconds of the processor, those of what it started
    too, bytes of memory, and open files."""

    kind: str
    at: float
    statements: int
    commits: int
    processor: float
    memory: int
    files: int


class JobNotes:
    """Of one process, in a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / str(os.getpid())).open("ab", buffering=0)
        self._statements = self._commits = 0
        event.listen(Engine, "before_cursor_execute", self._on_statement)
        event.listen(Engine, "commit", self._on_commit)

    def _on_statement(self, *_given: object) -> None:
        self._statements += 1

    def _on_commit(self, *_given: object) -> None:
        self._commits += 1

    def after(self, flow: Flow) -> Flow:
        """The flow, with a note at its end."""

        def noted(job: Job, context: JobContext) -> Sequence[Job]:
            try:
                return flow(job, context)
            finally:
                self._note(job)

        return noted

    def _note(self, job: Job) -> None:
        started = resource.getrusage(resource.RUSAGE_CHILDREN)
        note = JobNote(
            kind=kind_of(job),
            at=time.time(),
            statements=self._statements,
            commits=self._commits,
            processor=time.process_time() + started.ru_utime + started.ru_stime,
            memory=int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE"),
            files=sum(1 for _ in Path("/proc/self/fd").iterdir()),
        )
        self._file.write(msgspec.json.encode(note) + b"\n")


def nothing(_job: Job, _context: JobContext) -> Sequence[Job]:
    """A job that does nothing."""
    return ()


def main() -> None:
    """Entry point."""
    folder, no_op = Path(sys.argv[1]), "--no-op" in sys.argv
    settings = load(WorkerSettings)

    def context() -> JobContext:
        notes = JobNotes(folder)
        flows: Mapping[type, Flow] = {kind: notes.after(nothing if no_op else flow) for kind, flow in FLOWS.items()}
        return open_job_context(settings, flows=flows, seconds_between_writes=0.0)

    with scratch(settings.home):
        sys.exit(run_worker(settings, context))
