"""What the demo says of its second fix, and its last table: computed from the run, whichever way it went."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime

from inline_snapshot import snapshot
from rich.console import Console

from bot.playground.client import ShownPull
from bot.playground.demo import DemoRepair, q_row, reasons
from bot.playground.demo_environment import RepairWithoutMemory
from memory.explain import ExplainedOption, Explanation
from memory.model import (
    Arm,
    Attempt,
    AttemptOutcome,
    Confidence,
    Decision,
    EditShape,
    Outcome,
    Proof,
    State,
    SuiteCount,
    TaskKind,
)
from memory.rewards import EXPECTED, EXPECTED_PROOF

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COUNT = SuiteCount(passed=41, failed=0, skipped=0, collected=41)
STRIP = EditShape(template="missing_method", before="$0", after="$0 . strip ( )")


def attempt(strategy: str, candidates: int, *, shape: EditShape | None = None) -> Attempt:
    """One that proves a fix where it has a shape."""
    proof = Proof(
        failed_before=("t",), passed_after=("t",), before=COUNT, suite=COUNT, repeats=2, command="pytest",
        confidence=Confidence.AGREED, plausible=2, clusters=1, share=1.0,
    )  # fmt: skip
    outcome = AttemptOutcome.NOTHING_PLAUSIBLE if shape is None else AttemptOutcome.PROVEN
    return Attempt(
        decision_id="d", strategy=strategy, probability=1.0, candidates=candidates, outcome=outcome,
        proof=None if shape is None else proof, shape=shape,
    )  # fmt: skip


def repaired(*attempts: Attempt, seconds: float) -> DemoRepair:
    pull = ShownPull(
        number=2, author="apprentice[bot]", title="Fix it", body="", state="open", merged=False, draft=True,
        head_ref="fix", head_sha="s", head_repository="r",
    )  # fmt: skip
    return DemoRepair(pull=pull, attempts=attempts, proven=attempts[-1], seconds=seconds)


FIRST = repaired(attempt("names", 20), attempt("everything", 91, shape=STRIP), seconds=9.0)


WITHOUT = RepairWithoutMemory(status="fixed", candidates=60, attempts=4)


def test_a_second_fix_that_memory_found() -> None:
    """The learned edit gives the old code, in fewer candidates and less time."""
    second = repaired(attempt("replay", 3, shape=STRIP), seconds=4.0)
    assert reasons(FIRST, second, WITHOUT, is_restored=True) == snapshot(
        [
            "with the fix src/parcel/money.py is, to the letter, what it was before finn's push; the repair did not see that text",
            "edits found that pass its tests: 2; kinds of behaviour among them: 1",
            "the edit is the one that the first fix taught: $0 → $0.strip()",
            "attempts in their order, with their candidates: replay (3)",
            "fewer candidates than for the first bug: 3 and 111",
            "less time than for the first bug: 4.0 s and 9.0 s",
            "the same bug with an empty memory, once: 60 candidates in 4 attempts, fixed",
        ]
    )


def test_a_second_fix_that_it_did_not_find() -> None:
    """Another edit, more candidates, more time, other code than before: each line says so."""
    other = replace(STRIP, after="$0 . lower ( )")
    second = repaired(attempt("replay", 2), attempt("everything", 200, shape=other), seconds=10.0)
    assert reasons(FIRST, second, WITHOUT, is_restored=False) == snapshot(
        [
            "with the fix src/parcel/money.py is not what it was before finn's push",
            "edits found that pass its tests: 2; kinds of behaviour among them: 1",
            "the edit is not the one that the first fix taught: $0 → $0.lower()",
            "attempts in their order, with their candidates: replay (2), everything (200)",
            "not fewer candidates than for the first bug: 202 and 111",
            "not less time than for the first bug: 10.0 s and 9.0 s",
            "the same bug with an empty memory, once: 60 candidates in 4 attempts, fixed",
        ]
    )


def test_the_row_that_decided() -> None:
    """Every option with its odds, the chosen one marked, and what was expected beside what came."""
    state = State(kind=TaskKind.REPAIR, repository="r", label="ValueError", family="value")
    decision = Decision(
        id="d", task_id="t", state=state, available=("replay", "calls"), probabilities=(0.9, 0.1), chosen="replay",
        arm=Arm.LEARNED, policy_version="v", created_at=NOW, features={EXPECTED_PROOF: 0.8, EXPECTED: 0.48},
    )  # fmt: skip
    options = tuple(
        ExplainedOption(
            name=name, probability=odds, proof=proof, proof_deviation=0.1, acceptance=0.6, acceptance_deviation=0.1,
            value=proof * 0.6,
        )
        for name, odds, proof in (("replay", 0.9, 0.85), ("calls", 0.1, 0.3))
    )  # fmt: skip
    outcome = Outcome(decision_id="d", components={}, target=0.98, weights_version="4", created_at=NOW)
    why = Explanation(
        decision=decision, repository="r", policy_now="v", reason="", options=options, table=(), outcome=outcome,
        withdrawn=False, advantage=0.18, signals=(), neighbours=(),
    )  # fmt: skip
    printed = io.StringIO()
    Console(file=printed, color_system=None, width=100).print(q_row(why))
    assert printed.getvalue() == snapshot("""\
the Q-row that decided the second fix: ValueError    \n\
(value)                                              \n\
┏━━━━━━━━━━┳━━━━━━━━━━━┳━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━┓
┃ strategy ┃ odds then ┃ proof ┃ acceptance ┃ value ┃
┡━━━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━┩
│ › replay │ 0.900     │ 0.85  │ 0.60       │ 0.51  │
│   calls  │ 0.100     │ 0.30  │ 0.60       │ 0.18  │
└──────────┴───────────┴───────┴────────────┴───────┘
expected of replay then: proof and value 0.80 and    \n\
0.48; reward 0.98; advantage +0.18; the other columns
are of now                                           \n\
""")
