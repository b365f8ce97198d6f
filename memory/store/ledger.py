"""Decisions, what the tests said of them, and what people did about them: append-only, and the source of all learning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection, Select, func, select, text

from memory.errors import StoreError
from memory.model import Cell, Contribution, Decision, Factor, Level, Outcome, Signal, TaskKind
from memory.store import cells
from memory.store.bodies import dump, load
from memory.store.engine import Database, in_batches, insert_new
from memory.store.summary import DecisionSummary, summarise
from memory.store.tables import decisions, outcomes, signals

ContributionsOfOutcome = Callable[[Decision, Outcome], Iterable[Contribution]]
ContributionsOfSignal = Callable[[Decision, Signal], Iterable[Contribution]]

Entry = TypeVar("Entry", Outcome, Signal)

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Ledger:
    """Every append adds its contributions to the cells in the same transaction."""

    database: Database

    def append_decisions(self, new: Iterable[Decision]) -> int:
        """Append decisions; one whose id is known is left as it is. Returns how many were new."""
        with self.database.writing() as connection:
            in_lock_order = sorted(new, key=lambda decision: decision.id)
            return sum(insert_new(connection, decisions, _decision_row(decision)) for decision in in_lock_order)

    def append_outcome(self, outcome: Outcome, contributions: Iterable[Contribution]) -> bool:
        """Append what the tests said; False, and nothing added, when this decision's outcome is known."""
        row: dict[str, object] = {
            "decision_id": outcome.decision_id,
            "target": outcome.target,
            "created_at": outcome.created_at,
            "body": dump(outcome),
        }
        with self.database.writing() as connection:
            _require_decision(connection, outcome.decision_id)
            new = insert_new(connection, outcomes, row)
            if new:
                cells.add(connection, contributions)
            return new

    def append_signal(self, signal: Signal, contributions: Iterable[Contribution]) -> bool:
        """Append what somebody did; False, and nothing added, when the same event about this decision is known."""
        with self.database.writing() as connection:
            _require_decision(connection, signal.decision_id)
            new = insert_new(connection, signals, _signal_row(signal))
            if new:
                cells.add(connection, contributions)
            return new

    def decision(self, decision_id: str) -> Decision | None:
        """The decision with this id."""
        return next(iter(self._decisions(select(decisions.c.body).where(decisions.c.id == decision_id))), None)

    def decisions_about(self, subject: str) -> list[Decision]:
        """Decisions about one finding's fingerprint, oldest first."""
        return self._decisions(_oldest_first().where(decisions.c.subject == subject))

    def decisions_of_task(self, task_id: str) -> list[Decision]:
        """A task's decisions, oldest first."""
        return self._decisions(_oldest_first().where(decisions.c.task_id == task_id))

    def decisions_of_kind(self, kind: TaskKind) -> list[Decision]:
        """Every decision of repairs, or of reviews, oldest first."""
        return self._decisions(_oldest_first().where(decisions.c.kind == kind))

    def outcome(self, decision_id: str) -> Outcome | None:
        """What the tests said of a decision, if anything yet."""
        with self.database.reading() as connection:
            query = select(outcomes.c.body).where(outcomes.c.decision_id == decision_id)
            body = connection.execute(query).scalar_one_or_none()
        return None if body is None else load(Outcome, body)

    def signals(self, decision_id: str) -> list[Signal]:
        """Everything that was done about a decision, retractions included, oldest first."""
        return self._signals(_signals_oldest_first().where(signals.c.decision_id == decision_id))

    def live_signals(self, decision_ids: Sequence[str]) -> list[Signal]:
        """What was done about these decisions and not taken back, oldest first."""
        retraction = signals.alias("retraction")
        taken_back = select(retraction.c.id).where(retraction.c.retracts == signals.c.id).exists()
        query = _signals_oldest_first().where(signals.c.retracts == "", ~taken_back)
        batches = in_batches(dict.fromkeys(decision_ids))
        live = [each for ids in batches for each in self._signals(query.where(signals.c.decision_id.in_(ids)))]
        return sorted(live, key=lambda signal: (signal.created_at, signal.id))

    def cells(self, levels: Sequence[Level]) -> Mapping[tuple[Level, str, Factor], Cell]:
        """The cells at these levels that hold any evidence, by level, strategy and factor."""
        with self.database.reading() as connection:
            return cells.read(connection, levels)

    def cells_digest(self) -> str:
        """A SHA-256 that two tables share only if they are the same, bit for bit."""
        with self.database.reading() as connection:
            return cells.digest(connection)

    def rebuild(self, of_outcome: ContributionsOfOutcome, of_signal: ContributionsOfSignal) -> int:
        """Derive the cells anew from the whole ledger, in one transaction; returns how many entries were read.

        Appends wait meanwhile. Retractions are given to `of_signal` like any signal.
        """
        with self.database.writing() as connection:
            if connection.dialect.name == "postgresql":  # SQLite has one writer at a time anyhow
                connection.execute(text("LOCK TABLE cells IN EXCLUSIVE MODE"))
            cells.clear(connection)
            sums: cells.Sums = {}
            judged = select(outcomes.c.body, decisions.c.body).join(decisions)
            heard = select(signals.c.body, decisions.c.body).join(decisions)
            read = _fold(connection, judged, Outcome, of_outcome, sums)
            read += _fold(connection, heard, Signal, of_signal, sums)
            cells.write(connection, sums)
            return read

    def decision_count(self) -> int:
        """How many decisions there are."""
        with self.database.reading() as connection:
            return connection.execute(select(func.count()).select_from(decisions)).scalar_one()

    def outcome_count(self) -> int:
        """How many decisions have an outcome."""
        with self.database.reading() as connection:
            return connection.execute(select(func.count()).select_from(outcomes)).scalar_one()

    def signal_count(self) -> int:
        """How many signals there are, retractions included."""
        with self.database.reading() as connection:
            return connection.execute(select(func.count()).select_from(signals)).scalar_one()

    def summary(self) -> list[DecisionSummary]:
        """What was chosen in which arm, how often, and what came of it, in the order of kind, arm and choice."""
        with self.database.reading() as connection:
            return summarise(connection)

    def _decisions(self, query: Select[str]) -> list[Decision]:
        with self.database.reading() as connection:
            return [load(Decision, body) for body in connection.execute(query).scalars()]

    def _signals(self, query: Select[str]) -> list[Signal]:
        with self.database.reading() as connection:
            return [load(Signal, body) for body in connection.execute(query).scalars()]


def _oldest_first() -> Select[str]:
    return select(decisions.c.body).order_by(decisions.c.created_at, decisions.c.id)


def _signals_oldest_first() -> Select[str]:
    return select(signals.c.body).order_by(signals.c.created_at, signals.c.id)


def _require_decision(connection: Connection, decision_id: str) -> None:
    if connection.execute(select(decisions.c.id).where(decisions.c.id == decision_id)).first() is None:
        raise StoreError(f"no decision {decision_id}; append the decision before what came of it")


def _decision_row(decision: Decision) -> dict[str, object]:
    return {
        "id": decision.id,
        "task_id": decision.task_id,
        "subject": decision.subject,
        "kind": decision.state.kind,
        "repository": decision.state.repository,
        "arm": decision.arm,
        "chosen": decision.chosen,
        "created_at": decision.created_at,
        "body": dump(decision),
    }


def _signal_row(signal: Signal) -> dict[str, object]:
    return {
        "id": signal.id,
        "decision_id": signal.decision_id,
        "kind": signal.kind,
        "source": signal.source,
        "retracts": signal.retracts,
        "created_at": signal.created_at,
        "body": dump(signal),
    }


def _fold(
    connection: Connection,
    query: Select[str, str],
    kind: type[Entry],
    contributions_of: Callable[[Decision, Entry], Iterable[Contribution]],
    sums: cells.Sums,
) -> int:
    """Add to `sums` what follows from each (entry, decision) that `query` finds; holds one batch of them at a time."""
    read = 0
    with connection.execute(query.execution_options(yield_per=_BATCH)) as rows:
        for entry, decision in rows:
            cells.fold(sums, contributions_of(load(Decision, decision), load(kind, entry)))
            read += 1
    return read
