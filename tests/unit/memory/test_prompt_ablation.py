"""Which parts of a prompt help: one is left out now and then, and the results are compared."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from memory.evaluation.prompt_ablation import LEFT_OUT, WITHHELD, PartUse, drawn, measured, withheld
from memory.model import Arm, LoggedDecision
from tests.unit.memory.ledgers import logged

PARTS = ("clues", "skills", "run_python")


def run(number: int, left_out: str, *, proven: bool, chosen: str = "model:minimal") -> LoggedDecision:
    entry = logged(number, {chosen: 1.0}, chosen, proven=proven)
    return replace(entry, decision=replace(entry.decision, features={WITHHELD: left_out}))


def test_one_part_is_left_out_now_and_then() -> None:
    """Each part about as often as the others; the control arm has every part and records nothing."""
    rng = random.Random(1)
    found = Counter(str(drawn(PARTS, Arm.LEARNED, rng)[WITHHELD]) for _ in range(20_000))
    assert found[""] / 20_000 == pytest.approx(1.0 - LEFT_OUT, abs=0.01)
    assert [found[part] / 20_000 for part in PARTS] == pytest.approx([LEFT_OUT / 3] * 3, abs=0.01)
    assert drawn(PARTS, Arm.CONTROL, rng) == {}


def test_runs_with_and_without_a_part_are_counted() -> None:
    """By repository, of prompted strategies with an outcome: an engine without a prompt tells nothing of its parts."""
    log = [run(0, "", proven=True), run(1, "clues", proven=False), run(2, "clues", proven=True)]
    log += [run(3, "clues", proven=True, chosen="embedded"), replace(run(4, "skills", proven=True), outcome=None)]
    (use,) = measured(log)
    where = log[0].decision.state.repository
    assert use == PartUse(repository=where, part="clues", given=1, proven_given=1, left_out=2, proven_left_out=1)
    assert withheld(log[1].decision) == {"clues"}
    assert withheld(log[0].decision) == frozenset()
