"""The JSON of `fix` and `review`: a contract that scripts rely on."""

import shlex

from bot.cli.console import Json, fields
from bot.local import LocalReview
from memory.model import Attempt, Finding, Proof, Suggestion
from memory.policy.review_policy import PostingDecision
from workers.messages import repair
from workers.repair.result import Repaired
from workers.review.broken_tests import ComparedTests
from workers.sandbox.report import shortened
from workers.sandbox.test_ids import function_of

WORTH_NAMING = 10.0
"""The fewest seconds of making an environment, or of finding what fails, that the answer speaks of."""


def repaired_json(result: Repaired) -> Json:
    """`apprentice fix --json`."""
    proven, failure = result.proven, result.failure
    tried = ("strategy", "probability", "candidates", "rivals", "outcome", "reflection")
    return {
        "status": result.status,
        "failure": fields(failure, "error_type", "family", "message", "failing_tests") if failure else None,
        "attempts": [fields(attempt, *tried) for attempt in result.attempts],
        "patch": proven.patch if proven else None,
        "proof": _proof(proven.proof) if proven and proven.proof else None,
        "unproven": result.late or None,
        "question": repair.asked_result(proven.proof) or None if proven and proven.proof else None,
        "flaky": list(result.flaky),
        "set_aside": [f"{test}: {why}" for test, why in result.set_aside.items()],
        "candidates_tried": result.candidates,
        "test_runs": result.test_runs,
        "seconds": round(result.seconds, 3),
        "proof_seconds": round(result.proof_seconds, 3),
        "environment_seconds": round(result.environment_seconds, 3),
        "advice": advice(result) or None,
        "note": result.note or None,
        "decision_ids": [attempt.decision_id for attempt in result.attempts],
    }


def cannot_run(reason: str) -> Json:
    """`apprentice fix --json` when nothing could be run."""
    none: Json = dict.fromkeys(("failure", "patch", "proof", "unproven", "question", "advice", "note"))
    empty: Json = {name: [] for name in ("attempts", "flaky", "set_aside", "decision_ids")}
    zero = {"candidates_tried": 0, "test_runs": 0, "seconds": 0.0, "proof_seconds": 0.0, "environment_seconds": 0.0}
    return {"status": "cannot_run", **none, **empty, **zero, "error": reason}


def reviewed_json(result: LocalReview) -> Json:
    """`apprentice review --json`."""
    return {
        "findings": [_finding(each, result.decided[each.fingerprint]) for each in result.shown()],
        "coverage": [fields(each, "path", "status", "reason") for each in result.reviewed.coverage],
        "tests": _compared(result.reviewed.tests) if result.reviewed.tests else None,
        "untested": fields(result.reviewed.untested, "lines", "of", "unnoticed") if result.reviewed.untested else None,
        "culprit": result.reviewed.culprit.patch if result.reviewed.culprit else None,
        "fix": _fix(result.reviewed.fix) if result.reviewed.fix else None,
        "unrepaired": result.reviewed.unrepaired,
    }


def _fix(fix: Attempt) -> Json:
    return {"patch": fix.patch, "proof": _proof(fix.proof) if fix.proof else None, "decision_id": fix.decision_id}


def _compared(compared: ComparedTests) -> Json:
    names = ("id", "error_type", "message", "path", "line", "added")
    counts = ("ran", "passed", "skipped", "whole", "trouble", "failing_before", "flaky", "unknown")
    return {"broken": [fields(each, *names) for each in compared.broken], **fields(compared, *counts)}


def _proof(proof: Proof) -> Json:
    challenged = ("perturbed", "canaries", "plain", "unusual")
    sure = ("confidence", "doubt", "asked", "undecided")
    compared = ("plausible", "alike", "clusters", "uncompared", "share", "cut")
    counts = ("passed", "failed", "skipped", "collected")
    suite = fields(proof.suite, *counts)
    rest = None if proof.rest is None else {**fields(proof.rest, *counts), "unrun": proof.unrun}
    return {
        **fields(proof, "failed_before", "passed_after"),
        "suite": {**suite, "command": proof.command},
        "rest": rest,
        **fields(proof, "repeats", *challenged, *sure, *compared),
        "telling": None if proof.telling is None else fields(proof.telling, "call", "this", "other", "patch"),
    }


def _finding(finding: Finding, decided: PostingDecision) -> Json:
    names = ("fingerprint", "path", "line", "end_line", "rule", "category", "severity", "message")
    return {
        **fields(finding, *names),
        "suggestion": _suggestion(finding.suggestion) if finding.suggestion else None,
        "decision": {**fields(decided.decision, "id", "probability", "arm"), **fields(decided, "action", "why")},
    }


def _suggestion(suggestion: Suggestion) -> Json:
    proof = _proof(suggestion.proof) if suggestion.proof else None
    return {**fields(suggestion, "start_line", "end_line", "replacement"), "proof": proof}


def advice(result: Repaired) -> str:
    """Where the time went, and the options that would help."""
    if (effort := result.effort) is None or result.failure is None:
        return ""
    functions = list(dict.fromkeys(function_of(each) for each in result.failure.failing_tests))
    tests = [test for test in functions if test != effort.alone]
    one = f"(--test-command {shlex.quote(f'python -m pytest {shlex.quote(tests[0])}')})"
    name = f"name one failing test {one} or " if effort.whole and effort.reproducing > WORTH_NAMING else ""
    more = f" To get further, {name}give more time (--budget {3 * effort.budget:.0f})."
    several = len(functions) > 1 and not result.late and (effort.exhausted or not name)
    tried = f"; {shortened(effort.alone)} was looked at alone, too" if effort.alone else ""
    apart = f" If the tests fail for different reasons, name one of them {one}{tried}." if several else ""
    return f"{effort.described()}{'' if effort.exhausted else more}{apart}"
