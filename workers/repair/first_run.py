"""Find what fails: run the tests that are known to fail, else the whole suite once, and tell slow tests from endless ones."""

import json
import math
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath

from workers.ports import Ending
from workers.repair.time_allowance import BoundedRuns
from workers.repair.unrepairable import unrepairable
from workers.sandbox.checkout_files import is_file, is_test_file, python_files
from workers.sandbox.project import Project
from workers.sandbox.report import TestReport, TestResult
from workers.sandbox.run_tests import TestRun
from workers.sandbox.test_ids import file_of, function_of

TEST_SECONDS, SECOND_LOOK_SECONDS, NAMED_SECONDS, SLOW_TEST_SECONDS = 1.0, 8.0, 20.0, 60.0
"""Processor time that a test gets at first, when it is looked at again, if it is known to fail, and if it is known to be slow."""

TRACED_TEST_SECONDS = 2.0
"""Processor time of one traced test: one that is ended has shown nearly all its lines."""

SECOND_LOOK_WALL, NEAR_SECONDS = 15.0, 1.5
"""Seconds by the clock for a second look, and for tests beside those that are named."""

RELATED_SECONDS, MAX_RELATED, LARGEST_TEST = 4.0, 20, 1 << 20
"""Seconds by the clock, beside what a start takes, for other files of tests that name what the failing ones run; bytes of one."""

RELATED_FIRST_SECONDS = 20.0
"""Seconds by the clock for files of tests that name what was changed, before the suite is run."""

_WORD = re.compile(r"\w+")

LAST_FAILED, MAX_NAMED, LARGEST_CACHE = ".pytest_cache/v/cache/lastfailed", 200, 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRun:
    """What the tests did. `report` holds those whose outcome is known; `whole` says that these are all of the suite.

    `set_aside` holds why a failure cannot be repaired here, by id. `traced` are runs of the same tests with a trace.
    """

    report: TestReport
    whole: bool
    set_aside: Mapping[str, str] = field(default_factory=dict)
    traced: tuple[TestRun, ...] = ()

    def failing(self) -> tuple[TestResult, ...]:
        """What fails, and might be repaired."""
        return tuple(result for result in self.report.failing() if result.id not in self.set_aside)


def first_run(runs: BoundedRuns, named: Sequence[str], changed: Collection[str]) -> FirstRun:
    """The first of these of which any test fails: those `named`, those that the test command names, those of `changed` files,
    those that failed last, those that name a changed module, the suite.
    """
    tried: set[str] = set()
    tree = runs.project.tree
    for tests, wall in _likely(runs.project, named, changed):
        known = [test for test in tests if test not in tried and is_file(tree / file_of(test))][:MAX_NAMED]
        found = _named(runs, known, wall) if known else None
        if found is not None and found.failing():
            return found
        tried.update(known)
    return _suite(runs)


def _likely(project: Project, named: Sequence[str], changed: Collection[str]) -> Iterator[tuple[Iterable[str], float]]:
    """Tests that may fail, the likeliest first, and for how many seconds they run at most."""
    yield named, math.inf
    yield sorted(project.named_tests()), math.inf
    yield [path for path in changed if is_test_file(path)], math.inf
    yield last_failed(project.tree), math.inf
    yield related_tests(project, changed, changed), RELATED_FIRST_SECONDS


def last_failed(tree: Path) -> tuple[str, ...]:
    """The tests that failed last, by pytest's cache in the checkout; none where it cannot be read."""
    cache = tree / LAST_FAILED
    try:
        if cache.resolve() != tree.resolve() / LAST_FAILED or cache.stat().st_size > LARGEST_CACHE:
            return ()
        found = json.loads(cache.read_bytes())
    except (OSError, ValueError, RuntimeError):  # the last for links in a circle, and for values nested too deeply
        return ()
    return tuple(str(test) for test in found) if isinstance(found, dict) else ()


def without(report: TestReport, ids: Collection[str]) -> TestReport:
    """The report less some results."""
    less = frozenset(ids)
    return replace(report, results=tuple(result for result in report.results if result.id not in less))


def _named(runs: BoundedRuns, tests: Sequence[str], wall: float) -> FirstRun:
    """These tests and some beside them, at the same time with a trace and without, each for `wall` seconds at most."""
    run = partial(runs.run, tests, wall=wall, near_seconds=NEAR_SECONDS)
    began = time.monotonic()
    with ThreadPoolExecutor(max_workers=2) as pool:
        traced = pool.submit(run, trace=True, test_seconds=TRACED_TEST_SECONDS)
        plain = run(test_seconds=NAMED_SECONDS)
    starting = time.monotonic() - began - sum(result.seconds for result in plain.report.results)
    # Some tests beside the named ones may not have run, so what the run says of itself is not the suite's.
    report = replace(plain.report, trouble="", complete=plain.report.started)
    seen = replace(_first(runs.project, report), traced=_useful(traced.result(), report))
    ended = _ended(seen.failing())
    found = replace(seen, report=without(report, ended))
    if ended and not found.failing() and plain.completed.ending is Ending.EXITED:
        found = seen
    elif ended and not found.failing() and math.isinf(wall):  # other tests may have used the time of the run
        found = _with(found, _again(runs, ended, SECOND_LOOK_SECONDS, SECOND_LOOK_WALL).results)
    return _with_related(runs, found, RELATED_SECONDS + starting) if found.failing() else found


def _useful(traced: TestRun, report: TestReport) -> tuple[TestRun, ...]:
    """The traced run, unless it was ended before it came to any test that fails."""
    ran = {result.id for result in traced.report.results}
    failing = [result.id for result in report.failing()]
    return (traced,) if not failing or any(test in ran for test in failing) else ()


def _with_related(runs: BoundedRuns, first: FirstRun, wall: float) -> FirstRun:
    """The same with passing tests of other files that name what the failing ones run: they show what must not change."""
    if not first.traced or runs.project.named_tests():
        return first  # there is nothing to go by, or the test command runs no other files
    failing = {result.id for result in first.failing()}
    ran = {path for run in first.traced for test, lines in run.lines.items() if test in failing for path in lines}
    files = related_tests(runs.project, ran, {file_of(result.id) for result in first.report.results})
    if not files:
        return first
    run = runs.run(files, wall=wall, trace=True, test_seconds=TRACED_TEST_SECONDS)
    known = {result.id for result in first.report.results}
    passing = [result for result in run.report.passing() if result.id not in known]
    return replace(_with(first, passing), traced=(*first.traced, run))


def related_tests(project: Project, sources: Collection[str], known: Collection[str]) -> tuple[str, ...]:
    """Files of tests, beside those `known`, that name a module of `sources`; first what names such as few others name."""
    stems = {PurePosixPath(path).stem for path in sources if not is_test_file(path)} - {"__init__"}
    if not stems:
        return ()
    naming: dict[str, set[str]] = {}
    for file in python_files(project.tree):
        path = file.relative_to(project.tree).as_posix()
        is_meant = is_test_file(path) and path not in known and project.holds(path)
        if is_meant and not file.is_symlink() and file.stat().st_size <= LARGEST_TEST:
            naming[path] = stems & {*_WORD.findall(file.read_text(encoding="utf-8", errors="replace"))}
    common = Counter(stem for named in naming.values() for stem in named)
    worth = {path: sum(1 / common[stem] for stem in named) for path, named in naming.items() if named}
    return tuple(sorted(worth, key=lambda path: (-worth[path], path))[:MAX_RELATED])


def _suite(runs: BoundedRuns) -> FirstRun:
    """The whole suite, each test for TEST_SECONDS. Tests that were ended fail only if nothing else does, and not soon after."""
    run = runs.run(test_seconds=TEST_SECONDS)
    cut = run.completed.ending is not Ending.EXITED
    first = _first(runs.project, run.report, whole=not cut)
    ended = _ended(first.failing())
    known = replace(first, report=without(run.report, ended), whole=first.whole and not ended)
    if not ended or known.failing():
        return known
    chosen = list({function_of(test): test for test in reversed(ended)}.values())
    look = _again(runs, chosen, SECOND_LOOK_SECONDS, SECOND_LOOK_WALL)
    endless = {function_of(test) for test in _ended(look.failing())}
    seen = [result for result in look.results if function_of(result.id) not in endless]
    looked = _with(known, seen)
    if looked.failing() or (cut and not endless):
        return looked
    if endless:
        stuck = [result for result in first.report.results if result.id in ended and function_of(result.id) in endless]
        return replace(_with(looked, stuck), whole=not (cut or seen))
    slow = _again(runs, ended, SLOW_TEST_SECONDS, math.inf)
    return replace(_with(known, slow.results), whole=slow.complete)


def _again(runs: BoundedRuns, tests: Sequence[str], seconds: float, wall: float) -> TestReport:
    return runs.run(tests, wall=wall, test_seconds=seconds).report


def _first(project: Project, report: TestReport, *, whole: bool = False) -> FirstRun:
    return FirstRun(report=report, whole=whole, set_aside=unrepairable(report, project))


def _with(first: FirstRun, results: Sequence[TestResult]) -> FirstRun:
    return replace(first, report=replace(first.report, results=(*first.report.results, *results)))


def _ended(results: Sequence[TestResult]) -> tuple[str, ...]:
    """The tests that ran too long: ended for that, or running when the run was."""
    return tuple(result.id for result in results if result.error_type == "Timeout")
