"""How long runs of tests may take together, and how long a whole repair."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from workers.ports import CompletedRun, Limits, Sandbox, SandboxSession, Workload
from workers.sandbox.project import Project
from workers.sandbox.run_tests import TestRun, run_tests

MIN_RUN_SECONDS = 5.0
"""No run gets less: in less time no suite starts."""

LAST_SECONDS = 1.0
"""What a run gets that begins when the time is up."""


class Deadline:
    """Whether a point of time.monotonic() has passed; `expired` remembers a yes."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self.expired = False

    def __call__(self) -> bool:
        self.expired = self.expired or time.monotonic() >= self._deadline
        return self.expired

    def left(self) -> float:
        """Seconds until then; below 0 afterwards."""
        return self._deadline - time.monotonic()

    def wall(self) -> float:
        """The seconds that a run may take which begins now."""
        return max(LAST_SECONDS, self.left())

    @contextmanager
    def postponed(self, deadline: float) -> Iterator[None]:
        """Make it a later one, of time.monotonic(), until this ends."""
        before, self._deadline, self.expired = self._deadline, max(self._deadline, deadline), False
        try:
            yield
        finally:
            self._deadline = before

    def share(self, part: float, most: float) -> Deadline:
        """A deadline after a part of the time that is left, `most` seconds at most."""
        return Deadline(time.monotonic() + min(most, part * max(0.0, self.left())))


@dataclass(slots=True, kw_only=True)
class BoundedRuns:
    """Runs a project's tests, each within `limits`, and none past `deadline`, a point of time.monotonic(); counts how often."""

    sandbox: Sandbox
    project: Project
    limits: Limits
    deadline: float = math.inf
    count: int = 0

    def left(self) -> float:
        """Seconds until the deadline; below 0 afterwards."""
        return self.deadline - time.monotonic()

    def bounds(self, most: float = math.inf) -> Limits:
        """The limits of a run that begins now and may take `most` seconds by the clock."""
        return self.limits.within(max(MIN_RUN_SECONDS, min(most, self.left())))

    def run(
        self,
        tests: Sequence[str] = (),
        *,
        overlay: Mapping[str, bytes | None] = {},
        wall: float = math.inf,
        test_seconds: float | None = None,
        near_seconds: float | None = None,
        trace: bool = False,
        project: Project | None = None,
    ) -> TestRun:
        """See run_tests. It takes `wall` seconds at most; with `project` that one's tests run."""
        self.count += 1
        return run_tests(
            self.sandbox,
            project or self.project,
            tests=tests,
            overlay=overlay,
            limits=self.bounds(wall),
            trace=trace,
            test_seconds=test_seconds,
            near_seconds=near_seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedSandbox:
    """A sandbox in which no run and no answer takes longer than until `deadline`."""

    sandbox: Sandbox
    deadline: Deadline

    def run(self, workload: Workload) -> CompletedRun:
        """Run to the end, to a limit, or until the deadline."""
        return self.sandbox.run(replace(workload, limits=workload.limits.within(self.deadline.wall())))

    @contextmanager
    def session(self, workload: Workload) -> Iterator[SandboxSession]:
        """Start a process that answers requests until the deadline."""
        with self.sandbox.session(workload) as session:
            yield _TimedSession(session=session, deadline=self.deadline)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TimedSession:
    session: SandboxSession
    deadline: Deadline

    def send(self, line: bytes) -> None:
        self.session.send(line)

    def receive(self, timeout: float) -> bytes:
        return self.session.receive(min(timeout, self.deadline.wall()))
