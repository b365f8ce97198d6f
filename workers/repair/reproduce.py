"""Reproduce the failure: run the suite, separate what fails each time from what fails once, and trace what ran."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from workers.errors import CannotRun
from workers.ports import Ending, Limits, Sandbox
from workers.repair.classify import clues_of, failure_of, innermost
from workers.sandbox.project import Project
from workers.sandbox.report import TestOutcome, TestReport, TestResult
from workers.sandbox.run_tests import TestRun, run_tests

FIRST_LOOK_SECONDS = 30.0
"""A suite that takes longer is looked at again: one of its tests may never end."""

TRACED_TEST_SECONDS = 2.0
"""Processor time of one traced test: one that is ended has shown nearly all its lines."""

STUCK_SECONDS = 10.0
"""How long tests that wait for ever are traced."""

TEST_SECONDS, SECOND_LOOK_SECONDS, SLOW_TEST_SECONDS = 1.0, 4.0, 60.0
"""Processor time that a test gets at first, when it is looked at again, and where tests are known to be slow."""

MOST_TRACED, TRACED_SECONDS, FAILING_TRACED, ENDLESS_TRACED = 250, 1.5, 50, 3
"""Bounds of the traced run: passing tests, their seconds untraced, failing tests, those that never end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What the suite did before any edit.

    `report` is the whole suite as it ran. `flaky` names tests that failed once and passed when run again, `uncollected`
    files that need something which is not installed; both are set aside. `lines` maps test id → path → executed lines
    (empty when tracing failed), for the failing tests and for `passing`, tests that passed both times.
    """

    report: TestReport
    flaky: tuple[str, ...]
    uncollected: tuple[str, ...]
    lines: Mapping[str, Mapping[str, frozenset[int]]]
    passing: tuple[str, ...]
    test_runs: int

    @property
    def failing_report(self) -> TestReport:
        """The report without the failures that were set aside: what there is to repair."""
        return without(self.report, {*self.flaky, *self.uncollected})

    @property
    def nothing_failing(self) -> bool:
        """Whether there is nothing to repair."""
        return not self.failing_report.failing()


def reproduce(sandbox: Sandbox, project: Project, *, limits: Limits | None = None) -> Reproduction:
    """Run the whole suite, then the failing tests again with a trace; `limits` are those of one run.

    Tests that never end are traced in a run of their own, so that they use up no other test's time.

    Raises CannotRun with one clear line when the suite did not run, or when nothing of it can be collected.
    """
    limits = limits or Limits()
    report, runs = _whole(sandbox, project, limits)
    uncollected = tuple(result.id for result in report.failing() if _is_out_of_reach(result, report, project))
    there = without(report, set(uncollected))
    if not there.results or (report.trouble and not there.failing()):
        raise CannotRun(report.trouble or "no test ran: see that the test command collects any")
    failing = [result.id for result in there.failing()]
    if not failing:
        return Reproduction(report=report, flaky=(), uncollected=uncollected, lines={}, passing=(), test_runs=runs)
    stuck = [result.id for result in there.failing() if result.error_type == "Timeout"]
    tests = (*_without(failing, stuck)[:FAILING_TRACED], *companions(there))
    brief = replace(limits, wall_seconds=min(STUCK_SECONDS, limits.wall_seconds))
    traced = [
        run_tests(sandbox, project, tests=group, limits=bounds, trace=True, test_seconds=TRACED_TEST_SECONDS)
        for group, bounds in ((stuck[:ENDLESS_TRACED], brief), (tests, limits))
        if group
    ]
    again = {result.id for run in traced for result in run.report.passing()}
    return Reproduction(
        report=report,
        flaky=tuple(test for test in failing if test in again),
        uncollected=uncollected,
        lines={test: lines for run in traced for test, lines in run.lines.items()},
        passing=tuple(result.id for result in there.passing() if result.id in again),
        test_runs=runs + len(traced),
    )


def _without(tests: Sequence[str], others: Collection[str]) -> list[str]:
    return [test for test in tests if test not in others]


def without(report: TestReport, ids: Collection[str]) -> TestReport:
    """The report less some results."""
    return replace(report, results=tuple(result for result in report.results if result.id not in ids))


def companions(report: TestReport) -> tuple[str, ...]:
    """Passing tests to be traced beside the failing ones: those of the same files first, until time is used up."""
    files = {result.id.partition("::")[0] for result in report.failing()}
    near = sorted(report.passing(), key=lambda result: result.id.partition("::")[0] not in files)
    return tuple(_within(near))


def _within(results: Sequence[TestResult]) -> Iterator[str]:
    left = TRACED_SECONDS
    for result in results[:MOST_TRACED]:
        if result.seconds <= left:
            left -= result.seconds
            yield result.id


def _whole(sandbox: Sandbox, project: Project, limits: Limits) -> tuple[TestReport, int]:
    """The whole suite, and how often tests were run for it. What is stopped early gets all its time only if it moves."""
    short = replace(limits, wall_seconds=min(FIRST_LOOK_SECONDS, limits.wall_seconds))
    run = run_tests(sandbox, project, limits=short, test_seconds=TEST_SECONDS)
    cut, stopped = run.completed.ending is Ending.WALL_TIME and short != limits, _stopped_in(run)
    if not stopped:
        return (run_tests(sandbox, project, limits=limits).report, 2) if cut else (run.report, 1)
    again = run_tests(sandbox, project, tests=stopped[:1], limits=short, test_seconds=SECOND_LOOK_SECONDS)
    if not _stopped_in(again):
        return run_tests(sandbox, project, limits=limits, test_seconds=SLOW_TEST_SECONDS).report, 3
    if cut and again.completed.ending is not Ending.WALL_TIME:
        return run_tests(sandbox, project, limits=limits, test_seconds=TEST_SECONDS).report, 3
    return run.report, 2


def _stopped_in(run: TestRun) -> tuple[str, ...]:
    """The tests that ran too long: ended for that, or running when the run was."""
    return tuple(result.id for result in run.report.failing() if result.error_type == "Timeout")


def _is_out_of_reach(result: TestResult, report: TestReport, project: Project) -> bool:
    """Whether a file cannot be collected for a reason that no edit of the sources removes."""
    failure = failure_of(replace(report, results=(result,)))
    if failure is None or result.outcome is not TestOutcome.ERROR or "::" in result.id:
        return False
    clues = clues_of(failure)
    if failure.error_type == "ModuleNotFoundError":
        return not _is_nearly_known(clues.module.partition(".")[0], project)
    if failure.error_type == "ImportError" and clues.source:
        return clues.source.partition(".")[0] not in _own_names(project)
    return innermost(result.frames) is None


def _is_nearly_known(module: str, project: Project) -> bool:
    """Whether a module that does not exist may be a slip for one that does, rather than a requirement not installed."""
    known = {*_own_names(project), *sys.stdlib_module_names}
    return bool(difflib.get_close_matches(module, known, n=1, cutoff=0.8))


def _own_names(project: Project) -> set[str]:
    """What the project's import roots offer at their top."""
    roots = [project.tree / root for root in project.source_roots]
    return {entry.stem for root in roots if root.is_dir() for entry in root.iterdir() if entry.stem.isidentifier()}
