"""Prove that a patch repairs what failed and breaks nothing: runs in fresh sandboxes, each held to a challenge.

Every report of these runs comes from a process that imports the patch. What it says is believed because it also says what
only an honest run can: see challenge.py. What the patch may touch and use is read first: protected_files.py, unusual_code.py.
"""

import math
import random
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial

from memory.model import Failure, Proof
from workers.ports import Limits, Sandbox
from workers.repair.first_run import SLOW_TEST_SECONDS, TRACED_TEST_SECONDS, without
from workers.repair.judging.challenge import Canaries, canaries, defines, is_plain, twin_run
from workers.repair.judging.protected_files import DECIDES, NOT_EDITED, refusal
from workers.repair.judging.suite_runs import UnpatchedSuite, Unproven, ended, failing_in_both, left_failing
from workers.repair.judging.unusual_code import examples, is_plain_test, unusual
from workers.repair.passed_tests import named, passing, still_failing
from workers.repair.reproduce import Reproduction, deciding
from workers.repair.running.forkserver import cores
from workers.repair.time_allowance import BoundedRuns
from workers.repair.unrepairable import unrepairable
from workers.sandbox.checkout_files import module_name
from workers.sandbox.launching import installed_modules
from workers.sandbox.project import Project, whole_suite, with_tests
from workers.sandbox.report import NO_TESTS, TestOutcome, TestReport, TestResult
from workers.sandbox.run_tests import TestRun, run_plainly
from workers.sandbox.test_ids import function_of, includes

PROOF_SHARE, TIMES_SUITE, STARTING_SECONDS = 1 / 6, 3.0, 10.0
"""What is kept for a proof: a share of the budget at most, by the time of the suite and that of starting it; see `reserved`."""

REPEATS = 2
"""How often the whole suite runs with a patch."""

TIME_IS_UP = "the time was used up before it could be proven"

SECRET = random.SystemRandom()
"""Where the values come from that no process inside can guess."""

LEFT_SECONDS = 20.0
"""For a trace of tests that fail with a patch as they do without."""

MAX_ALONE, MAX_PLAIN = 100, 50
"""Failing tests that are run alone, with their twins, and without pytest too."""


def reserved(budget_seconds: float, reproduction: Reproduction) -> float:
    """The last seconds of a budget, in which nothing is looked for any more. A proof that begins sooner may take all that is left."""
    suite = enough_for(reproduction.report) if reproduction.whole else math.inf
    return min(PROOF_SHARE * budget_seconds, suite)


def enough_for(report: TestReport) -> float:
    """The seconds in which the same tests surely run again, however busy the machine is."""
    return TIMES_SUITE * sum(result.seconds for result in report.results) + STARTING_SECONDS


def _with_skips(tests: Sequence[str], report: TestReport) -> tuple[str, ...]:
    """Those of `tests`, files and classes, of which something is skipped or expected to fail."""
    left_out = [r.id for r in report.results if r.outcome in (TestOutcome.SKIPPED, TestOutcome.XFAILED)]
    return tuple(test for test in tests if any(each.startswith(f"{test}::") for each in left_out))


def _newly_loaded(before: TestReport, runs: Sequence[TestReport]) -> list[str]:
    """What the run before had not loaded; where a run names nothing, that they cannot be compared."""
    if not all(run.loaded for run in (before, *runs)):
        return ["plug-ins and import hooks that cannot be compared, because a run named none"]
    return sorted(frozenset[str]().union(*(run.loaded for run in runs)) - before.loaded)


# ── The prover of one failure ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchEvaluation:
    """`passed` counts the failing tests that pass with the edits; `objection` is why they are not proven."""

    report: TestReport
    passed: int
    proof: Proof | None = None
    objection: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _WholeRun:
    """A run of the whole suite, less its canaries; `canaries` says that it reported them rightly, `cut` that time ended it."""

    report: TestReport
    canaries: bool
    cut: bool


class Prover:
    """Proves edits of one project against one failure. `seconds` is the time of all proofs.

    Edits made by `templates` contain no foreign code, so tests that cannot be challenged do not make them a question.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        project: Project,
        reproduction: Reproduction,
        failure: Failure,
        limits: Limits | None = None,
        *,
        templates: bool = False,
        deadline: float = math.inf,
    ) -> None:
        """No proof lasts past `deadline`, a point of time.monotonic()."""
        self._project = project
        self._reproduction = reproduction
        self._templates = templates
        self.runs = BoundedRuns(sandbox=sandbox, project=project, limits=limits or Limits(), deadline=deadline)
        self.seconds = 0.0
        self._suite = UnpatchedSuite(self.run, reproduction.report if reproduction.whole else None)
        self._all = whole_suite(project)
        self._rest = UnpatchedSuite(partial(self.run, project=self._all), None)
        self.failing = failure.failing_tests

    def run(
        self, tests: Sequence[str], overlay: Mapping[str, bytes | None] = {}, project: Project | None = None
    ) -> TestReport:
        """Run these tests, none: all, with files laid over the checkout; of another suite if `project` has one."""
        return self.runs.run(tests, overlay=overlay, test_seconds=SLOW_TEST_SECONDS, project=project).report

    def prove(self, overlay: Mapping[str, bytes], seed: int = 0) -> Proof | Unproven:
        """Run twins of the failing tests, then the whole suite REPEATS times, with the patch laid over the checkout.

        Where the test command names a part of the tests, the others run too, as far as time goes. Tests that failed
        before and still fail are in `failed_before` and not in `passed_after`; they count against the patch only where they
        fail at its lines. `seed` decides in what order the failing tests are asked for.
        """
        began = time.monotonic()
        try:
            return self._prove(overlay, seed)
        finally:
            self.seconds += time.monotonic() - began

    def _prove(self, overlay: Mapping[str, bytes], seed: int) -> Proof | Unproven:
        if self.runs.left() <= 0:
            return Unproven(reason=TIME_IS_UP, late=True)
        for path in overlay:
            if refused := self._refusal(path):
                return Unproven(reason=f"{path} {refused}")
        perturbed = self._perturbed(overlay, seed)
        if isinstance(perturbed, Unproven):
            return perturbed
        runs: list[_WholeRun] = []
        with ThreadPoolExecutor(max_workers=min(REPEATS, cores())) as pool:
            for run in [pool.submit(self._whole, overlay) for _ in range(REPEATS)]:
                seen = run.result()
                if isinstance(seen, Unproven):
                    pool.shutdown(cancel_futures=True)
                    return seen
                runs.append(seen)
        rest = self._rest_with(overlay)
        if isinstance(rest, Unproven):
            return rest
        left = self._left_failing(overlay, self._suite, runs[-1].report, self._project)
        if left is None and rest is not None and self._all is not None:
            left = self._left_failing(overlay, self._rest, rest, self._all)
        if left is not None:
            return left
        proof = self._proof(overlay, runs, perturbed, self._plainly(overlay, runs[-1].report))
        return proof if rest is None else replace(proof, rest=rest.count(), unrun=proof.unrun or rest.trouble)

    def _rest_with(self, overlay: Mapping[str, bytes]) -> TestReport | Unproven | None:
        """A run of all tests where the test command names some; its trouble says what was not run. None where it names none."""
        if self._all is None:
            return None
        none = TestReport(results=(), started=False, complete=False)
        if self.runs.left() <= 0:
            return replace(none, trouble=TIME_IS_UP)
        if not self._rest.first.results:
            return self._rest.first
        short = self._is_short_for(self._rest)
        after = self.run((), overlay, self._all)
        objection = self._rest.objection_to_part if short and after.trouble else self._rest.objection_to
        return objection(after, ()) or ended(after)

    def _is_short_for(self, suite: UnpatchedSuite) -> bool:
        """Whether time may cut a run of this suite short, whatever the patch does, as it may have without one."""
        return suite.first.out_of_time or self.runs.bounds().wall_seconds < enough_for(suite.first)

    def _left_failing(
        self, overlay: Mapping[str, bytes], suite: UnpatchedSuite, after: TestReport, project: Project
    ) -> Unproven | None:
        """Whether other tests fail where the patch is, and still do with it: then it fits the known ones alone.

        A run that was cut short does not tell.
        """
        if after.trouble:
            return None

        def trace(tests: Sequence[str]) -> TestRun:
            return self.runs.run(
                tests, wall=LEFT_SECONDS, trace=True, test_seconds=TRACED_TEST_SECONDS, project=project
            )

        before, known = suite.first, {*self.failing, *self._aside(suite.first)}
        passing = [result.id for result in before.passing()]
        return left_failing(failing_in_both(before, after, known), passing, overlay, project.tree, trace)

    def _aside(self, before: TestReport) -> Collection[str]:
        """Failures that are no work of a patch, whatever they do."""
        seen = self._reproduction
        return {*seen.set_aside, *seen.flaky, *unrepairable(before, self._project)}

    def _refusal(self, path: str) -> str:
        """Why a patch may not touch a file; empty when it may. Files that define tests or plug-ins decide what passes."""
        if not self._project.paths.hold(path):
            return NOT_EDITED
        if refused := refusal(path, self._project.tree, self._installed):
            return refused
        before = self._suite.first
        names = {result.id.partition("::")[2] for result in before.results if result.id.startswith(f"{path}::")}
        decides = defines(self._project.tree, path, names) or f"the plug-in {module_name(path)}" in before.loaded
        return DECIDES if decides or path in self._deciding else ""

    @cached_property
    def _deciding(self) -> Collection[str]:
        return deciding(self._project.tree, (self._suite.first, self._reproduction.report))

    @cached_property
    def _installed(self) -> frozenset[str]:
        return installed_modules(self._project.python)

    def _perturbed(self, overlay: Mapping[str, bytes], seed: int) -> int | Unproven:
        """How many failing tests fail, as they must, where they expect something else, while they pass as they are."""
        order = random.Random(seed).sample(self.failing, min(len(self.failing), MAX_ALONE))  # noqa: S311 - an order, no secret
        twins = twin_run(self._project.tree, order, SECRET)
        files = {path: text.encode() for path, text in twins.files.items()}
        report = self.run([*twins.tests, *order], {**overlay, **files})
        single = [test for test in order if not twins.includes(test)]
        if missing := (*still_failing(single, report), *twins.lost(order, report)):
            alone = self.run(order, overlay) if twins.twins else report
            if still_failing(order, alone):
                late = alone.out_of_time and not ended(alone).failing()
                reason = TIME_IS_UP if late else f"{named(missing)} still fails when run alone"
                return Unproven(reason=reason, late=late)
        if passing := twins.surviving(order, report):
            return Unproven(reason=f"{named(passing)} also passes where it expects something else")
        return 0 if missing or twins.returning(order, report) else twins.failed(report)

    def _whole(self, overlay: Mapping[str, bytes]) -> _WholeRun | Unproven:
        """Run the whole suite, with canaries that it must report rightly, if the unpatched project does."""
        added = self._canaries()
        short = self._is_short_for(self._suite)
        project = with_tests(self._project, added.tests) if added else None
        report = self.run((), {**overlay, **({added.path: added.text.encode()} if added else {})}, project)
        after = without(report, added.tests) if added else report
        cut = short and bool(report.trouble)
        objection = (self._suite.objection_to_part if cut else self._suite.objection_to)(after, self.failing)
        reported = added is not None and added.are_right_in(report)
        if objection is None and added and not (reported or cut) and self._reports_canaries:
            return Unproven(reason="its run does not report rightly on tests that were added to check the report")
        return objection or _WholeRun(report=ended(after) if cut else after, canaries=reported, cut=cut)

    @cached_property
    def _reports_canaries(self) -> bool:
        """Whether the project reports canaries rightly without the patch: its plug-ins or its command may leave out such tests."""
        added = self._canaries()
        if added is None:
            return False
        project = with_tests(self._project, added.tests)
        report = self.run(added.tests, {added.path: added.text.encode()}, project)
        return added.are_right_in(report) or report.trouble not in ("", NO_TESTS)

    def _canaries(self) -> Canaries | None:
        passing = (result.id for result in self._suite.first.passing())
        return canaries(self._project.tree, (*self.failing, *passing), SECRET)

    def _plainly(self, overlay: Mapping[str, bytes], after: TestReport) -> dict[str, bool]:
        """Which failing tests pass without pytest too: functions that pass with it, and run without it before the patch."""
        outcomes = {result.id: result.outcome for result in after.results}
        tests = sorted(passing(self._plain_tests, outcomes))
        seen = self._run_plainly(tests, overlay)
        runs_before = tests if len(seen) == len(tests) else self._run_plainly(tests, {})
        return {test: test in seen and seen[test].outcome is TestOutcome.PASSED for test in runs_before}

    @cached_property
    def _plain_tests(self) -> Sequence[str]:
        functions = dict.fromkeys(function_of(test) for test in self.failing if "::" in test)
        tree, split = self._project.tree, ((test, test.partition("::")) for test in functions)
        found = [test for test, (path, _, name) in split if defines(tree, path, [name]) and is_plain(tree, test)]
        return found[:MAX_PLAIN]

    def _run_plainly(self, tests: Sequence[str], overlay: Mapping[str, bytes]) -> Mapping[str, TestResult]:
        self.runs.count += bool(tests)
        runs = self.runs
        return run_plainly(runs.sandbox, runs.project, tests, dict(overlay), runs.bounds()) if tests else {}

    def _proof(
        self, overlay: Mapping[str, bytes], runs: Sequence[_WholeRun], perturbed: int, plain: Mapping[str, bool]
    ) -> Proof:
        before, after = self._suite.first, runs[-1].report
        aside = self._aside(before)
        failed = tuple(dict.fromkeys((*self.failing, *(r.id for r in before.failing() if r.id not in aside))))
        missing = {*still_failing(failed, after)} - {*self._passed_alone(runs)}
        unended = [run.report.trouble for run in runs if run.report.trouble and not run.cut]
        return Proof(
            failed_before=failed,
            passed_after=tuple(test for test in failed if test not in missing),
            before=before.count(),
            suite=after.count(),
            repeats=REPEATS,
            command=self._project.command_line(),
            perturbed=perturbed,
            canaries=all(run.canaries for run in runs),
            cut=any(run.cut for run in runs),
            unrun=next((run.report.trouble for run in runs if run.cut), ""),
            plain=sum(plain.values()),
            unusual=(
                *self._unusual(overlay),
                *_newly_loaded(before, [run.report for run in runs if not run.cut]),
                *(self._unchallenged(perturbed, runs) if not self._templates else ()),
                *dict.fromkeys(f"a run that did not end: {trouble}" for trouble in unended),
                *(f"some tests of {test} are skipped" for test in _with_skips(self.failing, after)),
                *(f"{test} fails without pytest" for test, passed in plain.items() if not passed),
            ),
        )

    def _passed_alone(self, runs: Sequence[_WholeRun]) -> Sequence[str]:
        """Failing tests that no run of the suite came to before time ended it: without passing alone there is no proof."""
        came_to = tuple(result.id for run in runs for result in run.report.results)
        known = self.failing if len(self.failing) <= MAX_ALONE else ()
        return [test for test in known if any(run.cut for run in runs) and not includes(test, came_to)]

    def _unchallenged(self, perturbed: int, runs: Sequence[_WholeRun]) -> Iterator[str]:
        """What this proof was not held to."""
        if not perturbed:
            yield "no failing test could be run where it expects something else"
        if not all(run.canaries for run in runs):
            yield "its runs could not be checked by added tests"

    def _unusual(self, overlay: Mapping[str, bytes]) -> Iterator[str]:
        """What the patch uses that has no place in a repair; what the file used before it was changed may come back."""
        for path, content in overlay.items():
            file = self._project.tree / path
            before = file.read_bytes() if file.is_file() else b""
            found = unusual(before, content)
            if found and (earlier := self._reproduction.before.get(path)) is not None:
                found = tuple(each for each in found if each in unusual(earlier, content))
            yield from (f"{each} in {path}" for each in found)
            if examples(before) != examples(content):
                yield f"changed examples in docstrings of {path}"

    def evaluate(self, edits: Mapping[str, str]) -> PatchEvaluation:
        """The proof of edits of the sources, without any test that was added; or the objection to them."""
        if not edits:
            return PatchEvaluation(report=self._reproduction.failing_report, passed=0, objection="nothing was edited")
        overlay = {path: text.encode(errors="replace") for path, text in edits.items()}
        report = self.run(self.failing, dict(overlay))
        missing = still_failing(self.failing, report)
        passed = len(self.failing) - len(missing)
        if missing:
            objection = f"{len(missing)} of {len(self.failing)} failing tests still fail"
            return PatchEvaluation(report=report, passed=passed, objection=objection)
        shown = self.prove(overlay)
        if isinstance(shown, Unproven):
            return PatchEvaluation(report=report, passed=passed, objection=shown.reason)
        return PatchEvaluation(report=report, passed=passed, proof=shown)

    def demonstrating(self, edits: Mapping[str, str], tests: Mapping[str, str]) -> dict[str, str]:
        """Those of the added tests that fail without the edits and pass with them, and use nothing that CI must not run."""
        repaired = {path: text.encode(errors="replace") for path, text in edits.items()}
        found = {}
        for path, text in tests.items():
            added = {path: text.encode(errors="replace")}
            if not is_plain_test(path, added[path]):
                continue
            before = still_failing((path,), self.run((path,), dict(added)))
            if before and not still_failing((path,), self.run((path,), {**added, **repaired})):
                found[path] = text
        return found
