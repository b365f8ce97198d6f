"""The JSON that `fix` and `review` print: a contract that scripts rely on. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from bot.local import LocalReview
from memory.model import Attempt, DistinguishingCall, Failure, Finding, Proof
from memory.policy.review_policy import PostingDecision
from workers.repair.result import Repaired

Json = Mapping[str, object]


def repaired(result: Repaired) -> Json:
    """`apprentice fix --json`."""
    proven = result.proven
    return {
        "status": result.status,
        "failure": _failure(result.failure) if result.failure else None,
        "attempts": [_attempt(attempt) for attempt in result.attempts],
        "patch": proven.patch if proven else None,
        "proof": _proof(proven.proof) if proven and proven.proof else None,
        "flaky": list(result.flaky),
        "candidates_tried": result.candidates,
        "test_runs": result.test_runs,
        "seconds": round(result.seconds, 3),
        "decision_ids": [attempt.decision_id for attempt in result.attempts],
    }


def cannot_run(reason: str) -> Json:
    """`apprentice fix --json` when nothing could be run."""
    return {
        "status": "cannot_run",
        "failure": None,
        "attempts": [],
        "patch": None,
        "proof": None,
        "flaky": [],
        "candidates_tried": 0,
        "test_runs": 0,
        "seconds": 0.0,
        "decision_ids": [],
        "error": reason,
    }


def reviewed(result: LocalReview) -> Json:
    """`apprentice review --json`."""
    return {
        "findings": [_finding(each, result.decided[each.fingerprint]) for each in result.shown()],
        "coverage": [
            {"path": each.path, "status": each.status, "reason": each.reason} for each in result.reviewed.coverage
        ],
    }


def _failure(failure: Failure) -> Json:
    return {
        "error_type": failure.error_type,
        "family": failure.family,
        "message": failure.message,
        "failing_tests": list(failure.failing_tests),
    }


def _attempt(attempt: Attempt) -> Json:
    return {
        "strategy": attempt.strategy,
        "probability": attempt.probability,
        "candidates": attempt.candidates,
        "rivals": attempt.rivals,
        "outcome": attempt.outcome,
        "reflection": attempt.reflection,
    }


def _proof(proof: Proof) -> Json:
    suite = proof.suite
    return {
        "failed_before": list(proof.failed_before),
        "passed_after": list(proof.passed_after),
        "suite": {
            "passed": suite.passed,
            "failed": suite.failed,
            "skipped": suite.skipped,
            "collected": suite.collected,
            "command": proof.command,
        },
        "repeats": proof.repeats,
        "confidence": proof.confidence,
        "doubt": proof.doubt,
        "asked": proof.asked,
        "undecided": proof.undecided,
        "plausible": proof.plausible,
        "alike": proof.alike,
        "clusters": proof.clusters,
        "share": proof.share,
        "telling": None if proof.telling is None else _telling(proof.telling),
    }


def _telling(telling: DistinguishingCall) -> Json:
    return {"call": telling.call, "this": telling.this, "other": telling.other, "patch": telling.patch}


def _finding(finding: Finding, decided: PostingDecision) -> Json:
    suggestion = finding.suggestion
    return {
        "fingerprint": finding.fingerprint,
        "path": finding.path,
        "line": finding.line,
        "end_line": finding.end_line,
        "rule": finding.rule,
        "category": finding.category,
        "severity": finding.severity,
        "message": finding.message,
        "suggestion": None
        if suggestion is None
        else {
            "start_line": suggestion.start_line,
            "end_line": suggestion.end_line,
            "replacement": suggestion.replacement,
            "proof": _proof(suggestion.proof) if suggestion.proof else None,
        },
        "decision": {
            "id": decided.decision.id,
            "action": decided.action,
            "probability": decided.decision.probability,
            "arm": decided.decision.arm,
            "why": decided.why,
        },
    }
