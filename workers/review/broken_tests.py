"""Which tests a change breaks: they pass at its base, and fail at its head each time they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath

from workers.ports import Limits, Sandbox
from workers.sandbox.checkout_files import is_test_file, python_files
from workers.sandbox.project import Project
from workers.sandbox.report import NO_TESTS, TestOutcome, TestReport, TestResult
from workers.sandbox.run_tests import TestRun, run_tests
from workers.sandbox.test_ids import file_of

MIN_SECONDS = 5.0
"""No run is begun with less time than this."""

FURTHER_RUNS = 3
"""How often tests run again that seem broken and run no changed line but their own: with two runs a side, one that passes every
other time would be blamed on one change in sixteen, and a new one, which has one side, on one in four."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenTest:
    """A test that the change breaks, or a failing one that it adds (`added`).

    `id` is a file where pytest cannot collect it, and empty where pytest cannot begin. `path` and `line` are the changed
    line that it passes through, empty and 0 where it passes through none.
    """

    id: str
    error_type: str
    message: str
    path: str = ""
    line: int = 0
    added: bool = False

    @property
    def is_file(self) -> bool:
        """Whether it is a file that pytest cannot collect."""
        return bool(self.id) and "::" not in self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedTests:
    """What the tests say of a change.

    `ran` counts the tests that ran at the head, `passed` and `skipped` how many of them did; `whole` tells whether these are all, else
    `trouble` why not. Tests in `failing_before` fail at the base too, `flaky` ones passed when they ran again, and for
    those in `unknown` the time was up before they ran at the base.
    """

    broken: tuple[BrokenTest, ...] = ()
    ran: int = 0
    passed: int = 0
    skipped: int = 0
    whole: bool = False
    trouble: str = ""
    failing_before: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def tells_nothing(self) -> bool:
        """Whether there are tests, and none of them passed or could be compared: the change may break anything."""
        failing = bool(self.failing_before or self.unknown)
        return not self.broken and not self.passed and (failing or (not self.ran and self.trouble != NO_TESTS))


class _AtBase(StrEnum):
    PASSES = "passes"
    FAILS = "fails"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestComparison:
    """Runs the tests of both sides; at the base only the files of those that fail at the head.

    `base` gives the project there, `touched` are the changed lines by path. No run begins after `deadline`, a point of
    time.monotonic(), and none lasts longer.
    """

    __test__ = False

    sandbox: Sandbox
    head: Project
    base: Callable[[], Project]
    touched: Mapping[str, frozenset[int]]
    limits: Limits
    deadline: float
    progress: Callable[[str], None]

    def compare(self, reaching: Sequence[str]) -> ComparedTests:
        """Run the test files `reaching` the change first, then all as far as time allows. Raises CannotRun without a sandbox.

        Where time ended the first run, the second one is of the files that it did not come to.
        """
        report = self._at_head(reaching)
        compared = ComparedTests(
            ran=len(report.results),
            passed=len(report.passing()),
            skipped=report.count().skipped,
            whole=report.complete,
            trouble=report.trouble,
        )
        failing = {result.id: result for result in _failing(report)}
        if not failing:
            return compared
        self.progress(f"{_counted(failing)} with the change; running the same without it")
        at_base = self._at_base(failing)
        suspects = [test for test, side in at_base.items() if side in (_AtBase.PASSES, _AtBase.ABSENT)]
        again = self._run(self.head, [test for test in suspects if test], trace=True) if suspects else None
        flaky = {result.id for result in again.report.passing()} if again else set()
        broken = [self._broken(failing[test], at_base[test], again) for test in suspects if test not in flaky]
        flaky |= self._by_chance(
            [test for test in broken if test.path in ("", file_of(test.id)) and not test.is_file and test.id]
        )
        return replace(
            compared,
            broken=tuple(test for test in broken if test.id not in flaky),
            failing_before=_of(at_base, _AtBase.FAILS),
            flaky=tuple(test for test in suspects if test in flaky),
            unknown=_of(at_base, _AtBase.UNKNOWN),
        )

    def with_own_options(self) -> TestComparison:
        """The same with the options of pytest that the project configures, where they were left out and the base takes them.

        An environment is made to work: what the head's had to leave out may be what the change broke.
        """
        if not self.head.without_own_options:
            return self
        base = self.base().with_own_options()
        if not self._run(base, ()).report.passing():
            return self
        return replace(self, head=self.head.with_own_options(), base=lambda: base)

    def _by_chance(self, tests: Sequence[BrokenTest]) -> set[str]:
        """Which of these end otherwise in further runs of the sides that have them. Chance is likelier in tests that run no
        changed line but their own."""
        found: set[str] = set()
        for _ in range(FURTHER_RUNS):
            left = [test for test in tests if test.id not in found]
            if not left or not self._has_time():
                break
            found |= {each.id for each in self._run(self.head, [test.id for test in left]).report.passing()}
            there = [test.id for test in left if not test.added]
            if there:
                found |= {each.id for each in self._run(self.base(), there).report.failing()}
        return found

    def _at_head(self, reaching: Sequence[str]) -> TestReport:
        """The results of the files that reach the change, and of the others where there was time for all."""
        tree, reaching = self.head.tree, [file for file in reaching if self.head.holds(file)]
        every = {str(file.relative_to(tree)) for file in python_files(tree) if is_test_file(file.name)}
        some = [] if every <= set(reaching) else reaching
        more = len(some) - 1
        others = f" and {more} more file{'s' * (more != 1)}" if more else ""
        self.progress(f"running the tests that reach the change: {some[0]}{others}" if some else "running all tests")
        first = self._run(self.head, some).report
        if first.out_of_time:
            return self._further(first, dict.fromkeys((*reaching, *sorted(every))))
        if not some:
            return first
        if not self._has_time():
            return replace(first, complete=False, trouble=first.trouble or "the time was up before the other tests")
        self.progress("running all tests")
        rest = self._run(self.head, ()).report
        known = {result.id for result in rest.results}
        return replace(rest, results=(*rest.results, *(each for each in first.results if each.id not in known)))

    def _further(self, first: TestReport, files: Iterable[str]) -> TestReport:
        """A run that time ended, and the files beside those that it came to which it did not come to."""
        came_to = {file_of(result.id) for result in first.results}
        beside = {PurePosixPath(file).parent for file in came_to}
        left = [file for file in files if file not in came_to and PurePosixPath(file).parent in beside]
        left = [file for file in left if self.head.holds(file)]
        if not left or not self._has_time():
            return first
        self.progress(
            f"running the tests that were left: {left[0]}" + (f" and {len(left) - 1} more" if left[1:] else "")
        )
        rest = self._run(self.head, left).report
        came_to_an_end = (each for each in rest.results if not rest.trouble or each.message != rest.trouble)
        return replace(first, results=(*first.results, *came_to_an_end))

    def _at_base(self, tests: Collection[str]) -> dict[str, _AtBase]:
        """How each test ends at the base, by its id; what passes runs twice, as it may have passed by chance."""
        base = self.base()
        there = [test for test in tests if (base.tree / file_of(test)).exists()]
        files = sorted({file_of(test) for test in there})
        of_files = all((base.tree / file).is_file() for file in files)  # else of a directory, or of pytest itself
        first = self._run(base, files if of_files else ()).report if there else None
        sides = {test: _AtBase.ABSENT if first is None or test not in there else _side(test, first) for test in tests}
        passing = [test for test in _of(sides, _AtBase.PASSES) if test]
        again = self._run(base, passing).report if passing and self._has_time() else None
        lost = [test for test in passing if again and _side(test, again) is _AtBase.FAILS]
        return sides | dict.fromkeys(lost, _AtBase.FAILS)

    def _broken(self, result: TestResult, side: _AtBase, again: TestRun | None) -> BrokenTest:
        path, line = self._place(result, again.lines if again else {})
        return BrokenTest(
            id=result.id,
            error_type=result.error_type,
            message=result.message,
            path=path,
            line=line,
            added=side is _AtBase.ABSENT,
        )

    def _place(self, result: TestResult, lines: Mapping[str, Mapping[str, frozenset[int]]]) -> tuple[str, int]:
        """The changed line nearest to where the test fails: in its traceback, else one that it runs."""
        for frame in reversed(result.frames):
            if frame.line in self.touched.get(frame.path, ()):
                return frame.path, frame.line
        ran = lines.get(result.id) or lines.get("", {})
        passed = sorted(
            (path, line) for path, touched in self.touched.items() for line in touched & ran.get(path, frozenset())
        )
        innermost = result.frames[-1].path if result.frames else ""
        return min(passed, key=lambda place: place[0] != innermost, default=("", 0))

    def _run(self, project: Project, tests: Sequence[str], *, trace: bool = False) -> TestRun:
        limits = self.limits.within(max(MIN_SECONDS, self.deadline - time.monotonic()))
        return run_tests(self.sandbox, project, tests=tests, limits=limits, trace=trace)

    def _has_time(self) -> bool:
        return time.monotonic() + MIN_SECONDS < self.deadline


def _counted(failing: Collection[str]) -> str:
    """How much fails; what cannot be collected has the name of its file, and nothing has where pytest cannot begin."""
    if "" in failing:
        return "pytest cannot begin"
    kind = "test" if any("::" in test for test in failing) else "test file"
    return f"1 {kind} fails" if len(failing) == 1 else f"{len(failing)} {kind}s fail"


def _failing(report: TestReport) -> list[TestResult]:
    """The failing tests, without the one during which time ended the run; one without an id where pytest cannot begin."""
    if report.started or not report.trouble:
        return [result for result in report.failing() if not report.trouble or result.message != report.trouble]
    return [TestResult(id="", outcome=TestOutcome.ERROR, seconds=0.0, message=report.trouble)]


def _side(test: str, report: TestReport) -> _AtBase:
    """How a test ended in this run; of a file, and of no test, all that are in it count."""
    if not test:
        return _AtBase.PASSES if report.passing() else _AtBase.FAILS
    ended = [each for each in report.results if each.id == test or each.id.startswith(f"{test}::")]
    if not ended:
        return _AtBase.ABSENT if report.complete else _AtBase.UNKNOWN
    failed = {each.id for each in report.failing()}
    if any(each.id == test for each in ended):
        return _AtBase.FAILS if test in failed else _AtBase.PASSES
    return _AtBase.PASSES if report.passing() else _AtBase.FAILS


def _of(sides: Mapping[str, _AtBase], side: _AtBase) -> tuple[str, ...]:
    return tuple(test for test, each in sides.items() if each is side)
