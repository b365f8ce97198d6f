"""Running one candidate: the quick screen by its covering tests, in a fork server while there is one.

A runner may be used by any thread, by one at a time. Before its verdicts count, the fork server has to reproduce how the
chosen tests end without any edit: the baseline.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import msgspec

from workers.errors import CannotRun, SandboxEnded
from workers.ports import Limits, Sandbox
from workers.repair.candidates import CRASH, TIMEOUT, Candidate, ScreenVerdict, implausible
from workers.repair.passed_tests import passing
from workers.repair.reproduce import ScreeningTests, within
from workers.repair.running.forkserver import (
    Baseline,
    FailedEdit,
    ForkAnswer,
    ForkRequest,
    ForkServer,
    ForkServerUnusable,
    Observe,
    Observed,
    arguments,
    establish,
    workload,
)
from workers.repair.time_allowance import Deadline
from workers.sandbox.project import Project
from workers.sandbox.report import TestOutcome, TestReport
from workers.sandbox.run_tests import run_tests

CAPS = ((0.08, 5.0), (0.5, 12.0), (2.0, 30.0))
"""Caps, tried in turn: the least seconds, and how many times what the tests cost unedited, as long as that adds
no more to the first than the least does: a test of half a second does not get thirty times that."""

PLACES = (0, 8, 2)
"""How many candidates may come to each level from below. Most that time out never end, and the first were the likeliest."""

PATIENCE = 20
"""How many steps are made on one level for each that is made on the next."""


def cap(level: int, usual: float) -> float:
    """Processor seconds for one try of a test, or of all of them, when that usually costs `usual`."""
    least, times = CAPS[level]
    return max(least, min(times * usual, least + CAPS[0][1] * usual))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledCandidate:
    """One candidate and the level whose time it gets."""

    candidate: Candidate
    level: int


class TimeoutSchedule:
    """Orders steps; candidates are pulled from their source only when their turn comes."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._source = iter(candidates)
        self._waiting: tuple[deque[ScheduledCandidate], ...] = tuple(deque() for _ in CAPS)
        self._tries = [0] * len(CAPS)
        self._places = list(PLACES)

    def next(self) -> ScheduledCandidate | None:
        """The next candidate; None while nothing is left to do, which `retry_later` can change."""
        if (step := self._next()) is not None:
            self._tries[step.level] += 1
        return step

    def put(self, step: ScheduledCandidate) -> None:
        """Have a step made later."""
        self._waiting[step.level].append(step)

    def retry_later(self, step: ScheduledCandidate) -> bool:
        """Have the candidate tried again with more time; false when it had the most, or no place is left above."""
        if step.level + 1 == len(CAPS) or not self._places[step.level + 1]:
            return False
        self._places[step.level + 1] -= 1
        self.put(ScheduledCandidate(candidate=step.candidate, level=step.level + 1))
        return True

    def left(self) -> tuple[Candidate, ...]:
        """The candidates that still wait for their turn on a higher level, the lowest first."""
        return tuple(step.candidate for queue in self._waiting for step in queue)

    def _next(self) -> ScheduledCandidate | None:
        for level in range(len(CAPS) - 1, 0, -1):
            if self._waiting[level] and self._tries[level - 1] >= PATIENCE * (self._tries[level] + 1):
                return self._waiting[level].popleft()
        candidate = next(self._source, None)
        if candidate is not None:
            return ScheduledCandidate(candidate=candidate, level=0)
        return next((queue.popleft() for queue in self._waiting if queue), None)


TOO_LONG = "its tests did not end"

RESTARTS = 5
"""A fork server that died more often than this is given up."""

SESSION_SECONDS = 86_400
"""A session's own limits bound all candidates together; each has its own, far smaller ones."""

MIN_WALL = 10.0

OBSERVED_SECONDS = 0.4
"""What the tests may usually compute that candidates are observed by: noting calls makes them slower several times."""

QUICK_SECONDS = 0.05
"""Where a single test takes longer, a fork is not what a candidate costs."""

SHARING_FAILURES = 4
"""How often in a row edits may leave traces, or fail to be tried together, before each is tried apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """A verdict and how it came about. `slow` says that this level's time did not suffice, `together` that a fork was shared,
    `late` that it was not tried, as the time was used up.
    """

    verdict: ScreenVerdict
    slow: bool = False
    swapped: bool = False
    together: bool = False
    late: bool = False


class CandidateRunner:
    """Runs the tests of a selection. `note` says why each candidate gets a process, empty when they are forked.

    `together` allows that what is plainly wrong shares a fork. No try lasts past `deadline`.
    """

    def __init__(
        self, sandbox: Sandbox, project: Project, wanted: ScreeningTests, limits: Limits, *, together: bool = True
    ) -> None:
        self._sandbox = sandbox
        self._project = project
        self._wanted = wanted
        self._limits = limits
        self._session = ExitStack()
        self._server: ForkServer | None = None
        self._baseline: Baseline | None = None
        self._restarts = 0
        self._sharing_failures = 0 if together else SHARING_FAILURES
        self.note = ""
        self.deadline = Deadline(math.inf)

    def open(self) -> Baseline | None:
        """Start the fork server and check that it reproduces the unedited outcomes; None when there is no server."""
        try:
            self._server = self._start()
            self._baseline = establish(self._server, self._wanted)
        except (SandboxEnded, ForkServerUnusable) as reason:
            self._do_without(str(reason))
        return self._baseline

    def join(self, other: CandidateRunner) -> None:
        """Start a fork server with the baseline of another runner."""
        self._wanted, self._baseline = other._wanted, other._baseline
        if self._baseline is not None:
            self._revive()

    def demand(self, seconds: Mapping[str, float]) -> None:
        """Screen from now on by these tests too, before the other covering ones; `seconds` says how long each takes to pass unedited."""
        self._wanted = replace(self._wanted, covering=(*seconds, *self._wanted.covering))
        if self._server is None or self._baseline is None:
            return
        self._baseline = self._baseline.demanding(seconds, len(self._wanted.failing))
        self._session.close()
        self._revive()

    def close(self) -> None:
        self._session.close()

    def screen(self, step: ScheduledCandidate) -> Screened:
        """Try one candidate with the time of its level."""
        if self.deadline():
            return Screened(verdict=implausible(step.candidate, TIMEOUT, TOO_LONG), late=True)
        if self._server is None or self._baseline is None:
            return Screened(verdict=self._screen_apart(step.candidate))
        try:
            answer = self._server.ask(self._request(step, self._baseline))
        except SandboxEnded as end:
            self._restart(str(end))
            crashed = "it brought down the process that tries candidates"
            return Screened(verdict=implausible(step.candidate, CRASH, crashed))
        if answer.how == "early":
            return Screened(verdict=self._screen_apart(step.candidate))
        verdict = verdict_of(step.candidate, answer)
        return Screened(verdict=verdict, slow=answer.ended == "cpu", swapped=answer.how == "swap")

    @property
    def takes_several(self) -> bool:
        """Whether candidates may be tried together for now."""
        if self._server is None or self._baseline is None or self._baseline.fresh:
            return False
        return self._sharing_failures < SHARING_FAILURES and max(self._baseline.each, default=0.0) < QUICK_SECONDS

    def screen_all(self, steps: Sequence[ScheduledCandidate]) -> Iterator[Screened]:
        """Try candidates in turn, those that are plainly wrong together: all edits of one file, on the first level."""
        left = tuple(steps)
        while left:
            several = len(left) > 1 and self.takes_several
            together = self._screen_together(left) if several else ()
            for step, screened in zip(left, together, strict=False):
                yield screened or self.screen(step)
            left = left[len(together) :]
            if left and not together:
                yield self.screen(left[0])
                left = left[1:]

    def _screen_together(self, steps: Sequence[ScheduledCandidate]) -> tuple[Screened | None, ...]:
        """What is known of the first few once they were tried in one fork, None for those that have to be tried apart."""
        assert self._server is not None, "there is a server while several are taken"
        assert self._baseline is not None, "there is a baseline while there is a server"
        request = self._request(steps[0], self._baseline)
        cpu = (len(steps) * request.cpu[0], request.cpu[1])
        wall = request.wall + cpu[0]
        sources = tuple(step.candidate.source for step in steps)
        try:
            answer = self._server.ask(msgspec.structs.replace(request, source="", sources=sources, cpu=cpu, wall=wall))
        except SandboxEnded as end:
            self._restart(str(end))
            return ()
        known = tuple(map(_screened, (step.candidate for step in steps), answer.failed_edits))
        few = sum(screened is not None for screened in known) < len(steps) // 2
        self._sharing_failures = self._sharing_failures + 1 if few else 0
        if answer.ended == "cpu" and len(known) < len(steps):
            slow = implausible(steps[len(known)].candidate, TIMEOUT, TOO_LONG)
            return (*known, Screened(verdict=slow, slow=True, swapped=True, together=True))
        return known

    def observed(self, candidate: Candidate, observe: Observe) -> Observed | None:
        """How a candidate behaves on calls like those of its tests; None where that cannot be observed."""
        if self._server is None or self._baseline is None:
            return None
        request = self._request(ScheduledCandidate(candidate=candidate, level=len(CAPS) - 1), self._baseline)
        failing, covering = _quick(request, self._baseline)
        cpu = (2 * request.cpu[0] + 2 * observe.seconds, 2 * request.cpu[1] + 2 * observe.seconds)
        wall = request.wall + 4 * cpu[1]
        quick = msgspec.structs.replace(request, failing=failing, covering=covering, each=(), whole=True, narrow=False)
        try:
            return self._server.ask(msgspec.structs.replace(quick, observe=observe, cpu=cpu, wall=wall)).observed
        except SandboxEnded as end:
            self._restart(str(end))
            return None

    def _request(self, step: ScheduledCandidate, baseline: Baseline) -> ForkRequest:
        swapped, fresh = (cap(step.level, usual) for usual in baseline.cpu)
        return ForkRequest(
            path=step.candidate.path,
            source=step.candidate.source,
            failing=self._wanted.failing,
            covering=baseline.covering,
            cpu=(swapped, fresh),
            each=tuple(cap(step.level, usual) for usual in baseline.each),
            wall=min(self.deadline.wall(), max(MIN_WALL, 4 * baseline.wall + 4 * fresh)),
            fresh=baseline.fresh,
            narrow=baseline.narrow and self._server is not None and self._server.narrows,
        )

    def _screen_apart(self, candidate: Candidate) -> ScreenVerdict:
        run = run_tests(
            self._sandbox,
            self._project,
            tests=(*self._wanted.failing, *self._wanted.covering),
            overlay={candidate.path: candidate.source.encode()},
            limits=self._limits.within(self.deadline.wall()),
        )
        return verdict_from(candidate, run.report, self._wanted)

    def _start(self) -> ForkServer:
        args = arguments(self._project, (*self._wanted.failing, *self._wanted.covering))
        narrow = arguments(self._project, self._wanted.failing)
        if args is None:
            raise ForkServerUnusable(f"the test command {self._project.test_command[0]!r} is not plainly pytest")
        limits = replace(self._limits, wall_seconds=SESSION_SECONDS, cpu_seconds=SESSION_SECONDS)
        session = self._session.enter_context(self._sandbox.session(workload(self._project, limits)))
        return ForkServer(
            session, args=args, narrow=() if narrow in (None, args) else narrow, wall=self._limits.wall_seconds
        )

    def _restart(self, reason: str) -> None:
        self._session.close()
        self._restarts += 1
        if self._restarts > RESTARTS:
            self._do_without(reason)
        else:
            self._revive()

    def _revive(self) -> None:
        try:
            self._server = self._start()
        except (CannotRun, SandboxEnded, ForkServerUnusable) as end:
            self._do_without(str(end))

    def _do_without(self, reason: str) -> None:
        self._session.close()
        self._server = None
        self.note = f"each candidate gets a process of its own, which is slower: {reason}"


def _quick(request: ForkRequest, baseline: Baseline) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The failing and the covering tests that do not take long together; the first failing one in any case."""
    costs = zip((*request.failing, *request.covering), baseline.each, strict=False)
    chosen = {*request.failing[:1], *within(costs, OBSERVED_SECONDS)}
    failing, covering = (tuple(t for t in tests if t in chosen) for tests in (request.failing, request.covering))
    return failing, covering


def _screened(candidate: Candidate, failed_edit: FailedEdit | None) -> Screened | None:
    if failed_edit is None:
        return None
    verdict = implausible(candidate, failed_edit.error_type, failed_edit.message)
    return Screened(verdict=verdict, swapped=True, together=True)


def verdict_of(candidate: Candidate, answer: ForkAnswer) -> ScreenVerdict:
    if answer.ended in ("cpu", "wall"):
        return implausible(candidate, TIMEOUT, TOO_LONG)
    if answer.ended == "died":
        return implausible(candidate, CRASH, "its tests ended the process that ran them")
    return ScreenVerdict(
        candidate=candidate,
        plausible=answer.done,
        passed=answer.passed,
        error_type=answer.error_type,
        message=answer.message,
        failed=next((test for test, passed in answer.outcomes.items() if not passed), ""),
    )


def verdict_from(candidate: Candidate, report: TestReport, wanted: ScreeningTests) -> ScreenVerdict:
    outcomes = {result.id: result.outcome for result in report.results}
    passed = len(passing(wanted.failing, outcomes))
    kept = all(outcomes.get(test) is TestOutcome.PASSED for test in wanted.covering)
    first = next(iter(report.failing()), None)
    return ScreenVerdict(
        candidate=candidate,
        plausible=passed == len(wanted.failing) and kept and report.complete,
        passed=passed,
        error_type=first.error_type if first else "",
        message=first.message if first else report.trouble,
        failed=first.id if first else "",
    )
