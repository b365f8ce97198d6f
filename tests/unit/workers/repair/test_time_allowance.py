"""The time of a whole repair: no run and no answer of a sandbox outlasts it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from memory.model import SuiteCount
from workers.ports import CompletedRun, Ending, Limits, SandboxSession, Workload
from workers.repair.judging.prove import STARTING_SECONDS, reserved
from workers.repair.reproduce import Reproduction
from workers.repair.time_allowance import LAST_SECONDS, MIN_RUN_SECONDS, BoundedRuns, Deadline, TimedSandbox
from workers.sandbox.project import Project
from workers.sandbox.report import TestOutcome, TestReport, TestResult

WORKLOAD = Workload(command=("true",), tree=Path("/"), python=Path("/python"), env={}, limits=Limits(wall_seconds=120))


@dataclass
class Recording:
    """A sandbox and its session that write down how long they are given."""

    given: list[float] = field(default_factory=list)

    def run(self, workload: Workload) -> CompletedRun:
        self.given.append(workload.limits.wall_seconds)
        return CompletedRun(exit_code=0, ending=Ending.EXITED, stdout="", stderr="", report=b"", seconds=0.0)

    @contextmanager
    def session(self, workload: Workload) -> Iterator[SandboxSession]:
        assert workload is WORKLOAD
        yield self

    def send(self, line: bytes) -> None:
        assert line == b"{}"

    def receive(self, timeout: float) -> bytes:
        self.given.append(timeout)
        return b""


def timed(seconds: float) -> list[float]:
    recording = Recording()
    sandbox = TimedSandbox(sandbox=recording, deadline=Deadline(time.monotonic() + seconds))
    sandbox.run(WORKLOAD)
    with sandbox.session(WORKLOAD) as session:
        session.send(b"{}")
        session.receive(120.0)
    return recording.given


def test_nothing_in_a_timed_sandbox_outlasts_its_deadline() -> None:
    """A run and an answer get what is left, and after the deadline next to nothing; a far deadline changes nothing."""
    assert all(20 < seconds <= 30 for seconds in timed(30.0))
    assert timed(-30.0) == [LAST_SECONDS] * 2
    assert timed(3600.0) == [120.0, 120.0]


def test_a_run_ends_with_the_deadline() -> None:
    """However much its own limit leaves, it gets what is left until then; past it, the time in which a suite may start."""
    project = Project(tree=Path("/"), python=Path("/python"), test_command=("pytest",), source_roots=())

    def wall(deadline: float, most: float = math.inf) -> float:
        runs = BoundedRuns(sandbox=Recording(), project=project, limits=WORKLOAD.limits, deadline=deadline)
        return runs.bounds(most).wall_seconds

    now = time.monotonic()
    assert (wall(math.inf), wall(math.inf, 30.0), wall(now - 1)) == (120.0, 30.0, MIN_RUN_SECONDS)
    assert 50 < wall(now + 60) <= 60


def test_the_last_part_of_a_budget_is_kept_for_a_proof() -> None:
    """A sixth of it; less where the suite is known to be quick."""
    results = tuple(TestResult(id=f"t.py::{n}", outcome=TestOutcome.PASSED, seconds=2.0) for n in range(2))
    report = TestReport(results=results, started=True, complete=True)
    assert report.count() == SuiteCount(passed=2, failed=0, skipped=0, collected=2)
    seen = Reproduction(report=report, flaky=(), set_aside={}, lines={}, passing=(), test_runs=1)
    assert reserved(300.0, seen) == STARTING_SECONDS + 3 * 4.0
    assert reserved(60.0, seen) == 10.0
    assert reserved(300.0, replace(seen, whole=False)) == 50.0
