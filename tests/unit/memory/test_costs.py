"""What a model cost, set against what people accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from memory.model import (
    Action,
    Actor,
    Arm,
    Decision,
    LoggedDecision,
    Permission,
    Signal,
    SignalKind,
    State,
    TaskKind,
)
from memory.stats import CostPerAccepted, costs, stats
from memory.store import Store
from memory.store.calls import PurposeCost, Reservation, TaskCost

NOW = datetime(2026, 11, 22, tzinfo=UTC)
SPENT = PurposeCost(
    repository="o/r", purpose="review", tier="strong", calls=2, open=0, failed=0, prompt=900, cached=0, completion=100,
    micros=5000, estimated=0,
)  # fmt: skip


def logged(number: int, task_id: str, kind: TaskKind, chosen: str, *heard: SignalKind) -> LoggedDecision:
    decision = Decision(
        id=f"d{number}",
        task_id=task_id,
        state=State(kind=kind, repository="o/r", label="x", family="y"),
        available=(chosen,),
        probabilities=(1.0,),
        chosen=chosen,
        arm=Arm.LEARNED,
        policy_version="p",
        created_at=NOW,
    )
    return LoggedDecision(decision=decision, outcome=None, signals=tuple(signal(decision.id, each) for each in heard))


def signal(decision_id: str, kind: SignalKind) -> Signal:
    return Signal(
        id=f"{decision_id}-{kind}",
        decision_id=decision_id,
        kind=kind,
        actor=Actor(id=7, login="ada"),
        permission=Permission.WRITE,
        source="x",
        created_at=NOW,
        weights_version="1",
        weight=1.0,
    )


def per_accepted(repaired: Sequence[LoggedDecision], reviewed: Sequence[LoggedDecision]) -> tuple[CostPerAccepted, ...]:
    by_task = [
        TaskCost(task_id="r1", kind="review", tokens=1000, micros=5000),
        TaskCost(task_id="r2", kind="review", tokens=1000, micros=7000),
        TaskCost(task_id="f1", kind="repair", tokens=600, micros=30),
        TaskCost(task_id="lost", kind="", tokens=600, micros=30),
    ]
    found = costs([SPENT], by_task, repaired, reviewed)
    assert found is not None
    assert found.calls == (SPENT,)
    return found.per_accepted


def test_without_calls_there_are_no_costs(store: Store) -> None:
    """Nobody who has no model reads of its price, in words or as JSON."""
    assert costs([], [], [], []) is None
    assert "costs" not in stats(store, 0.1).to_json()


def test_costs_are_set_against_what_was_accepted() -> None:
    """Also the tasks that led to nothing are paid by those that did; what was done without a model is not counted."""
    reviewed = [
        logged(1, "r1", TaskKind.REVIEW, Action.INLINE, SignalKind.FINDING_FIXED, SignalKind.REACTION_UP),
        logged(2, "r1", TaskKind.REVIEW, Action.INLINE, SignalKind.ACCEPTED),
        logged(3, "r1", TaskKind.REVIEW, Action.INLINE, SignalKind.REJECTED, SignalKind.FINDING_LEFT),
        logged(4, "r1", TaskKind.REVIEW, Action.HOLD, SignalKind.FINDING_FIXED),
        logged(5, "other", TaskKind.REVIEW, Action.INLINE, SignalKind.FINDING_FIXED),
    ]
    repaired = [
        logged(6, "f1", TaskKind.REPAIR, "a", SignalKind.FIX_MERGED),
        logged(7, "f1", TaskKind.REPAIR, "b", SignalKind.ACCEPTED),
        logged(8, "f2", TaskKind.REPAIR, "b", SignalKind.FIX_MERGED),
    ]
    finding, fix = per_accepted(repaired, reviewed)
    assert finding == CostPerAccepted(
        what="finding", tasks=2, accepted=2, tokens=2000, micros=12_000, tokens_each=1000.0, micros_each=6000.0
    )
    assert fix == CostPerAccepted(
        what="fix", tasks=1, accepted=1, tokens=600, micros=30, tokens_each=600.0, micros_each=30.0
    )


def test_what_nobody_accepted_has_no_price() -> None:
    """None, not infinity."""
    assert [each.tokens_each for each in per_accepted([], [])] == [None, None]


def test_statistics_tell_costs_where_a_model_was_asked(store: Store) -> None:
    """Read from the ledger and the accounts."""
    wanted = Reservation(
        id="c1", task_id="t1", repository="o/r", purpose="repair", tier="weak", model="m", tokens=9, micros=2,
        created_at=NOW,
    )  # fmt: skip
    store.calls.reserve(wanted, [])
    store.calls.reserve(replace(wanted, id="c2"), [])
    store.calls.settle("c1", prompt=4, cached=1, completion=2, micros=1)
    found = stats(store, 0.1).costs
    assert found is not None
    assert [(each.tier, each.calls, each.open, each.prompt) for each in found.calls] == [("weak", 2, 1, 4)]
    assert "costs" in stats(store, 0.1).to_json()
