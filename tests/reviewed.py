"""Reviews as values, for tests of what is made of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from bot.local import LocalReview
from memory.model import (
    Action,
    Arm,
    Attempt,
    AttemptOutcome,
    Confidence,
    Decision,
    Finding,
    Proof,
    Severity,
    State,
    Suggestion,
    SuiteCount,
    TaskKind,
)
from memory.policy.review_policy import PostingDecision
from workers.diffs import parse_diff, unified
from workers.review.broken_tests import BrokenTest, ComparedTests
from workers.review.culprit import Culprit
from workers.review.engine import Reviewed
from workers.review.read_report import CoverageStatus, FileCoverage

HEAD = "one\ntwo\nthree\nfour\nfive\n"
PROOF = Proof(
    failed_before=("tests/test_a.py::test_it",),
    passed_after=("tests/test_a.py::test_it",),
    before=SuiteCount(passed=2, failed=1, skipped=0, collected=3),
    suite=SuiteCount(passed=3, failed=0, skipped=0, collected=3),
    repeats=2,
    command="python -m pytest",
    confidence=Confidence.UNIQUE,
)
BROKEN = BrokenTest(
    id="tests/test_a.py::test_it", error_type="AssertionError", message="assert 1 == 2\n +  where", path="a.py", line=2
)
BREAKS = ComparedTests(broken=(BROKEN,), ran=3, passed=2, whole=True)
GREEN = ComparedTests(ran=3, passed=3, whole=True)
SILENT = ComparedTests(trouble="pytest is not installed")
"""Tests that say nothing: none of them ran."""


def finding(severity: Severity = Severity.MINOR, message: str = "`os` imported but unused", **given: object) -> Finding:
    known = Finding(
        fingerprint="f" * 32,
        path="a.py",
        line=1,
        end_line=1,
        tool="ruff",
        rule="F401",
        category="maintainability",
        severity=severity,
        message=message,
        anchor="import os",
    )
    return replace(known, **given)  # type: ignore[arg-type]


def suggestion(start: int, end: int, text: str) -> Suggestion:
    return Suggestion(start_line=start, end_line=end, replacement=text, proof=PROOF)


def culprit(after: str, path: str = "a.py") -> Culprit:
    return Culprit(patch=unified(path, HEAD, after), proof=PROOF, lines={})


def repaired(after: str, proof: Proof = PROOF) -> Attempt:
    return Attempt(
        decision_id="d",
        strategy="names",
        probability=0.5,
        candidates=1,
        outcome=AttemptOutcome.PROVEN,
        patch=unified("a.py", HEAD, after),
        proof=proof,
    )


def review(
    *findings: Finding,
    tests: ComparedTests | None = GREEN,
    hidden: bool = False,
    not_read: str = "",
    culprit: Culprit | None = None,
    fix: Attempt | None = None,
) -> LocalReview:
    """A review of a change of `a.py`; `hidden` are its findings, and `not_read` is a file that was not read."""
    unread = FileCoverage(path=not_read, status=CoverageStatus.SKIPPED, reason="binary")
    reviewed = Reviewed(
        change=parse_diff(unified("a.py", "", HEAD)),
        findings=findings,
        elsewhere=(),
        coverage=(FileCoverage(path="a.py", status=CoverageStatus.READ), *([unread] if not_read else [])),
        tests=tests,
        culprit=culprit,
        fix=fix,
    )
    action = Action.HOLD if hidden else Action.SUMMARY
    return LocalReview(reviewed=reviewed, decided={each.fingerprint: _decided(each, action) for each in findings})


def _decided(found: Finding, action: Action) -> PostingDecision:
    decision = Decision(
        id="d",
        task_id="t",
        state=State(kind=TaskKind.REVIEW, repository="local:a", label=found.rule, family=found.category),
        available=(action,),
        probabilities=(1.0,),
        chosen=action,
        arm=Arm.LEARNED,
        policy_version="1",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        subject=found.fingerprint,
    )
    return PostingDecision(decision=decision, why="3 of 3 rejected here; acceptance 0.01 ± 0.01")
