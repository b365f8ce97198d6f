from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import rewards
from memory.model import (
    Actor,
    Arm,
    Decision,
    Factor,
    Outcome,
    Permission,
    Signal,
    SignalKind,
    State,
    TaskKind,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
components = st.dictionaries(st.sampled_from(sorted(rewards.COMPONENT_WEIGHTS)), st.floats(-1, 1))


def decision(kind: TaskKind = TaskKind.REPAIR, chosen: str = "swap") -> Decision:
    return Decision(
        id="d1", task_id="t1", state=State(kind=kind, repository="o/r", label="KeyError", family="lookup"),
        available=(chosen,), probabilities=(1.0,), chosen=chosen, arm=Arm.LEARNED, policy_version="v", created_at=NOW,
    )  # fmt: skip


def signal(kind: SignalKind = SignalKind.REJECTED, weight: float = 1.0, retracts: str = "") -> Signal:
    return Signal(
        id="s1", decision_id="d1", kind=kind, actor=Actor(id=1, login="m"), permission=Permission.WRITE,
        source="comment:1", created_at=NOW, weights_version="1", weight=weight, retracts=retracts,
    )  # fmt: skip


@given(components)
def test_shaped_stays_in_bounds(parts: dict[str, float]) -> None:
    """Whatever the components are, the reward lies within [0, 1]."""
    assert 0.0 <= rewards.shaped(parts) <= 1.0


def test_weights_leave_room_for_a_perfect_repair() -> None:
    """A flawless first candidate is worth nearly 1, and nothing achieved is worth 0."""
    best = rewards.repair_components(
        failing_before=2, fixed=2, broken=0, moved=False, proven=True, patch_lines=1, candidates=1
    )
    worst = rewards.repair_components(
        failing_before=2, fixed=0, broken=1, moved=False, proven=False, patch_lines=0, candidates=400
    )
    assert rewards.shaped(best) > 0.98
    assert rewards.shaped(worst) == 0.0


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"candidates": 5}, {"candidates": 300}),
        ({"patch_lines": 2}, {"patch_lines": 35}),
        ({}, {"proven": False}),
        ({"wasted": 1}, {"wasted": 7}),
        ({"proven": False, "fixed": 1}, {"proven": False, "fixed": 0}),
        ({"proven": False, "fixed": 0, "moved": True}, {"proven": False, "fixed": 0, "moved": False}),
    ],
)
def test_every_part_pays(better: dict[str, int], worse: dict[str, int]) -> None:
    """Speed, size, proof, tests fixed, progress and edits that end each raise the reward, other things equal."""
    base = {
        "failing_before": 2, "fixed": 2, "broken": 0, "moved": False, "proven": True, "patch_lines": 4, "candidates": 9,
    }  # fmt: skip
    worth = [rewards.shaped(rewards.repair_components(**{**base, **change})) for change in (better, worse)]
    assert worth[0] > worth[1]


@pytest.mark.parametrize("parts", [{"applause": 1.0}, {"suite_green": 1.5}])
def test_unknown_or_unbounded_component_is_refused(parts: dict[str, float]) -> None:
    """A component that is not in the table, or out of bounds, is an error and not a silent zero."""
    with pytest.raises(ValueError, match="reward component"):
        rewards.shaped(parts)


def test_every_signal_has_a_worth() -> None:
    """No kind of signal is forgotten, each worth is within its bounds, and only what is no word of anybody's weighs nothing."""
    assert set(rewards.SIGNAL_WORTH) == set(SignalKind)
    assert all(0 <= w.value <= 1 and 0 <= w.weight <= 1 for w in rewards.SIGNAL_WORTH.values())
    weightless = {kind for kind, worth in rewards.SIGNAL_WORTH.items() if worth.weight == 0.0}
    assert weightless == {SignalKind.FINDING_REWRITTEN, SignalKind.FINDING_GONE, SignalKind.FINDING_LEFT}


def test_resolving_is_no_acceptance() -> None:
    """A resolved thread is weak and neutral evidence, far from an acceptance."""
    resolved = rewards.SIGNAL_WORTH[SignalKind.THREAD_RESOLVED]
    assert resolved.value == 0.5
    assert resolved.weight <= 0.2 * rewards.SIGNAL_WORTH[SignalKind.ACCEPTED].weight


def test_outcome_teaches_proof_at_every_level() -> None:
    """An outcome adds one observation with its target to the proof cell of each level."""
    outcome = Outcome(decision_id="d1", components={}, target=0.25, weights_version="1", created_at=NOW)
    parts = rewards.contributions_of_outcome(decision(), outcome)
    assert tuple(part.level for part in parts) == decision().state.levels()
    assert {(p.strategy, p.factor, p.weight, p.value) for p in parts} == {("swap", Factor.PROOF, 1_000_000, 250_000)}


def test_review_teaches_the_pattern_not_the_action() -> None:
    """However loudly a finding was said, its signals teach the acceptance of its pattern."""
    quiet, loud = (
        rewards.contributions_of_signal(decision(TaskKind.REVIEW, action), signal()) for action in ("summary", "inline")
    )
    assert quiet == loud
    assert {part.strategy for part in quiet} == {rewards.PATTERN}


def test_outsiders_signal_contributes_nothing() -> None:
    """A signal of weight 0 is recorded but adds to no cell."""
    assert rewards.contributions_of_signal(decision(), signal(weight=0.0)) == ()


@given(st.sampled_from(sorted(SignalKind)), st.floats(0.01, 1.0))
def test_retraction_is_the_exact_negative(kind: SignalKind, weight: float) -> None:
    """What a retracting signal contributes and what it takes back cancel out to the millionth."""
    given_, taken = (
        rewards.contributions_of_signal(decision(), signal(kind, weight, retracts)) for retracts in ("", "s0")
    )
    assert len(given_) == len(taken) == (4 if rewards.SIGNAL_WORTH[kind].weight else 0)
    for one, other in zip(given_, taken, strict=True):
        assert replace(one, weight=0, value=0) == replace(other, weight=0, value=0)
        assert (one.weight + other.weight, one.value + other.value) == (0, 0)


@pytest.mark.parametrize(
    ("target", "verdict", "expected"),
    [(None, None, None), (None, 1.0, None), (0.9, None, 0.4), (0.9, 1.0, 0.6), (0.9, 0.0, -0.3)],
)
def test_advantage_is_held_against_what_was_expected(
    target: float | None, verdict: float | None, expected: float | None
) -> None:
    """Before a verdict a repair's proof is compared with the proof expected, after it the product with the value."""
    made = replace(decision(), features=rewards.expectation(proof=0.5, value=0.3))
    found = rewards.advantage(made, target, verdict)
    assert found == (None if expected is None else pytest.approx(expected))
    assert rewards.advantage(decision(), target, verdict) is None


def test_a_finding_has_the_advantage_of_its_acceptance() -> None:
    """Where nothing is to be proven, verdicts alone are compared with the acceptance expected."""
    made = replace(decision(TaskKind.REVIEW, "inline"), features=rewards.expectation(value=0.25))
    said = rewards.acceptance([signal(SignalKind.ACCEPTED), signal(SignalKind.REJECTED), signal(weight=0.0)])
    assert rewards.advantage(made, None, said) == pytest.approx(0.25)
    assert rewards.acceptance([signal(weight=0.0)]) is None


@given(st.lists(st.tuples(st.sampled_from(sorted(SignalKind)), st.integers(0, 10**6), st.sampled_from([1, -1]))))
def test_signals_together_add_what_each_adds(said: list[tuple[SignalKind, int, int]]) -> None:
    """A verdict over many signals contributes, to the millionth, the sum of what each contributes alone."""
    total, together = [0, 0], [0, 0]
    counts = Counter[tuple[SignalKind, int]]()
    for kind, weight, count in said:
        counts[kind, weight] += count
        for part in rewards.contributions_of_signal(decision(), signal(kind, weight / 10**6, "s0" * (count < 0)))[:1]:
            total = [total[0] + part.weight, total[1] + part.value]
    for (kind, weight), count in counts.items():
        for part in rewards.contributions_of_feedback(decision().state, "swap", 0, 1, kind, weight, count)[:1]:
            together = [together[0] + part.weight, together[1] + part.value]
    assert together == total


def test_order_of_contributions_does_not_matter() -> None:
    """Cells are sums of integers: any order of the same signals gives the same table."""
    parts = [part for kind in SignalKind for part in rewards.contributions_of_signal(decision(), signal(kind, 1 / 3))]
    shuffled = random.Random(1).sample(parts, len(parts))
    totals = [{}, {}]
    for total, order in zip(totals, (parts, shuffled), strict=True):
        for part in order:
            weight, value = total.get(part.level, (0, 0))
            total[part.level] = (weight + part.weight, value + part.value)
    assert totals[0] == totals[1]
