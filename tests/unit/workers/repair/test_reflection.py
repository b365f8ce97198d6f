"""What an attempt taught, in the words that are kept and shown."""

from __future__ import annotations

from inline_snapshot import snapshot

from memory.model import AttemptOutcome, Failure, Family
from workers.repair.result import Facts, reflection

FAILURE = Failure(
    error_type="KeyError", family=Family.LOOKUP, message="'a'", frames=(), failing_tests=("t.py::a", "t.py::b")
)


def told(outcome: AttemptOutcome, **facts: str | int) -> str:
    given: dict[str, object] = {"strategies": ("operators",), "candidates": 12, "plausible": 0, **facts}
    return reflection(Facts(outcome=outcome, failure=FAILURE, **given))  # type: ignore[arg-type]  # names checked by Facts


NEAR = {"nearest": "swap_operator", "path": "shop/tax.py", "line": 7}


def test_a_proof() -> None:
    """Success says what and where, and after how many candidates."""
    assert told(AttemptOutcome.PROVEN, **NEAR, passed=2, candidates=1) == snapshot(
        "operators: swap_operator at shop/tax.py:7 is proven after 1 candidate."
    )


def test_half_repaired() -> None:
    """Some tests repaired points to the place."""
    assert told(AttemptOutcome.NOTHING_PLAUSIBLE, **NEAR, passed=1, error_type="KeyError") == snapshot(
        "operators: 12 candidates tried, none makes the failing tests pass. swap_operator at shop/tax.py:7 repairs 1 of 2 failing tests: the place matters, and more is wrong there."
    )


def test_repaired_and_broken() -> None:
    """All failing tests repaired and another broken is an edit too broad."""
    assert told(AttemptOutcome.NOTHING_PLAUSIBLE, **NEAR, passed=2, error_type="TypeError") == snapshot(
        "operators: 12 candidates tried, none makes the failing tests pass. swap_operator at shop/tax.py:7 repairs the failing tests but breaks a test that passed: right place, too broad an edit."
    )


def test_another_failure() -> None:
    """An edit that moves the failure touches what takes part in it."""
    assert told(AttemptOutcome.OUT_OF_BUDGET, **NEAR, error_type="TypeError", message="bad\noperand") == snapshot(
        "operators: time ran out after 12 candidates. With swap_operator at shop/tax.py:7 the failure becomes TypeError (bad): that line takes part in it."
    )


def test_nothing_near() -> None:
    """No candidate moved anything."""
    assert told(AttemptOutcome.NOTHING_PLAUSIBLE) == snapshot(
        "operators: 12 candidates tried, none makes the failing tests pass. The fault needs another kind of edit, or lies on other lines."
    )


def test_nothing_to_try() -> None:
    """A strategy may have nothing to propose."""
    assert told(AttemptOutcome.NOTHING_PLAUSIBLE, candidates=0) == snapshot(
        "operators: no candidate tried, none makes the failing tests pass. The fault needs another kind of edit, or lies on other lines."
    )


def test_unproven() -> None:
    """A plausible candidate that was not proven names the objection."""
    facts = {**NEAR, "plausible": 1, "passed": 2, "objection": "t.py::c passed before and no longer does"}
    assert told(AttemptOutcome.UNPROVEN, **facts) == snapshot(
        "operators: 1 of 12 candidates looked right, and none is proven. Best was swap_operator at shop/tax.py:7: t.py::c passed before and no longer does."
    )
