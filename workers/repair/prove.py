"""Show that a patch repairs what failed and breaks nothing: whole runs in fresh sandboxes, judged from outside them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from memory.model import Proof, SuiteCount
from workers.ports import Limits, Sandbox
from workers.repair.guard import forbidden
from workers.repair.machine import cores
from workers.sandbox.project import Project
from workers.sandbox.report import TestOutcome, TestReport
from workers.sandbox.testing import run_tests

SHOWN = 3
"""So many tests are named in a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproven:
    """Why a patch is not proven, in words for the user. `broken` are tests that passed before and no longer do.

    `runs` is how often tests were run to find out.
    """

    reason: str
    broken: tuple[str, ...] = ()
    runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What is to be shown: `failing` will pass, and everything that passed in `before` still does."""

    failing: tuple[str, ...]
    before: TestReport


def prove(
    sandbox: Sandbox,
    project: Project,
    *,
    patch_overlay: Mapping[str, bytes],
    before: TestReport,
    failing: Sequence[str],
    repeats: int = 2,
    seed: int = 0,
    limits: Limits | None = None,
) -> Proof | Unproven:
    """Run the failing tests, then `repeats` times (at least once) the whole suite, with the patch laid over the checkout.

    `before` is the whole suite without it. Tests that failed before and still fail do not stand against the patch; they
    are in `failed_before` and not in `passed_after`. `seed` decides in what order the failing tests are asked for.
    """
    untouchable = forbidden(patch_overlay)
    if untouchable:
        return Unproven(reason=f"it changes {_named(untouchable)}, which decides what counts as passing")
    claim = Claim(failing=tuple(failing), before=before)
    order = random.Random(seed).sample(claim.failing, len(claim.failing))  # noqa: S311 - an order, no secret
    alone = run_tests(sandbox, project, tests=order, overlay=dict(patch_overlay), limits=limits).report
    missing = still_failing(claim.failing, alone)
    if missing:
        return Unproven(reason=f"{_named(missing)} still fails when run alone", runs=1)
    with ThreadPoolExecutor(max_workers=min(repeats, cores())) as pool:
        runs = [
            pool.submit(run_tests, sandbox, project, overlay=dict(patch_overlay), limits=limits) for _ in range(repeats)
        ]
        for number, run in enumerate(runs, start=2):
            after = run.result().report
            objection = objection_to(claim, after)
            if objection is not None:
                pool.shutdown(cancel_futures=True)
                return replace(objection, runs=number)
    return _proof(claim, after, repeats, project)


def objection_to(claim: Claim, after: TestReport) -> Unproven | None:
    """What a whole run with the patch says against it; None when nothing."""
    if not after.started or (after.trouble and claim.before.complete):
        return Unproven(reason=f"the suite did not run to its end: {after.trouble}")
    missing = still_failing(claim.failing, after)
    if missing:
        return Unproven(reason=f"{_named(missing)} still fails in the whole suite")
    passed = {result.id for result in after.passing()}
    broken = tuple(result.id for result in claim.before.passing() if result.id not in passed)
    if broken:
        return Unproven(reason=f"{_named(broken)} passed before and no longer does", broken=broken)
    if len(after.results) < len(claim.before.results):
        reason = f"only {len(after.results)} of {len(claim.before.results)} tests are collected"
        return Unproven(reason=reason)
    return None


def still_failing(tests: Sequence[str], report: TestReport) -> tuple[str, ...]:
    """Those of `tests` that did not pass. A file, class or function stands for all under it; one that is gone has failed."""
    outcomes = {result.id: result.outcome for result in report.results}
    return tuple(test for test in tests if not passes(test, outcomes))


def passes(test: str, outcomes: Mapping[str, TestOutcome]) -> bool:
    """Whether a test passed; a file, class or function does when some test under it passed and none failed."""
    if test in outcomes:
        return outcomes[test] is TestOutcome.PASSED
    under = {outcome for name, outcome in outcomes.items() if name.startswith((f"{test}::", f"{test}["))}
    return TestOutcome.PASSED in under and not under & {TestOutcome.FAILED, TestOutcome.ERROR}


def count(report: TestReport) -> SuiteCount:
    """A run in numbers; an error counts as a failure, an expected failure as neither passed nor failed."""
    outcomes = [result.outcome for result in report.results]
    return SuiteCount(
        passed=outcomes.count(TestOutcome.PASSED),
        failed=len(report.failing()),
        skipped=outcomes.count(TestOutcome.SKIPPED),
        collected=len(outcomes),
    )


def _proof(claim: Claim, after: TestReport, repeats: int, project: Project) -> Proof:
    failed = tuple(dict.fromkeys((*claim.failing, *(result.id for result in claim.before.failing()))))
    missing = still_failing(failed, after)
    return Proof(
        failed_before=failed,
        passed_after=tuple(test for test in failed if test not in missing),
        before=count(claim.before),
        suite=count(after),
        repeats=repeats,
        command=" ".join(project.test_command),
    )


def _named(tests: Sequence[str]) -> str:
    rest = len(tests) - SHOWN
    return ", ".join(tests[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
