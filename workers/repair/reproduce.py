"""Reproduce the failure: run the suite, separate what fails each time from what fails once, trace what ran, and choose the tests
that screen candidates."""

from __future__ import annotations

import difflib
import heapq
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from memory.model import Failure, Family
from workers.errors import CannotRun
from workers.ports import Ending, Limits, Sandbox
from workers.repair.classify import clues_of, failure_of, innermost, is_test_path
from workers.repair.engines.search.candidates import Suspect
from workers.sandbox.report import TestOutcome, TestReport, TestResult
from workers.sandbox.run_tests import Project, TestRun, python_files, run_tests

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
    ending = [test for test in failing if test not in stuck]
    tests = (*ending[:FAILING_TRACED], *companions(there))
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


def without(report: TestReport, ids: Collection[str]) -> TestReport:
    """The report less some results."""
    return replace(report, results=tuple(result for result in report.results if result.id not in ids))


def companions(report: TestReport) -> tuple[str, ...]:
    """Passing tests to be traced beside the failing ones: those of the same files first, until time is used up."""
    files = {result.id.partition("::")[0] for result in report.failing()}
    near = sorted(report.passing(), key=lambda result: result.id.partition("::")[0] not in files)
    return tuple(within([(result.id, result.seconds) for result in near[:MOST_TRACED]], TRACED_SECONDS))


def within(costs: Iterable[tuple[str, float]], seconds: float) -> Iterator[str]:
    """The tests, of given costs, that fit into so many seconds together; one that no longer fits is passed over."""
    for test, cost in costs:
        if cost <= seconds:
            seconds -= cost
            yield test


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
        known = {*_own_names(project), *sys.stdlib_module_names}  # a slip for one of these can be repaired
        return not difflib.get_close_matches(clues.module.partition(".")[0], known, n=1, cutoff=0.8)
    if failure.error_type == "ImportError" and clues.source:
        return clues.source.partition(".")[0] not in _own_names(project)
    return innermost(result.frames) is None


def _own_names(project: Project) -> set[str]:
    """What the project's import roots offer at their top."""
    roots = [project.tree / root for root in project.source_roots]
    return {entry.stem for root in roots if root.is_dir() for entry in root.iterdir() if entry.stem.isidentifier()}


MOST_FAILING, MOST_COVERING, COVERING_SECONDS = 50, 80, 2.0
LARGEST_SOURCE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreeningTests:
    """The tests to screen by: those to be made to pass, and those that pass and must go on to.

    `seconds` is the time of all of them when they were last run; `endless` failing ones are left out of it.
    """

    failing: tuple[str, ...]
    covering: tuple[str, ...]
    seconds: float = 10.0
    endless: bool = False


def screening_tests(reproduction: Reproduction, failure: Failure, suspects: Sequence[Suspect]) -> ScreeningTests:
    """The failing tests, the quickest first, and the passing ones that run most of the suspected code; the proof runs all the others."""
    seconds = {result.id: result.seconds for result in reproduction.report.results}
    failing = tuple(sorted(failure.failing_tests, key=lambda test: seconds.get(test, 0.0)))[:MOST_FAILING]
    likely = islice(_by_overlap(reproduction, suspects), MOST_COVERING)
    covering = tuple(within(((test, seconds.get(test, 0.0)) for test in likely), COVERING_SECONDS))
    endless = failure.family is Family.TIMEOUT
    spent = sum(seconds.get(test, 0.0) for test in (*(() if endless else failing), *covering))
    return ScreeningTests(failing=failing, covering=covering, seconds=spent, endless=endless)


def _by_overlap(reproduction: Reproduction, suspects: Sequence[Suspect]) -> Iterator[str]:
    """Passing tests, those first that add most to what is run of the suspected lines; none that runs no suspected file.

    The additional greedy prioritisation of Rothermel et al. 2001, where a line that k chosen tests run is worth
    1 / (1 + k) of its suspicion: of tests that differ in their parameters alone, one comes before other tests.
    """
    if not reproduction.lines:
        yield from reproduction.passing
        return
    worth = {(suspect.path, suspect.line): suspect.score for suspect in suspects}
    taken = Counter[tuple[str, int]]()
    ran = {test: _suspected(reproduction.lines.get(test, {}), worth) for test in reproduction.passing}

    def gain(test: str) -> float:
        return sum(worth[line] / (1 + taken[line]) for line in ran[test] or ())

    heap = [(-gain(test), number, test) for number, test in enumerate(ran) if ran[test] is not None]
    heapq.heapify(heap)
    while heap:
        claimed, number, test = heapq.heappop(heap)
        least = -gain(test)
        if least > claimed and heap and least > heap[0][0]:
            heapq.heappush(heap, (least, number, test))  # others cover its lines, and one is worth more now
        else:
            taken.update(ran[test] or ())
            yield test


def _suspected(
    lines: Mapping[str, frozenset[int]], worth: Mapping[tuple[str, int], float]
) -> list[tuple[str, int]] | None:
    """The suspected lines that a test runs; None when it runs no suspected file."""
    paths = {path for path, _ in worth} & lines.keys()
    return [(path, line) for path in sorted(paths) for line in lines[path] if (path, line) in worth] if paths else None


def sources_of(project: Project) -> dict[str, str]:
    """The text of every Python file of the checkout that is UTF-8 and of a size that people write, by path.

    Those that the test command names are left out: they are tests, though they may not be called so.
    """
    texts = {file.relative_to(project.tree).as_posix(): _text(file) for file in python_files(project.tree)}
    named = project.named_tests()
    return {
        path: text for path, text in texts.items() if text is not None and (path not in named or is_test_path(path))
    }


def _text(path: Path) -> str | None:
    """The file unchanged, line ends included; a link could lead out of the checkout and is not followed."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_SOURCE:
        return None
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
