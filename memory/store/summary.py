"""What was chosen, how often, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, func, select

from memory.model import Arm, SignalKind, TaskKind
from memory.store.tables import decisions, outcomes, signals

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSummary:
    """All decisions of one kind and arm that chose the same.

    `outcomes` is how many of them the tests have judged, `mean_target` the mean target of those, None without any;
    `signals` counts what people did about them, less what they took back.
    """

    kind: TaskKind
    arm: Arm
    chosen: str
    decisions: int
    outcomes: int
    mean_target: float | None
    signals: Mapping[SignalKind, int]


@dataclass(slots=True)
class _Tally:
    decisions: int
    outcomes: int
    mean_target: float | None
    signals: dict[SignalKind, int] = field(default_factory=dict)


def summarise(connection: Connection) -> list[DecisionSummary]:
    """One entry for each kind, arm and choice, in that order."""
    tallies: dict[Key, _Tally] = {}
    group = (decisions.c.kind, decisions.c.arm, decisions.c.chosen)
    judged = (func.count(outcomes.c.target), func.avg(outcomes.c.target))
    query = select(*group, func.count(), *judged).outerjoin(outcomes).group_by(*group)
    for kind, arm, chosen, count, outcome_count, mean in connection.execute(query):
        tallies[kind, arm, chosen] = _Tally(decisions=count, outcomes=outcome_count, mean_target=mean)
    _count_signals(connection, tallies)
    return [_summary(key, tallies[key]) for key in sorted(tallies)]


def _count_signals(connection: Connection, tallies: dict[Key, _Tally]) -> None:
    group = (decisions.c.kind, decisions.c.arm, decisions.c.chosen, signals.c.kind)
    taken_back = signals.c.retracts != ""
    query = select(*group, taken_back, func.count()).join(signals).group_by(*group, taken_back)
    for kind, arm, chosen, signal, retraction, count in connection.execute(query):
        counts = tallies[kind, arm, chosen].signals
        kind_of_signal = SignalKind(signal)
        counts[kind_of_signal] = counts.get(kind_of_signal, 0) + (-count if retraction else count)


def _summary(key: Key, tally: _Tally) -> DecisionSummary:
    return DecisionSummary(
        kind=TaskKind(key[0]),
        arm=Arm(key[1]),
        chosen=key[2],
        decisions=tally.decisions,
        outcomes=tally.outcomes,
        mean_target=tally.mean_target,
        signals=tally.signals,
    )
