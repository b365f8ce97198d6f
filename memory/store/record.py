"""The ledger read in bulk, for evaluations and statistics: a few statements, however long it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from memory.model import Arm, Attempt, Decision, LoggedDecision, Outcome, Signal, SignalKind, TaskKind
from memory.store.database import Database, load
from memory.store.tables import attempts, decisions, outcomes, signals, tasks, withdrawals


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSummary:
    """All decisions of one kind and arm that chose the same.

    `outcomes` is how many of them the tests have judged, `mean_target` the mean target of those, None without any;
    `signals` counts people's signals about them, less those that were taken back.
    """

    kind: TaskKind
    arm: Arm
    chosen: str
    decisions: int
    outcomes: int
    mean_target: float | None
    signals: Mapping[SignalKind, int]


@dataclass(frozen=True, slots=True)
class Record:
    """Decisions with their outcomes, signals and attempts."""

    database: Database

    def logged(self, kind: TaskKind) -> list[LoggedDecision]:
        """Every decision of repairs, or of reviews, oldest first, in one state of the database; no outcome that was taken back."""
        judged = (
            select(decisions.c.body, outcomes.c.body, withdrawals.c.decision_id)
            .select_from(
                decisions.outerjoin(outcomes).outerjoin(withdrawals, withdrawals.c.decision_id == decisions.c.id)
            )
            .where(decisions.c.kind == kind)
        )
        reactions = select(signals.c.body).join(decisions).where(decisions.c.kind == kind)
        with self.database.reading() as connection:
            rows = connection.execute(judged.order_by(decisions.c.created_at, decisions.c.id)).all()
            given = connection.execute(reactions.order_by(signals.c.created_at, signals.c.id)).scalars().all()
        live = _live([load(Signal, body) for body in given])
        found = []
        for decided, outcome, withdrawn in rows:
            decision = load(Decision, decided)
            found.append(
                LoggedDecision(
                    decision=decision,
                    outcome=None if outcome is None or withdrawn else load(Outcome, outcome),
                    signals=tuple(live.get(decision.id, ())),
                )
            )
        return found

    def attempts(self) -> dict[str, list[Attempt]]:
        """The attempts of every repair, by task, in the order they were made."""
        query = select(attempts.c.task_id, attempts.c.body).join(tasks).where(tasks.c.kind == TaskKind.REPAIR)
        made: dict[str, list[Attempt]] = {}
        with self.database.reading() as connection:
            for task_id, body in connection.execute(
                query.order_by(tasks.c.created_at, tasks.c.id, attempts.c.position)
            ):
                made.setdefault(task_id, []).append(load(Attempt, body))
        return made

    def summary(self) -> list[DecisionSummary]:
        """One entry for each kind, arm and choice, in that order."""
        group = (decisions.c.kind, decisions.c.arm, decisions.c.chosen)
        judged = (func.count(outcomes.c.target), func.avg(outcomes.c.target))
        chosen = select(*group, func.count(), *judged).outerjoin(outcomes).group_by(*group)
        taken_back = signals.c.retracts != ""
        given = select(*group, signals.c.kind, taken_back, func.count()).join(signals)
        counts: dict[tuple[str, str, str], dict[SignalKind, int]] = {}
        with self.database.reading() as connection:
            rows = sorted(connection.execute(chosen).all())
            for *key, signal, retraction, count in connection.execute(
                given.group_by(*group, signals.c.kind, taken_back)
            ):
                of_choice = counts.setdefault((key[0], key[1], key[2]), {})
                of_choice[SignalKind(signal)] = of_choice.get(SignalKind(signal), 0) + (-count if retraction else count)
        return [
            DecisionSummary(
                kind=TaskKind(kind),
                arm=Arm(arm),
                chosen=choice,
                decisions=count,
                outcomes=outcome_count,
                mean_target=mean,
                signals=counts.get((kind, arm, choice), {}),
            )
            for kind, arm, choice, count, outcome_count, mean in rows
        ]


def _live(given: Sequence[Signal]) -> dict[str, list[Signal]]:
    """By decision, the signals that were not taken back."""
    taken_back = {signal.retracts for signal in given}
    live: dict[str, list[Signal]] = {}
    for signal in given:
        if not signal.retracts and signal.id not in taken_back:
            live.setdefault(signal.decision_id, []).append(signal)
    return live
