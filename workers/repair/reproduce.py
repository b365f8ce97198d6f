"""Reproduce the failure: find what fails, separate what fails each time from what fails once, trace what ran, and choose the
tests that screen candidates."""

import heapq
import math
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

from memory.model import Failure, Family
from workers.errors import CannotRun
from workers.ports import Limits, Sandbox
from workers.repair.candidates import Suspect
from workers.repair.classify import belongs_to_tests
from workers.repair.first_run import MAX_NAMED, SECOND_LOOK_WALL, TRACED_TEST_SECONDS, FirstRun, first_run, without
from workers.repair.outline import Outline
from workers.repair.passed_tests import named
from workers.repair.time_allowance import BoundedRuns
from workers.sandbox.checkout_files import python_files
from workers.sandbox.project import Project
from workers.sandbox.report import FAILURES, NOT_STARTED, TestOutcome, TestReport, TestResult
from workers.sandbox.run_tests import TestRun
from workers.sandbox.test_ids import file_of, function_of

STUCK_SECONDS = 10.0
"""How long tests that wait forever are traced."""

MAX_TRACED, TRACED_SECONDS, FAILING_TRACED, ENDLESS_TRACED = 250, 1.5, 50, 3
"""Bounds of the traced run: passing tests, their seconds untraced, failing tests, those that never end."""

MAX_PARAMETERS = 20
"""A failing test with no more sets of parameters is traced with all of them: their ids may differ from process to process."""

NO_TEST = "no test ran: see that the test command collects any"
REPAIR_NEEDS_TESTS = "; correct this by hand, because a repair is tried by running tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What the tests did before any edit.

    `report` holds those that ran; `whole` says that they are all of the suite. `flaky` names tests that failed once and
    passed when run again, `set_aside` why other failures cannot be repaired here, by id. `moved` are
    functions whose parameters have other ids in each process. `lines` maps test id → path → executed lines (empty when
    tracing failed), for the failing tests and for `passing`, tests that passed both times. `seconds` is the time of all this.
    `before` holds the files that were changed as they had been, None for new ones; `broken` says that something that fails
    passes with them.
    """

    report: TestReport
    flaky: tuple[str, ...]
    set_aside: Mapping[str, str]
    lines: Mapping[str, Mapping[str, frozenset[int]]]
    passing: tuple[str, ...]
    test_runs: int
    whole: bool = True
    moved: frozenset[str] = frozenset()
    seconds: float = 0.0
    before: Mapping[str, bytes | None] = field(default_factory=dict)
    broken: bool = False

    @property
    def failing_report(self) -> TestReport:
        """The report without the failures that were set aside: what there is to repair. A moved function is one test."""
        kept = without(self.report, {*self.flaky, *self.set_aside}).results
        named = {_name(result, self.moved): result for result in reversed(kept)}
        return replace(self.report, results=tuple(replace(r, id=name) for name, r in reversed(named.items())))


def reproduce(
    sandbox: Sandbox,
    project: Project,
    *,
    limits: Limits | None = None,
    seconds: float = math.inf,
    named: Sequence[str] = (),
    before: Mapping[str, bytes | None] = {},
) -> Reproduction:
    """Run the tests that are `named` as failing, else the suite, then what fails again with a trace; in `seconds` in all.

    `before` holds the files that were changed as they had been, None for new ones: tests in them run before the suite does,
    and what fails with the files as they were, too, is set aside as long as something else fails.
    `limits` are those of one run. Tests that never end are traced in a run of their own, so that they use up no other
    test's time. Raises CannotRun with one clear line when the suite did not run, when nothing of it can be collected, or
    when nothing had failed by the end of the time.
    """
    began = time.monotonic()
    runs = BoundedRuns(sandbox=sandbox, project=project, limits=limits or Limits(), deadline=began + seconds)
    first = first_run(runs, named, before)
    failed_before, broken = _without_changes(runs, first, before)
    first = replace(first, set_aside={**first.set_aside, **failed_before})
    there = without(first.report, set(first.set_aside))
    failing = [result.id for result in first.failing()]
    if not failing and not first.whole and (there.results or first.report.out_of_time):
        spent = time.monotonic() - began
        raise CannotRun(_nothing_yet(first.report.trouble, len(there.results), seconds, spent))
    if not there.results or (first.report.trouble and not failing):
        reasons = [f"{test}: {why}" for test, why in first.set_aside.items()]
        hint = REPAIR_NEEDS_TESTS if first.report.trouble.startswith(NOT_STARTED) else ""
        raise CannotRun((first.report.trouble or next(iter(reasons), NO_TEST)) + hint)
    traced = _traced(runs, first, there) if failing else ()
    moved = _moved(first, traced)
    again = {result.id for run in traced for result in run.report.passing()}
    return Reproduction(
        report=first.report,
        flaky=tuple(test for test in failing if test in again and function_of(test) not in moved),
        set_aside=first.set_aside,
        lines=_lines(traced, moved),
        passing=tuple(
            result.id for result in there.passing() if result.id in again and function_of(result.id) not in moved
        ),
        test_runs=runs.count,
        whole=first.whole,
        moved=moved,
        seconds=time.monotonic() - began,
        before=before,
        broken=broken,
    )


def _without_changes(
    runs: BoundedRuns, first: FirstRun, before: Mapping[str, bytes | None]
) -> tuple[dict[str, str], bool]:
    """The failures that are no work of the changes, by id with the reason, and whether one is; none where all of them are not."""
    failing = {result.id for result in first.failing()}
    tests_alone = all(map(belongs_to_tests, before))
    if not before or not (1 if not tests_alone else 2) <= len(failing) <= MAX_NAMED:
        return {}, False
    run = runs.run(sorted(failing), overlay=before, wall=SECOND_LOOK_WALL, test_seconds=TRACED_TEST_SECONDS)
    same = failing & {result.id for result in run.report.failing() if result.error_type != "Timeout"}
    reason = f"it fails without the latest changes of {named(sorted(before))}, too"
    broken = not failing.isdisjoint(result.id for result in run.report.passing())
    return dict.fromkeys(same, reason) if same < failing else {}, broken and not tests_alone


def _nothing_yet(trouble: str, ran: int, seconds: float, spent: float) -> str:
    more = f", or give more time (--budget {4 * seconds:.0f})" if math.isfinite(seconds) else ""
    none = f"no test failed among the first {ran}," if ran else "no failing test was found"
    return (
        f"{none} in {spent:.0f} s; in the last run {trouble}. "
        f"Name the failing ones (--test-command 'python -m pytest FILE::TEST'){more}"
    )


def _traced(runs: BoundedRuns, first: FirstRun, there: TestReport) -> tuple[TestRun, ...]:
    """What fails, with a trace, and passing tests beside it; those that never end apart from the others."""
    if first.traced:
        return first.traced
    stuck = [result.id for result in first.failing() if result.error_type == "Timeout"]
    seconds = {result.id: result.seconds for result in there.results}
    ending = _representatives([result.id for result in first.failing() if result.id not in stuck], seconds)
    parameters = Counter(function_of(test) for test in seconds)
    few = [function_of(test) if parameters[function_of(test)] <= MAX_PARAMETERS else test for test in ending]
    tests = dict.fromkeys((*few[:FAILING_TRACED], *companions(there)))
    return tuple(
        runs.run(group, wall=wall, trace=True, test_seconds=TRACED_TEST_SECONDS)
        for group, wall in ((stuck[:ENDLESS_TRACED], STUCK_SECONDS), (tuple(tests), math.inf))
        if group
    )


def _moved(first: FirstRun, traced: Sequence[TestRun]) -> frozenset[str]:
    """The functions with parameters whose ids, or what fails of them, two runs of the same code do not agree on.

    New ids alone may be of tests that the first run did not come to.
    """
    before = {result.id: result.outcome for result in first.report.results}
    known = {function_of(test) for test in before}
    after = [result for run in traced for result in run.report.results if function_of(result.id) in known]
    shown = {result.id for result in after}
    new = {function_of(test) for test in shown - before.keys()}
    lost = {function_of(result.id) for result in first.failing() if result.id not in shown}
    passed = (TestOutcome.PASSED,)
    worse, better = (
        {function_of(r.id) for r in after if r.outcome in then and before.get(r.id) in formerly}
        for then, formerly in ((FAILURES, passed), (passed, FAILURES))
    )
    return frozenset((new & lost) | (worse & better))


def _name(result: TestResult, moved: Collection[str]) -> str:
    return function_of(result.id) if result.outcome in FAILURES and function_of(result.id) in moved else result.id


def _lines(traced: Sequence[TestRun], moved: Collection[str]) -> dict[str, Mapping[str, frozenset[int]]]:
    """The lines by test, those of what fails of a moved function under the function's id."""
    found: dict[str, Mapping[str, frozenset[int]]] = {}
    for run in traced:
        names = {result.id: _name(result, moved) for result in run.report.results}
        found.update({names.get(test, test): lines for test, lines in run.lines.items()})
    return found


def companions(report: TestReport) -> tuple[str, ...]:
    """Passing tests to be traced beside the failing ones: those of the same files first, until time is used up."""
    files = {file_of(result.id) for result in report.failing()}
    near = sorted(report.passing(), key=lambda result: file_of(result.id) not in files)
    return tuple(within([(result.id, result.seconds) for result in near[:MAX_TRACED]], TRACED_SECONDS))


def within(costs: Iterable[tuple[str, float]], seconds: float) -> Iterator[str]:
    """The tests, of given costs, that fit into `seconds` together; one that no longer fits is passed over."""
    for test, cost in costs:
        if cost <= seconds:
            seconds -= cost
            yield test


def _representatives(tests: Sequence[str], seconds: Mapping[str, float]) -> tuple[str, ...]:
    """Quickest first, one of each function before a second one of any."""
    ranked, seen = [], Counter[str]()
    for test in sorted(tests, key=lambda test: seconds.get(test, 0.0)):
        ranked.append((seen[function_of(test)], test))
        seen[function_of(test)] += 1
    return tuple(test for _, test in sorted(ranked, key=lambda pair: pair[0]))


MAX_FAILING, FAILING_SECONDS, MAX_COVERING, COVERING_SECONDS = 50, 2.0, 80, 2.0
"""The most failing tests that judge candidates, the seconds that they may take together (one always does), and the most covering ones."""

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
    """Failing tests that represent all, the quickest first, and the passing ones that run most of the suspected code.

    The proof runs all the others.
    """
    ran = (*reproduction.report.results, *reproduction.failing_report.results)
    seconds = {result.id: result.seconds for result in ran}
    endless = failure.family is Family.TIMEOUT
    first, *others = _representatives(failure.failing_tests, seconds)[:MAX_FAILING]
    left = math.inf if endless else FAILING_SECONDS - seconds.get(first, 0.0)
    failing = (first, *within(((test, seconds.get(test, 0.0)) for test in others), left))
    likely = islice(_by_overlap(reproduction, suspects), MAX_COVERING)
    covering = tuple(within(((test, seconds.get(test, 0.0)) for test in likely), COVERING_SECONDS))
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
    scores = list({(suspect.path, suspect.line): suspect.score for suspect in suspects}.values())
    places: dict[str, dict[int, int]] = {}  # the place of each suspected line in the scores
    for place, (path, line) in enumerate(dict.fromkeys((suspect.path, suspect.line) for suspect in suspects)):
        places.setdefault(path, {})[line] = place
    worth, taken = [*scores], [0] * len(scores)
    ran = {test: _suspected(reproduction.lines.get(test, {}), places) for test in reproduction.passing}

    def gain(test: str) -> float:
        return sum(map(worth.__getitem__, ran[test] or ()))

    heap = [(-gain(test), number, test) for number, test in enumerate(ran) if ran[test] is not None]
    heapq.heapify(heap)
    while heap:
        claimed, number, test = heapq.heappop(heap)
        least = -gain(test)
        if least > claimed and heap and least > heap[0][0]:
            heapq.heappush(heap, (least, number, test))  # others cover its lines, and one is worth more now
        else:
            for place in ran[test] or ():
                taken[place] += 1
                worth[place] = scores[place] / (1 + taken[place])
            yield test


def _suspected(lines: Mapping[str, frozenset[int]], places: Mapping[str, Mapping[int, int]]) -> list[int] | None:
    """The places of the suspected lines that a test runs; None when it runs no suspected file."""
    paths = sorted(places.keys() & lines.keys())
    return [places[path][line] for path in paths for line in lines[path] if line in places[path]] if paths else None


def sources_of(project: Project, reproduction: Reproduction | None = None) -> dict[str, str]:
    """The text of every Python file of the checkout that is UTF-8 and of a size that people write, by path.

    Those that the test command names, and those that decide what passes, are left out: they are tests, though they may not
    be called so.
    """
    texts = {file.relative_to(project.tree).as_posix(): _text(file) for file in python_files(project.tree)}
    tests = {*project.named_tests(), *(deciding(project.tree, (reproduction.report,)) if reproduction else ())}
    read = ((path, text) for path, text in texts.items() if text is not None)
    return {path: text for path, text in read if path not in tests or belongs_to_tests(path)}


def deciding(tree: Path, reports: Sequence[TestReport]) -> frozenset[str]:
    """The files that decide what passes, by reports of runs: tests inherit their functions from them, or assert through them.

    A file of the first kind defines what the tests are called: the function that is around a test may be anybody's.
    """
    named = chain.from_iterable(report.inherited().items() for report in reports)
    defined = ((path, names, Outline(_text(tree / path) or "").functions) for path, names in named)
    inherited = {path for path, names, functions in defined if any(each.name in names for each in functions)}
    return frozenset(inherited.union(*(map(_asserted_through, report.failing()) for report in reports)))


ASSERTING = frozenset(
    {"testing", "testutil", "testutils", "testsuite", "testlib", "assertion", "assertions", "asserts"}
)
"""Words in the paths of what a package has for tests to assert with."""


def _asserted_through(result: TestResult) -> str:
    """The file of the function that a failing test asserts with; empty where it asserts itself.

    It calls that function `assert_…`, or the assertion fails in a file for tests: other code there, as a client for tests,
    is the project's like any other.
    """
    test = file_of(result.id)
    called = next((each for each in result.frames if each.path != test and not belongs_to_tests(each.path)), None)
    if called is None or called.function.lstrip("_").lower().startswith("assert"):
        return called.path if called else ""
    words = {word for part in Path(called.path).with_suffix("").parts for word in part.split("_")}
    failed = result.error_type in ("AssertionError", "Failed") and result.frames[-1].path == called.path
    return called.path if failed and words & ASSERTING else ""


def _text(path: Path) -> str | None:
    """The file unchanged, line ends included; a link could lead out of the checkout and is not followed."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_SOURCE:
        return None
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
