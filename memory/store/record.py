"""The ledger read in bulk, for evaluations and audits: a few statements, however long it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from memory.model import Attempt, Decision, LoggedDecision, Outcome, Signal, TaskKind
from memory.store.bodies import load
from memory.store.engine import Database
from memory.store.tables import attempts, decisions, outcomes, signals, tasks, withdrawals


@dataclass(frozen=True, slots=True)
class Record:
    """What was decided, with all that came of it."""

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
        heard = select(signals.c.body).join(decisions).where(decisions.c.kind == kind)
        with self.database.reading() as connection:
            rows = connection.execute(judged.order_by(decisions.c.created_at, decisions.c.id)).all()
            said = connection.execute(heard.order_by(signals.c.created_at, signals.c.id)).scalars().all()
        live = _live([load(Signal, body) for body in said])
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


def _live(said: Sequence[Signal]) -> dict[str, list[Signal]]:
    """By decision, what was not taken back."""
    taken_back = {signal.retracts for signal in said}
    live: dict[str, list[Signal]] = {}
    for signal in said:
        if not signal.retracts and signal.id not in taken_back:
            live.setdefault(signal.decision_id, []).append(signal)
    return live
