"""Screen candidates: which of them make the failing tests pass and leave the covering ones passing.

A screen is quick and may be wrong, as its candidates share a checkout; what it finds plausible is proven by prove.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from workers.errors import SandboxEnded
from workers.ports import Limits, Sandbox
from workers.repair.baseline import Baseline, Selection, Unfit, establish
from workers.repair.candidates import Candidate, Verdict
from workers.repair.forkserver import Answer, ForkServer, Request, arguments, workload
from workers.repair.ladder import Ladder, Step, cap
from workers.repair.prove import passes
from workers.sandbox.project import Project
from workers.sandbox.report import TestOutcome, TestReport
from workers.sandbox.testing import run_tests

TIMEOUT, CRASH = "Timeout", "Crash"
"""What stands for an error type when a candidate computed too long, or ended the process that tried it."""

RESTARTS = 5
"""A fork server that died more often than this is given up."""

SESSION_SECONDS = 86_400
"""A session's own limits bound all candidates together; each has its own, far smaller ones."""

LEAST_WALL = 10.0


class Screen:
    """Tries candidates one after another. `note` says why each gets a process of its own, empty when they are forked.

    `test_runs` counts how often tests were run, those without an edit included; `swapped` the candidates among them that
    needed no import.
    """

    def __init__(self, sandbox: Sandbox, project: Project, wanted: Selection, limits: Limits) -> None:
        self._sandbox = sandbox
        self._project = project
        self._wanted = wanted
        self._limits = limits
        self._session = ExitStack()
        self._server: ForkServer | None = None
        self._baseline: Baseline | None = None
        self._restarts = 0
        self._asked = 0
        self.note = ""
        self.test_runs = 0
        self.swapped = 0

    def open(self) -> None:
        """Start the fork server and see that it tells of the unedited code what is known; else do without."""
        try:
            self._server = self._start()
            self._baseline = establish(self._server, self._wanted)
            self.test_runs += self._baseline.runs
        except (SandboxEnded, Unfit) as reason:
            self._do_without(str(reason))

    def close(self) -> None:
        """End the server."""
        self._session.close()

    def verdicts(self, candidates: Iterable[Candidate], *, deadline: Callable[[], bool]) -> Iterator[Verdict]:
        """Judge candidates as they are taken from their source, until it is empty or `deadline()` is true.

        In order, but those that computed too long come again later with more time; each gets one verdict.
        """
        ladder = Ladder(candidates)
        for step in ladder:
            if deadline():
                ladder.put(step)
                break
            verdict, slow = self._judge(step)
            if not (slow and ladder.climb(step)):
                yield verdict
        for candidate in ladder.left():
            yield implausible(candidate, TIMEOUT, "its tests had not ended when the time was used up")

    def _judge(self, step: Step) -> tuple[Verdict, bool]:
        """The verdict, and whether it is only that this rung's time did not suffice."""
        if self._server is None or self._baseline is None:
            return self._judge_apart(step.candidate), False
        try:
            answer = self._server.ask(self._request(step, self._baseline))
        except SandboxEnded as end:
            self.test_runs += 1
            self._restart(str(end))
            return implausible(step.candidate, CRASH, "it brought down the process that tries candidates"), False
        self.test_runs += answer.how != "compile"
        self.swapped += answer.how == "swap"
        return verdict_of(step.candidate, answer), answer.ended == "cpu"

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
            wall=max(LEAST_WALL, 4 * baseline.wall + 4 * fresh),
            fresh=baseline.fresh,
        )

    def _judge_apart(self, candidate: Candidate) -> Verdict:
        self.test_runs += 1
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
            return
        try:
            self._server = self._start()
        except SandboxEnded as end:
            self._do_without(str(end))

    def _do_without(self, reason: str) -> None:
        self._session.close()
        self._server = None
        self.note = f"each candidate gets a process of its own, which is slower: {reason}"


@contextmanager
def open_screen(
    sandbox: Sandbox,
    project: Project,
    *,
    failing: Sequence[str],
    covering: Sequence[str],
    seconds: float = 10.0,
    endless: bool = False,
    limits: Limits | None = None,
) -> Iterator[Screen]:
    """A screen that judges by these tests. `seconds` is what they took when last run, `endless` failing ones left out.

    `limits` are those of one run.
    """
    wanted = Selection(failing=tuple(failing), covering=tuple(covering), seconds=seconds, endless=endless)
    screen = Screen(sandbox, project, wanted, limits or Limits())
    try:
        screen.open()
        yield screen
    finally:
        screen.close()


def verdict_of(candidate: Candidate, answer: Answer) -> Verdict:
    """The verdict in a fork server's answer."""
    if answer.ended in ("cpu", "wall"):
        return implausible(candidate, TIMEOUT, "its tests did not end")
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
