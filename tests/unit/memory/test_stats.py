from __future__ import annotations

import json
import random
from datetime import UTC, datetime

import pytest

from memory.model import (
    Action,
    Actor,
    Arm,
    Attempt,
    AttemptOutcome,
    Finding,
    Permission,
    Severity,
    Sighting,
    SignalKind,
    State,
    Task,
    TaskKind,
)
from memory.policy import review_policy
from memory.policy.learner import Learner
from memory.policy.q_table import PRESENT
from memory.stats import MissedEarlier, mean_difference, rate_difference, stats
from memory.store import Store

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def repair(store: Store, learner: Learner, number: int, arm: Arm, tries: list[tuple[AttemptOutcome, int]]) -> None:
    task = Task(id=f"t{number}", kind=TaskKind.REPAIR, repository="o/r", sha="s", number=number, created_at=NOW)
    store.tasks.add(task)
    state = State(kind=TaskKind.REPAIR, repository="o/r", label="KeyError", family="lookup")
    for outcome, candidates in tries:
        decision = learner.decide(task.id, state, ("a", "b"), arm=arm, prior={})
        attempt = Attempt(
            decision_id=decision.id, strategy=decision.chosen, probability=decision.probability,
            candidates=candidates, outcome=outcome,
        )  # fmt: skip
        store.tasks.add_attempt(task.id, attempt)


def test_nothing_measured_is_said_so(store: Store) -> None:
    """An empty ledger gives no rate, no difference and no claim."""
    counted = stats(store, 0.1)
    assert [arm.rate for arm in counted.arms] == [None, None]
    assert counted.fix_rate.difference is None
    assert "not known yet" in counted.fix_rate.verdict
    assert all("not known yet" in each.verdict for each in counted.uplift)
    assert (counted.version, counted.since) == (PRESENT.version, "")
    assert [(each.action, each.rate, each.high) for each in counted.suppression] == [
        ("hold", None, 1.0),
        ("summary", None, 1.0),
    ]


def test_repairs_are_counted_by_arm(store: Store, learner: Learner) -> None:
    """A task counts once; candidates to the first fix add up over its attempts; unfixed tasks count as tasks only."""
    proven, nothing = AttemptOutcome.PROVEN, AttemptOutcome.NOTHING_PLAUSIBLE
    repair(store, learner, 1, Arm.LEARNED, [(nothing, 30), (proven, 10)])
    repair(store, learner, 2, Arm.LEARNED, [(proven, 20)])
    repair(store, learner, 3, Arm.LEARNED, [(nothing, 99)])
    repair(store, learner, 4, Arm.CONTROL, [(proven, 80)])
    learned, control = stats(store, 0.1).arms
    assert (learned.arm, learned.tasks, learned.fixed, learned.mean_candidates) == ("learned", 3, 2, 30)
    assert (control.arm, control.tasks, control.fixed, control.mean_candidates) == ("control", 1, 1, 80)
    json.dumps(stats(store, 0.1).to_json())


def test_patterns_and_signals_are_counted(store: Store, learner: Learner) -> None:
    """Acceptance by rule is the weighted mean of verdicts; what was taken back does not count."""
    finding = Finding(
        fingerprint="f", path="a.py", line=1, end_line=1, tool="ruff", rule="B006", category="style",
        severity=Severity.MINOR, message="m", anchor="x",
    )  # fmt: skip
    verdicts = [SignalKind.REJECTED, SignalKind.REJECTED, SignalKind.SUGGESTION_APPLIED, SignalKind.REACTION_DOWN]
    for i, kind in enumerate(verdicts):
        decision = review_policy.decide_posting(
            learner, "t", "o/r", finding, arm=Arm.LEARNED, suggestion_proven=True, slots_left=9
        ).decision
        learner.record_signal(decision.id, kind, Actor(id=1, login="ada"), Permission.WRITE, f"comment:{i}")
    learner.retract(decision.id, SignalKind.REACTION_DOWN, "comment:3")
    counted = stats(store, 0.1)
    (pattern,) = counted.patterns
    assert (pattern.rule, pattern.decisions, pattern.verdicts) == ("B006", 4, 3.0)
    assert pattern.acceptance == pytest.approx(1 / 3)
    assert counted.signals == {"rejected": 2, "suggestion_applied": 1}
    assert sum(counted.actions.values()) == 4


def test_newcombe_reproduces_the_published_example() -> None:
    """56 of 70 against 48 of 80 gives 0.0524 to 0.3339 (Newcombe 1998, table II)."""
    difference = rate_difference(56, 70, 48, 80)
    assert (difference.low, difference.high) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))
    assert "better" in difference.verdict


def test_a_null_result_is_reported_as_one() -> None:
    """Equal arms, and small ones, are said to show no difference."""
    assert "no difference shown" in rate_difference(5, 10, 5, 10).verdict
    rng = random.Random(1)
    samples = [[rng.gauss(50, 20) for _ in range(20)] for _ in range(2)]
    assert "no difference shown" in mean_difference(*samples).verdict


def test_fewer_candidates_are_better() -> None:
    """For candidates a negative difference speaks for learning, a positive one against it."""
    low, high = [10.0, 11.0, 12.0, 9.0], [50.0, 52.0, 49.0, 51.0]
    assert "learning is better" in mean_difference(low, high).verdict
    assert "learning is worse" in mean_difference(high, low).verdict
    assert mean_difference(low, [50.0]).difference is None


def test_what_was_missed_is_counted(store: Store, learner: Learner) -> None:
    """A finding that was said a round late counts, and with it whether its file was read in time; a held one does not."""
    finding = Finding(
        fingerprint="f", path="a.py", line=1, end_line=1, tool="ruff", rule="B006", category="bug",
        severity=Severity.MAJOR, message="m", anchor="x",
    )  # fmt: skip
    late = (("", ""), ("1" * 40, ""), ("1" * 40, "it does not parse"), ("1" * 40, ""))
    for number, (missed_in, why) in enumerate(late):
        decision = review_policy.decide_posting(
            learner, f"t{number}", "o/r", finding, arm=Arm.LEARNED, suggestion_proven=False, slots_left=1
        ).decision
        store.posts.add_sightings(
            [
                Sighting(
                    repository="o/r", number=1, sha="2" * 40, decision_id=decision.id, finding=finding,
                    action=Action.HOLD if number == 3 else Action.INLINE, created_at=NOW,
                    missed_in=missed_in, missed_because=why,
                )
            ]
        )  # fmt: skip
    assert stats(store, 0.1).missed == MissedEarlier(findings=2, unread=1, of=3)
