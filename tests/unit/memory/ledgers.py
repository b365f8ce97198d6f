"""Ledger entries to evaluate: made in a line each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memory.model import (
    Actor,
    Arm,
    Decision,
    LoggedDecision,
    Outcome,
    Permission,
    Signal,
    SignalKind,
    State,
    TaskKind,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
ADA = Actor(id=1, login="ada")
BEN = Actor(id=2, login="ben")


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


def logged(
    number: int,
    odds: dict[str, float],
    chosen: str,
    *,
    proven: bool | None = None,
    said: tuple[Signal, ...] = (),
    task: str = "",
    arm: Arm = Arm.LEARNED,
    kind: TaskKind = TaskKind.REPAIR,
    version: str = "v1",
    repository: str = "o/r",
    label: str = "KeyError",
    tried: tuple[str, ...] = (),
) -> LoggedDecision:
    """Decision `number`, made at that minute and concluded half a minute later."""
    decision = Decision(
        id=f"d{number}",
        task_id=task or f"t{number}",
        state=State(kind=kind, repository=repository, label=label, family="lookup", tried=tried),
        available=tuple(odds),
        probabilities=tuple(odds.values()),
        chosen=chosen,
        arm=arm,
        policy_version=version,
        created_at=at(number),
    )
    outcome = None if proven is None else judged(decision, proven=proven)
    return LoggedDecision(decision=decision, outcome=outcome, signals=said)


def judged(decision: Decision, *, proven: bool) -> Outcome:
    return Outcome(
        decision_id=decision.id,
        components={"suite_green": float(proven)},
        target=float(proven),
        weights_version="1",
        created_at=decision.created_at + timedelta(seconds=30),
    )


def said(
    number: int,
    kind: SignalKind = SignalKind.ACCEPTED,
    actor: Actor = ADA,
    *,
    weight: float = 1.0,
    minute: float | None = None,
) -> Signal:
    """What `actor` said about decision `number`."""
    return Signal(
        id=f"s{number}-{actor.id}",
        decision_id=f"d{number}",
        kind=kind,
        actor=actor,
        permission=Permission.WRITE,
        source=f"comment:{number}-{actor.id}",
        created_at=at(number + 0.9 if minute is None else minute),
        weights_version="1",
        weight=weight,
    )
