"""How much of what is kept quiet would have been welcome."""

from __future__ import annotations

import random

import pytest

from memory.evaluation.findings import suppression
from memory.model import Arm, LoggedDecision, SignalKind, TaskKind
from tests.unit.memory.ledgers import logged, said

QUIET = {"inline": 0.04, "summary": 0.06, "hold": 0.9}


def finding(number: int, odds: dict[str, float], chosen: str, verdict: SignalKind | None = None) -> LoggedDecision:
    return logged(number, odds, chosen, kind=TaskKind.REVIEW, said=() if verdict is None else (said(number, verdict),))


def test_without_verdicts_nothing_is_known() -> None:
    """Held findings of which none was shown leave the whole of [0, 1] open."""
    held, summarised = suppression([finding(n, QUIET, "hold") for n in range(9)])
    assert (held.findings, held.shown, held.judged, held.rate, held.low, held.high) == (9, 0, 0, None, 0.0, 1.0)
    assert summarised.findings == 0


def test_three_rejections_prove_little() -> None:
    """0 welcome of 3 that were shown all the same: the rate may still be 56 %."""
    held, _ = suppression([finding(n, QUIET, "inline", SignalKind.REJECTED) for n in range(3)])
    assert (held.shown, held.judged, held.rate) == (3, 3, 0.0)
    assert held.high == pytest.approx(0.56, abs=0.005)


def test_rare_showings_weigh_more() -> None:
    """One that had a chance of 1 in 50 stands for five times as many as one with 1 in 10."""
    log = [
        finding(0, {"inline": 0.02, "summary": 0.98}, "inline", SignalKind.ACCEPTED),
        finding(1, {"inline": 0.1, "summary": 0.9}, "inline", SignalKind.REJECTED),
    ]
    _, summarised = suppression(log)
    assert summarised.rate == pytest.approx(5 / 6)


def test_what_was_loud_anyway_or_could_not_be_is_left_out() -> None:
    """Neither a finding that is mostly said inline, nor one without a free slot, nor a control decision is suppressed."""
    log = [
        finding(0, {"inline": 0.9, "summary": 0.1}, "summary"),
        finding(1, {"summary": 0.1, "hold": 0.9}, "hold"),
        logged(2, QUIET, "hold", kind=TaskKind.REVIEW, arm=Arm.CONTROL),
    ]
    assert [each.findings for each in suppression(log)] == [0, 0]


def test_the_rate_is_found_in_a_simulated_house() -> None:
    """With half of the verdicts missing, the interval holds the true share of welcome findings."""
    rng, log = random.Random(4), []
    for number in range(20_000):
        loud = rng.choice((0.02, 0.08))
        welcome = rng.random() < (0.5 if loud == 0.02 else 0.2)
        chosen = rng.choices(("inline", "hold"), (loud, 1 - loud))[0]
        kind = SignalKind.ACCEPTED if welcome else SignalKind.REJECTED
        judged = kind if chosen == "inline" and rng.random() < 0.5 else None
        log.append(finding(number, {"inline": loud, "hold": 1 - loud}, chosen, judged))
    held, _ = suppression(log)
    assert held.rate == pytest.approx(0.35, abs=0.08)
    assert held.low <= 0.35 <= held.high
