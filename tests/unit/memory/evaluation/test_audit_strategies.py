"""Strategies whose rewards do not mean what they should."""

from __future__ import annotations

import random

from memory.evaluation.audit import Alarm, AuditCheck, audit, diverging
from memory.model import Attempt, AttemptOutcome, LoggedDecision, Proof, SignalKind, SuiteCount
from tests.unit.memory.ledgers import at, logged, said

EVEN = {"a": 0.5, "b": 0.5}


def attempt(number: int, *, collected: int = 10, skipped: int = 0, strategy: str = "a") -> Attempt:
    """A proof of ten tests before, none of them skipped."""
    proof = Proof(
        failed_before=("t",),
        passed_after=("t",),
        before=SuiteCount(passed=9, failed=1, skipped=0, collected=10),
        suite=SuiteCount(passed=collected - skipped, failed=0, skipped=skipped, collected=collected),
        repeats=2,
        command="pytest",
    )
    return Attempt(
        decision_id=f"d{number}",
        strategy=strategy,
        probability=0.5,
        candidates=1,
        outcome=AttemptOutcome.PROVEN,
        proof=proof,
    )


def repairs(chances: dict[str, tuple[float, float]], count: int, seed: int = 1) -> list[LoggedDecision]:
    """Strategies with their chances of proof, and of acceptance once proven; all are judged."""
    rng, log = random.Random(seed), []
    for number in range(count):
        chosen = rng.choice(sorted(chances))
        proof, liked = chances[chosen]
        proven = rng.random() < proof
        kind = SignalKind.ACCEPTED if rng.random() < liked else SignalKind.REJECTED
        odds = dict.fromkeys(chances, 1 / len(chances))
        log.append(logged(number, odds, chosen, proven=proven, said=(said(number, kind),) if proven else ()))
    return log


def test_a_clean_ledger_has_nothing_to_look_at() -> None:
    """Nothing, or what passes and is accepted, gives no item."""
    assert audit([], [], {}, at(0)) == ()
    log = [logged(n, EVEN, "a", proven=True, said=(said(n),)) for n in range(9)]
    assert audit(log, [], {"t": [attempt(0)]}, at(9)) == ()


def test_proven_and_rejected_is_told() -> None:
    """A strategy most of whose fixes were rejected is a warning, what else was rejected one notice; both name decisions."""
    log = [logged(n, EVEN, "a", proven=True, said=(said(n, SignalKind.REJECTED),)) for n in range(9)]
    log.append(logged(9, EVEN, "b", proven=True, said=(said(9, SignalKind.REJECTED),)))
    found = {item.about: item for item in audit(log, [], {}, at(9)) if item.check is AuditCheck.PROVEN_BUT_REJECTED}
    assert (found["a"].alarm, found["several strategies"].alarm) == (Alarm.WARNING, Alarm.NOTICE)
    assert found["several strategies"].evidence == ("d9",)
    assert "9 of 9" in found["a"].what


def test_fewer_tests_and_more_skips_are_critical() -> None:
    """A proof that collected fewer tests or skipped more comes first in the list."""
    attempts = {"t1": [attempt(0, collected=9)], "t2": [attempt(1, skipped=1), attempt(2)]}
    log = [logged(9, EVEN, "b", proven=True, said=(said(9, SignalKind.REJECTED),))]
    first, *_ = audit(log, [], attempts, at(9))
    assert (first.check, first.alarm, first.evidence) == (AuditCheck.SHRINKS_TESTS, Alarm.CRITICAL, ("d0", "d1"))


def test_a_strategy_that_pleases_tests_only_is_named() -> None:
    """Proven more and accepted less than the others, both beyond chance."""
    (item,) = diverging(repairs({"honest": (0.4, 0.8), "other": (0.4, 0.8), "hack": (0.95, 0.2)}, 300))
    assert (item.check, item.about) == (AuditCheck.DIVERGES, "hack")


def test_a_strategy_that_is_merely_worse_is_not() -> None:
    """Proven and accepted less is no divergence; nor is proven and accepted more."""
    assert not [*diverging(repairs({"a": (0.4, 0.8), "b": (0.2, 0.3)}, 300))]


def test_equal_strategies_are_seldom_named() -> None:
    """Over 60 ledgers of six equal strategies at most 5 % name one."""
    equal = dict.fromkeys("abcdef", (0.5, 0.6))
    assert sum(any(diverging(repairs(equal, 200, seed))) for seed in range(60)) <= 3


def test_what_was_never_concluded_is_counted() -> None:
    """An hour later a decision without an outcome was lost; a fresh one is under way."""
    log = [logged(0, EVEN, "a"), logged(100, EVEN, "a"), logged(50, EVEN, "a", proven=False)]
    (item,) = audit(log, [], {}, at(120))
    assert (item.check, item.evidence) == (AuditCheck.TOOL_ERRORS, ("d0",))
