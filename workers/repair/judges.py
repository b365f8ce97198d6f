"""Judges: each tries one candidate at a time, with a fork server of its own while that can be had.

A judge may be used by any thread, by one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import msgspec

from workers.errors import SandboxEnded
from workers.ports import Limits, Sandbox
from workers.repair.baseline import Baseline, Selection, Unfit, establish
from workers.repair.candidates import Candidate, Verdict
from workers.repair.forkserver import Answer, Brief, ForkServer, Observe, Observed, Request, arguments, workload
from workers.repair.judging.prove import passes
from workers.repair.ladder import RUNGS, Step, cap
from workers.sandbox.project import Project
from workers.sandbox.report import TestOutcome, TestReport
from workers.sandbox.testing import run_tests

TIMEOUT, CRASH = "Timeout", "Crash"
"""What stands for an error type when a candidate computed too long, or ended the process that tried it."""

TOO_LONG = "its tests did not end"

RESTARTS = 5
"""A fork server that died more often than this is given up."""

SESSION_SECONDS = 86_400
"""A session's own limits bound all candidates together; each has its own, far smaller ones."""

LEAST_WALL = 10.0

OBSERVED_SECONDS = 0.4
"""What the tests may usually compute that candidates are observed by: noting calls makes them slower several times."""

QUICK_SECONDS = 0.05
"""Where a single test takes longer, a fork is not what a candidate costs."""

SPOILT = 4
"""So often in a row an edit may leave traces, or defy being tried with others, before each is tried apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict and what it took. `slow` tells that only this rung's time did not suffice, `together` that a fork was shared."""

    verdict: Verdict
    slow: bool = False
    ran: bool = True
    swapped: bool = False
    together: bool = False


class Judge:
    """Judges by the tests of a selection. `note` says why each candidate gets a process, empty when they are forked.

    `together` allows that what is plainly wrong shares a fork.
    """

    def __init__(
        self, sandbox: Sandbox, project: Project, wanted: Selection, limits: Limits, *, together: bool = True
    ) -> None:
        self._sandbox = sandbox
        self._project = project
        self._wanted = wanted
        self._limits = limits
        self._session = ExitStack()
        self._server: ForkServer | None = None
        self._baseline: Baseline | None = None
        self._restarts = 0
        self._asked = 0
        self._spoilt = 0 if together else SPOILT
        self.note = ""

    def open(self) -> Baseline | None:
        """Start the fork server and see that it tells of the unedited code what is known; None when there is none."""
        try:
            self._server = self._start()
            self._baseline = establish(self._server, self._wanted)
        except (SandboxEnded, Unfit) as reason:
            self._do_without(str(reason))
        return self._baseline

    def join(self, other: Judge) -> None:
        """Start a fork server that is to tell the same as another judge's."""
        self._wanted, self._baseline = other._wanted, other._baseline
        if self._baseline is not None:
            self._revive()

    def demand(self, seconds: Mapping[str, float]) -> None:
        """Judge from now on by these tests too, which pass unedited and took so long, before the other covering ones."""
        self._wanted = replace(self._wanted, covering=(*seconds, *self._wanted.covering))
        if self._server is None or self._baseline is None:
            return
        self._baseline = self._baseline.demanding(seconds, len(self._wanted.failing))
        self._session.close()
        self._revive()

    def close(self) -> None:
        """End the server."""
        self._session.close()

    def judge(self, step: Step) -> Judged:
        """Try one candidate with the time of its rung."""
        if self._server is None or self._baseline is None:
            return Judged(verdict=self._judge_apart(step.candidate))
        try:
            answer = self._server.ask(self._request(step, self._baseline))
        except SandboxEnded as end:
            self._restart(str(end))
            return Judged(
                verdict=implausible(step.candidate, CRASH, "it brought down the process that tries candidates")
            )
        verdict = verdict_of(step.candidate, answer)
        return Judged(
            verdict=verdict, slow=answer.ended == "cpu", ran=answer.how != "compile", swapped=answer.how == "swap"
        )

    @property
    def takes_several(self) -> bool:
        """Whether candidates may be tried together for now."""
        if self._server is None or self._baseline is None or self._baseline.fresh:
            return False
        return self._spoilt < SPOILT and max(self._baseline.each, default=0.0) < QUICK_SECONDS

    def judge_all(self, steps: Sequence[Step]) -> Iterator[Judged]:
        """Try candidates in turn, those that are plainly wrong together: all edits of one file, on the first rung."""
        left = tuple(steps)
        while left:
            told = self._judge_together(left) if len(left) > 1 and self.takes_several else ()
            for step, judged in zip(left, told, strict=False):
                yield judged or self.judge(step)
            left = left[len(told) :]
            if left and not told:
                yield self.judge(left[0])
                left = left[1:]

    def _judge_together(self, steps: Sequence[Step]) -> tuple[Judged | None, ...]:
        """What is known of the first few once they were tried in one fork, None of those that have to be tried apart."""
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
        told = tuple(_judged(step.candidate, brief) for step, brief in zip(steps, answer.briefs, strict=False))
        self._spoilt = self._spoilt + 1 if sum(judged is not None for judged in told) < len(steps) // 2 else 0
        if answer.ended == "cpu" and len(told) < len(steps):
            slow = implausible(steps[len(told)].candidate, TIMEOUT, TOO_LONG)
            return (*told, Judged(verdict=slow, slow=True, swapped=True, together=True))
        return told

    def observed(self, candidate: Candidate, observe: Observe) -> Observed | None:
        """How a candidate behaves on calls like those of its tests; None where that cannot be told."""
        if self._server is None or self._baseline is None:
            return None
        request = self._request(Step(candidate=candidate, rung=len(RUNGS) - 1), self._baseline)
        failing, covering = _quick(request, self._baseline)
        cpu = (2 * request.cpu[0] + 2 * observe.seconds, 2 * request.cpu[1] + 2 * observe.seconds)
        wall = request.wall + 4 * cpu[1]
        quick = msgspec.structs.replace(request, failing=failing, covering=covering, each=(), whole=True)
        try:
            return self._server.ask(msgspec.structs.replace(quick, observe=observe, cpu=cpu, wall=wall)).observed
        except SandboxEnded as end:
            self._restart(str(end))
            return None

    def _request(self, step: Step, baseline: Baseline) -> Request:
        self._asked += 1
        swapped, fresh = (cap(step.rung, usual) for usual in baseline.cpu)
        return Request(
            id=self._asked,
            path=step.candidate.path,
            source=step.candidate.source,
            failing=self._wanted.failing,
            covering=baseline.covering,
            cpu=(swapped, fresh),
            each=tuple(cap(step.rung, usual) for usual in baseline.each),
            wall=max(LEAST_WALL, 4 * baseline.wall + 4 * fresh),
            fresh=baseline.fresh,
        )

    def _judge_apart(self, candidate: Candidate) -> Verdict:
        run = run_tests(
            self._sandbox,
            self._project,
            tests=(*self._wanted.failing, *self._wanted.covering),
            overlay={candidate.path: candidate.source.encode()},
            limits=self._limits,
        )
        return verdict_from(candidate, run.report, self._wanted)

    def _start(self) -> ForkServer:
        args = arguments(self._project, (*self._wanted.failing, *self._wanted.covering))
        if args is None:
            raise Unfit(f"the test command {self._project.test_command[0]!r} is not plainly pytest")
        limits = replace(self._limits, wall_seconds=SESSION_SECONDS, cpu_seconds=SESSION_SECONDS)
        session = self._session.enter_context(self._sandbox.session(workload(self._project, limits)))
        return ForkServer(session, args=args, wall=self._limits.wall_seconds)

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
        except (SandboxEnded, Unfit) as end:
            self._do_without(str(end))

    def _do_without(self, reason: str) -> None:
        self._session.close()
        self._server = None
        self.note = f"each candidate gets a process of its own, which is slower: {reason}"


def _quick(request: Request, baseline: Baseline) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The failing and the covering tests that do not take long together; the first failing one in any case."""
    chosen: set[str] = set(request.failing[:1])
    left = OBSERVED_SECONDS
    for test, usual in zip((*request.failing, *request.covering), baseline.each, strict=False):
        if usual <= left:
            left -= usual
            chosen.add(test)
    failing, covering = (tuple(t for t in tests if t in chosen) for tests in (request.failing, request.covering))
    return failing, covering


def _judged(candidate: Candidate, brief: Brief | None) -> Judged | None:
    if brief is None:
        return None
    verdict = Verdict(
        candidate=candidate, plausible=False, passed=0, error_type=brief.error_type, message=brief.message
    )
    return Judged(verdict=verdict, swapped=True, together=True)


def verdict_of(candidate: Candidate, answer: Answer) -> Verdict:
    """The verdict in a fork server's answer."""
    if answer.ended in ("cpu", "wall"):
        return implausible(candidate, TIMEOUT, TOO_LONG)
    if answer.ended == "died":
        return implausible(candidate, CRASH, "its tests ended the process that ran them")
    return Verdict(
        candidate=candidate,
        plausible=answer.done,
        passed=answer.passed,
        error_type=answer.error_type,
        message=answer.message,
    )


def verdict_from(candidate: Candidate, report: TestReport, wanted: Selection) -> Verdict:
    """The verdict in the report of a run of its own."""
    outcomes = {result.id: result.outcome for result in report.results}
    passed = sum(passes(test, outcomes) for test in wanted.failing)
    kept = all(outcomes.get(test) is TestOutcome.PASSED for test in wanted.covering)
    first = next(iter(report.failing()), None)
    return Verdict(
        candidate=candidate,
        plausible=passed == len(wanted.failing) and kept and report.complete,
        passed=passed,
        error_type=first.error_type if first else "",
        message=first.message if first else report.trouble,
    )


def implausible(candidate: Candidate, error_type: str, message: str) -> Verdict:
    """The verdict on a candidate whose tests did not come to an end of their own."""
    return Verdict(candidate=candidate, plausible=False, passed=0, error_type=error_type, message=message)
