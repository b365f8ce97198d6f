"""What runs of a suite say against a patch: tests that it breaks, and tests that fail at its lines and still do with it.

The unpatched suite is run a second time before anything is believed against a patch: what differs between these two runs is
no work of the patch. Tests whose ids differ from run to run are counted by function.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from workers.line_matching import LineMatcher
from workers.repair.first_run import without
from workers.repair.passed_tests import named, still_failing
from workers.sandbox.report import TestOutcome, TestReport
from workers.sandbox.run_tests import TestRun
from workers.sandbox.test_ids import function_of, includes

FEW = 20
"""How many of the tests that a patch breaks have to pass once more without it."""

FAILING_SAMPLE, PASSING_SAMPLE = 12, 36
"""How many tests of each kind are traced, evenly chosen."""

SHARE = 0.5
"""From this share on, of the tests that run the patched lines, those that fail are no coincidence."""

NOT_COMPARED = "no time was left to see whether it does without it, too"

Trace = Callable[[Sequence[str]], TestRun]
"""Runs tests without the patch, with a trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproven:
    """Why a patch is not proven, in words for the user. `broken` are tests that fail for it, with the seconds they need without.

    `late` says that time ended before anything was shown against it.
    """

    reason: str
    late: bool = False
    broken: Mapping[str, float] = field(default_factory=dict)


def objection_to(after: TestReport, *, before: TestReport, failing: Sequence[str]) -> Unproven | None:
    """What a whole run with the patch says against it; None when `failing` pass, and all that passed `before` still does.

    Where time cut both runs short, only the tests that both came to are compared.
    """
    if not after.started or (after.trouble and before.complete):
        return Unproven(reason=f"the suite did not run to its end: {after.trouble}", late=after.out_of_time)
    if missing := still_failing(failing, after):
        return Unproven(reason=f"{named(missing)} still fails in the whole suite")
    ran = {result.id for result in after.results}
    if broken := {test: 0.0 for test in before.lost(after) if test in ran or not after.trouble}:
        seconds = {result.id: result.seconds for result in before.results if result.id in broken}
        return Unproven(reason=f"{named([*broken])} passed before, and not with it", broken=seconds)
    if len(after.results) < len(before.results) and not after.trouble:
        return Unproven(reason=f"only {len(after.results)} of {len(before.results)} tests are collected")
    return None


def ended(report: TestReport) -> TestReport:
    """The report without the test during which time ended the run: it did not fail."""
    cut = [result.id for result in report.results if report.trouble and result.message == report.trouble]
    return without(report, cut)


class UnpatchedSuite:
    """The runs of one suite without a patch: `first`, which may be known already, and a `second` one when it is needed.

    `run` runs the tests of these ids, or all.
    """

    def __init__(self, run: Callable[[Sequence[str]], TestReport], known: TestReport | None) -> None:
        self._run = run
        self._known = known

    @cached_property
    def first(self) -> TestReport:
        """The suite as it is without a patch."""
        return self._known or ended(self._run(()))

    @cached_property
    def second(self) -> TestReport:
        """The same once more."""
        return ended(self._run(()))

    def _again(self, broken: Collection[str]) -> TestReport | None:
        """The suite once more, to tell whether what is broken passes without the patch; None where it does.

        A few functions run alone, with all of their tests: the ids may differ from run to run. Where not all of these pass,
        the whole suite runs.
        """
        functions = [*dict.fromkeys(map(function_of, broken))]
        if not (few := functions[:FEW]):
            return self.second
        alone = self._run(few)
        if not still_failing([test for test in broken if function_of(test) in few], alone):
            return None
        others = [result for result in self.first.results if function_of(result.id) not in few]
        again = replace(self.first, results=(*others, *alone.results))
        sound = alone.complete and not alone.failing() and len(again.results) == len(self.first.results)
        return again if sound and few == functions else self.second

    def objection_to_part(self, after: TestReport, failing: Sequence[str]) -> Unproven | None:
        """What a run with a patch says against it that had too little time: only the tests that it came to are compared."""
        after, before = ended(after), replace(self.first, complete=False)
        ran = tuple(result.id for result in after.results)
        return objection_to(after, before=before, failing=[test for test in failing if includes(test, ran)])

    def objection_to(self, after: TestReport, failing: Sequence[str]) -> Unproven | None:
        """What a run with a patch says against it, less what two runs without one do not agree on."""
        objection = objection_to(after, before=self.first, failing=failing)
        if objection is None or not after.started or (second := self._again(objection.broken)) is None:
            return objection
        if second.trouble and not self.first.trouble:
            unsure = replace(objection, reason=f"{objection.reason}; {NOT_COMPARED}", late=True, broken={})
            return unsure if second.out_of_time and objection.broken else objection
        one, two = ({result.id for result in report.results} for report in (self.first, second))
        moved = {function_of(test) for test in one ^ two if "[" in test}
        before, again, now = (_counted(report, moved) for report in (self.first, second, after))
        ran = {result.id for result in again.results}
        unsteady = [test for test in before.lost(again) if test in ran or not again.trouble]
        steady = without(before, unsteady)
        wanted = dict.fromkeys(function_of(test) if function_of(test) in moved else test for test in failing)
        last = objection_to(now, before=steady, failing=[*wanted])
        return last and replace(last, broken={test: last.broken[test] for test in last.broken if test in one})


def _counted(report: TestReport, functions: Collection[str]) -> TestReport:
    """The report with the passing tests of some functions numbered, whatever their parameters."""
    numbers = Counter[str]()
    results = []
    for result in report.results:
        function = function_of(result.id)
        if function in functions and result.outcome is TestOutcome.PASSED:
            numbers[function] += 1
            result = replace(result, id=f"{function}[passing {numbers[function]}]")
        results.append(result)
    return replace(report, results=tuple(results))


def left_failing(
    left: Mapping[str, float], passing: Sequence[str], patch: Mapping[str, bytes], tree: Path, trace: Trace
) -> Unproven | None:
    """The objection that tests in `left`, which fail without the patch and with it, fail where the patch is; None otherwise.

    `left` says how many seconds each needs; `passing` are those that pass without it. What a user names is often a part of
    what fails, and then a patch fits the known tests alone. Unrelated failures count for nothing: they run the patched lines
    no more often than passing tests do. That share is Tarantula's suspiciousness of the lines (Jones and Harrold 2005), on a
    sample.
    """
    if not left:
        return None
    changed = {path: _changed(tree / path, text) for path, text in patch.items()}
    failing, sound = _sample([*left], FAILING_SAMPLE), _sample(passing, PASSING_SAMPLE)
    lines = trace([*failing, *sound]).lines
    of_failing, of_sound = (_running(tests, lines, changed) for tests in (failing, sound))
    failed = len(left) * len(of_failing) / len(failing)
    passed = len(passing) * len(of_sound) / max(len(sound), 1)
    if not of_failing or failed < SHARE * (failed + passed):
        return None
    reason = f"{named(of_failing)} fails where it is, too, and still does with it"
    return Unproven(reason=reason, broken={test: left[test] for test in of_failing})


def failing_in_both(before: TestReport, after: TestReport, known: Collection[str]) -> dict[str, float]:
    """The tests, beside those `known`, that fail before and after, with the seconds of each before."""
    still = {result.id for result in after.failing()}
    both = (result for result in before.failing() if result.id in still and "::" in result.id)
    return {result.id: result.seconds for result in both if not {result.id, function_of(result.id)} & {*known}}


def _changed(file: Path, text: bytes) -> frozenset[int]:
    """The lines of a file that give way to others, and those around what is added; a new file has none."""
    before = file.read_bytes() if file.is_file() else b""
    old, new = (content.decode(errors="replace").splitlines() for content in (before, text))
    found: set[int] = set()
    for kind, start, end, _, _ in LineMatcher(old, new).get_opcodes():
        if kind != "equal":
            found.update(range(start + 1, end + 1) if end > start else (start, start + 1))
    return frozenset(found)


def _sample(tests: Sequence[str], most: int) -> list[str]:
    """A number of them, evenly spread."""
    return [tests[number * len(tests) // most] for number in range(most)] if len(tests) > most else list(tests)


def _running(
    tests: Sequence[str], lines: Mapping[str, Mapping[str, frozenset[int]]], changed: Mapping[str, frozenset[int]]
) -> list[str]:
    return [
        test for test in tests if any(lines.get(test, {}).get(path, frozenset()) & changed[path] for path in changed)
    ]
