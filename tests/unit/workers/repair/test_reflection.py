"""What an attempt taught, in the words that are kept and shown."""

from __future__ import annotations

from dataclasses import replace

from inline_snapshot import snapshot

from memory.model import AttemptOutcome, EditShape, Failure, Family
from workers.repair.attempt import AttemptTally, reflection
from workers.repair.candidates import Candidate, ScreenVerdict

FAILURE = Failure(
    error_type="KeyError", family=Family.LOOKUP, message="'a'", frames=(), failing_tests=("t.py::a", "t.py::b")
)


PLACE = Candidate(
    path="shop/tax.py",
    source="",
    line=7,
    function="",
    template="swap_operator",
    strategy="operators",
    shape=EditShape(template="swap_operator", before="", after=""),
    score=1.0,
)


def words(
    outcome: AttemptOutcome,
    nearest: ScreenVerdict | None = None,
    *,
    candidates: int = 12,
    plausible: int = 0,
    proven: Candidate | None = None,
    cut: bool = False,
    objection: str = "",
    failure: Failure = FAILURE,
) -> str:
    tally = AttemptTally(failure=failure, candidates=candidates, plausible=plausible, nearest=nearest)
    return reflection(tally, ("operators",), outcome, proven=proven, cut=cut, objection=objection)


def near(passed: int = 0, error_type: str = "", message: str = "") -> ScreenVerdict:
    return ScreenVerdict(candidate=PLACE, plausible=False, passed=passed, error_type=error_type, message=message)


def test_a_proof() -> None:
    """Success says what and where, and after how many candidates."""
    assert words(AttemptOutcome.PROVEN, near(2), candidates=1, proven=PLACE) == snapshot(
        "operators: swap_operator at shop/tax.py:7 is proven after 1 candidate."
    )


def test_a_proof_that_time_ended() -> None:
    """What did not run with all tests is not called proven."""
    assert words(AttemptOutcome.PROVEN, near(2), candidates=53, proven=PLACE, cut=True) == snapshot(
        "operators: swap_operator at shop/tax.py:7 passes the failing tests after 53 candidates; time ended before all tests ran with it."
    )


def test_half_repaired() -> None:
    """Some tests repaired are counted, and where; what follows from it is not known."""
    assert words(AttemptOutcome.NOTHING_PLAUSIBLE, near(1, "KeyError")) == snapshot(
        "operators: 12 candidates tried, none makes the failing tests pass. swap_operator at shop/tax.py:7 repairs 1 of 2 failing tests."
    )


def test_repaired_and_broken() -> None:
    """All failing tests repaired and another broken is just that: an edit anywhere can do so."""
    broken = replace(near(2, "TypeError"), failed="test_tax.py::test_rounding")
    assert words(AttemptOutcome.NOTHING_PLAUSIBLE, broken) == snapshot(
        "operators: 12 candidates tried, none makes the failing tests pass. swap_operator at shop/tax.py:7 makes the failing tests pass, but test_tax.py::test_rounding fails with it."
    )


def test_another_failure() -> None:
    """An edit that moves the failure is named with the other failure."""
    assert words(AttemptOutcome.OUT_OF_BUDGET, near(0, "TypeError", "bad\noperand")) == snapshot(
        "operators: time ran out after 12 candidates. With swap_operator at shop/tax.py:7 the failure becomes TypeError (bad)."
    )


def test_an_assertion_that_is_not_reached() -> None:
    """An edit that ends the test before the assertion that failed came no nearer, and is not named."""
    failed = replace(FAILURE, error_type="AssertionError")
    said = [
        words(ending, near(0, "TypeError"), failure=failed)
        for ending in (AttemptOutcome.OUT_OF_BUDGET, AttemptOutcome.NOTHING_PLAUSIBLE)
    ]
    assert said == snapshot(
        [
            "operators: time ran out after 12 candidates.",
            "operators: 12 candidates tried, none makes the failing tests pass. The fault needs another kind of edit, or lies on other lines.",
        ]
    )
    assert "repairs 1 of 2" in words(AttemptOutcome.OUT_OF_BUDGET, near(1, "TypeError"), failure=failed)


def test_nothing_near() -> None:
    """No candidate moved anything."""
    assert words(AttemptOutcome.NOTHING_PLAUSIBLE) == snapshot(
        "operators: 12 candidates tried, none makes the failing tests pass. The fault needs another kind of edit, or lies on other lines."
    )


def test_nothing_to_try() -> None:
    """A strategy may have nothing to propose."""
    assert words(AttemptOutcome.NOTHING_PLAUSIBLE, candidates=0) == snapshot(
        "operators: no candidate to try. The fault needs another kind of edit, or lies on other lines."
    )


def test_unproven() -> None:
    """A plausible candidate that was not proven names the objection."""
    objection = "t.py::c passed before, and not with it"
    assert words(AttemptOutcome.UNPROVEN, near(2), plausible=1, objection=objection) == snapshot(
        "operators: 1 of 12 edits pass the failing tests, and none is proven. Best was swap_operator at shop/tax.py:7: t.py::c passed before, and not with it."
    )


def test_a_message_is_cut_without_a_part_of_a_password() -> None:
    """It is removed while the end of its address shows what it is."""
    message = f"{'-' * 95} postgresql://ada:k3Yp9sVq2Lm@db/shop"
    assert "k3Yp" not in words(AttemptOutcome.NOTHING_PLAUSIBLE, near(0, "TypeError", message))
