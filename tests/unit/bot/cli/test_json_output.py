"""The JSON of the commands is made of plain values under the names that scripts rely on."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bot.cli.json_output import cannot_run, repaired_json
from memory.model import Attempt, AttemptOutcome, Confidence, DistinguishingCall, Failure, Family, Proof, SuiteCount
from workers.repair.result import Repaired, RepairStatus

FAILURE = Failure(
    error_type="ZeroDivisionError",
    family=Family.ARITHMETIC,
    message="division by zero",
    frames=(),
    failing_tests=("tests/test_a.py::test_b",),
)
PROOF = Proof(
    failed_before=("tests/test_a.py::test_b",),
    passed_after=("tests/test_a.py::test_b",),
    before=SuiteCount(passed=2, failed=1, skipped=1, collected=4),
    suite=SuiteCount(passed=3, failed=0, skipped=1, collected=4),
    repeats=3,
    command="python -m pytest",
    confidence=Confidence.DISPUTED,
    plausible=5,
    alike=3,
    clusters=2,
    share=0.75,
    telling=DistinguishingCall(call="total([])", this="0", other="None", patch="--- a/a.py\n"),
)
LOST = Attempt(
    decision_id="d1",
    strategy="guards",
    probability=0.25,
    candidates=7,
    outcome=AttemptOutcome.NOTHING_PLAUSIBLE,
    reflection="guards: none of 7.",
)
WON = Attempt(
    decision_id="d2",
    strategy="operators",
    probability=0.5,
    candidates=2,
    outcome=AttemptOutcome.PROVEN,
    reflection="operators: the first.",
    patch="--- a/a.py\n+++ b/a.py\n",
    proof=PROOF,
)


def result(status: RepairStatus, *attempts: Attempt, failure: Failure | None = FAILURE) -> Repaired:
    return Repaired(
        status=status,
        failure=failure,
        attempts=attempts,
        tests=4,
        flaky=("tests/test_a.py::test_now_and_then",),
        candidates=9,
        test_runs=14,
        seconds=1.23456,
    )


def test_a_fix_that_is_disputed() -> None:
    """The attempt with the proof gives patch, proof and question; every attempt is listed with its odds."""
    assert json.loads(json.dumps(repaired_json(result(RepairStatus.UNDECIDED, LOST, WON)))) == {
        "status": "undecided",
        "failure": {
            "error_type": "ZeroDivisionError",
            "family": "arithmetic",
            "message": "division by zero",
            "failing_tests": ["tests/test_a.py::test_b"],
        },
        "attempts": [
            {
                "strategy": "guards",
                "probability": 0.25,
                "candidates": 7,
                "rivals": 0,
                "outcome": "nothing_plausible",
                "reflection": "guards: none of 7.",
            },
            {
                "strategy": "operators",
                "probability": 0.5,
                "candidates": 2,
                "rivals": 0,
                "outcome": "proven",
                "reflection": "operators: the first.",
            },
        ],
        "patch": "--- a/a.py\n+++ b/a.py\n",
        "proof": {
            "failed_before": ["tests/test_a.py::test_b"],
            "passed_after": ["tests/test_a.py::test_b"],
            "suite": {"passed": 3, "failed": 0, "skipped": 1, "collected": 4, "command": "python -m pytest"},
            "rest": None,
            "repeats": 3,
            "perturbed": 0,
            "canaries": False,
            "plain": 0,
            "unusual": [],
            "confidence": "disputed",
            "doubt": "",
            "asked": True,
            "undecided": False,
            "plausible": 5,
            "alike": 3,
            "clusters": 2,
            "uncompared": 0,
            "share": 0.75,
            "cut": False,
            "telling": {"call": "total([])", "this": "0", "other": "None", "patch": "--- a/a.py\n"},
        },
        "unproven": None,
        "question": "Which is right: total([]) → 0 (this change) or None (the other one)?",
        "flaky": ["tests/test_a.py::test_now_and_then"],
        "set_aside": [],
        "candidates_tried": 9,
        "test_runs": 14,
        "seconds": 1.235,
        "proof_seconds": 0.0,
        "environment_seconds": 0.0,
        "advice": None,
        "note": None,
        "decision_ids": ["d1", "d2"],
    }


@pytest.mark.parametrize(
    ("of", "status", "failure"),
    [
        (result(RepairStatus.NOT_FIXED, LOST), "not_fixed", FAILURE.message),
        (result(RepairStatus.NOTHING_FAILING, failure=None), "nothing_failing", None),
    ],
)
def test_no_fix(of: Repaired, status: str, failure: str | None) -> None:
    """Without a proof there is neither patch nor proof, and without a failure none."""
    document = json.loads(json.dumps(repaired_json(of)))
    assert (document["status"], document["patch"], document["proof"]) == (status, None, None)
    assert (document["failure"] and document["failure"]["message"]) == failure
    assert repaired_json(replace(of, late="--- a/a.py\n"))["unproven"] == "--- a/a.py\n"


def test_what_cannot_be_run_has_the_same_keys() -> None:
    """A script finds every key whatever happened, and the reason beside them."""
    document = cannot_run("there is no sandbox")
    assert set(document) == {*repaired_json(result(RepairStatus.FIXED, WON)), "error"}
    assert (document["status"], document["error"]) == ("cannot_run", "there is no sandbox")
