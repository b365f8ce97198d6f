"""Decisions, what the tests said of them, and what people did about them: append-only, and the source of all learning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Select, Table, func, select

from memory.model import (
    Cell,
    Contribution,
    Decision,
    Factor,
    FeedbackTotal,
    Level,
    Outcome,
    OutcomeTotal,
    Signal,
    SignalKind,
    TaskKind,
)
from memory.store import cells, entries, folding
from memory.store.bodies import load
from memory.store.engine import Database, in_batches
from memory.store.pools import QUORUM
from memory.store.summary import DecisionSummary, summarise
from memory.store.tables import decisions, outcomes, signals, withdrawals

Judged = tuple[Outcome, Iterable[Contribution]]
Heard = tuple[Signal, Iterable[Contribution]]


@dataclass(frozen=True, slots=True)
class Ledger:
    """Every append adds its contributions to the cells in the same transaction."""

    database: Database

    def append_decision(self, decision: Decision) -> bool:
        """Append a decision; False when its id is known. As quick as can be: whoever chooses waits for it."""
        return entries.insert_soon(self.database, decisions, entries.of_decision(decision))

    def append_decisions(self, new: Iterable[Decision]) -> int:
        """Append decisions; one whose id is known is left as it is. Returns how many were new."""
        with self.database.writing() as connection:
            return len(entries.insert(connection, decisions, [entries.of_decision(each) for each in new]))

    def append_outcome(self, outcome: Outcome, contributions: Iterable[Contribution]) -> bool:
        """Append what the tests said; False, and nothing added, when this decision's outcome is known."""
        return self.append_outcomes([(outcome, contributions)]) == 1

    def append_outcomes(self, judged: Iterable[Judged]) -> int:
        """Append several outcomes, each with what it adds, all or none; returns how many were new."""
        by_id = {outcome.decision_id: (outcome, parts) for outcome, parts in judged}
        with self.database.writing() as connection:
            entries.require_decisions(connection, by_id)
            rows = [entries.of_outcome(outcome) for outcome, _ in by_id.values()]
            new = entries.insert(connection, outcomes, rows)
            cells.add(connection, (part for key in new for part in by_id[key][1]))
            return len(new)

    def append_signal(self, signal: Signal, contributions: Iterable[Contribution]) -> bool:
        """Append what somebody did; False, and nothing added, when the same event about this decision is known."""
        return self.append_signals([(signal, contributions)]) == 1

    def append_signals(self, heard: Iterable[Heard]) -> int:
        """Append several signals, each with what it adds, all or none; returns how many were new."""
        by_id = {signal.id: (signal, parts) for signal, parts in heard}
        with self.database.writing() as connection:
            entries.require_decisions(connection, (signal.decision_id for signal, _ in by_id.values()))
            rows = [entries.of_signal(signal) for signal, _ in by_id.values()]
            new = entries.insert(connection, signals, rows)
            cells.add(connection, (part for key in new for part in by_id[key][1]))
            return len(new)

    def withdraw(self, judged: Iterable[Judged], now: datetime) -> int:
        """Append that these outcomes are to count no longer, each with what that adds; returns how many still counted."""
        by_id = {outcome.decision_id: parts for outcome, parts in judged}
        with self.database.writing() as connection:
            rows: list[entries.Row] = [{"decision_id": key, "created_at": now} for key in by_id]
            new = entries.insert(connection, withdrawals, rows)
            cells.add(connection, (part for key in new for part in by_id[key]))
            return len(new)

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

    def taught(self, teacher: int, label: str, since: datetime, kinds: Collection[SignalKind]) -> tuple[int, int]:
        """How many signals of these kinds, with weight, an account has given since, taken back or not; and of them on `label`."""
        on_label = func.count().filter(decisions.c.label == label)
        query = select(func.count(), on_label).select_from(signals).join(decisions)
        given = (signals.c.actor == teacher, signals.c.created_at > since, signals.c.kind.in_(map(str, kinds)))
        with self.database.glancing() as connection:
            row = connection.execute(
                query.where(*given, signals.c.retracts == "", signals.c.weight_millionths > 0)
            ).one()
        return row[0], row[1]

    def standing(
        self, *, teacher: int | None = None, repository: str = "", decision_id: str = ""
    ) -> tuple[tuple[Decision, Signal], ...]:
        """Signals with weight that were not taken back, with their decisions, oldest first; narrowed by what is given."""
        retraction = signals.alias("retraction")
        taken_back = select(retraction.c.id).where(retraction.c.retracts == signals.c.id).exists()
        query = select(decisions.c.body, signals.c.body).join_from(signals, decisions)
        query = query.where(signals.c.retracts == "", signals.c.weight_millionths > 0, ~taken_back)
        if teacher is not None:
            query = query.where(signals.c.actor == teacher)
        with self.database.reading() as connection:
            rows = connection.execute(
                _about(query, repository, decision_id).order_by(signals.c.created_at, signals.c.id)
            )
            return tuple((load(Decision, decision), load(Signal, signal)) for decision, signal in rows)

    def judged(self, *, repository: str = "", decision_id: str = "") -> tuple[tuple[Decision, Outcome], ...]:
        """Outcomes that were not withdrawn, with their decisions, oldest first; narrowed by what is given."""
        withdrawn = select(withdrawals).where(withdrawals.c.decision_id == outcomes.c.decision_id).exists()
        query = select(decisions.c.body, outcomes.c.body).join_from(outcomes, decisions).where(~withdrawn)
        query = query.order_by(outcomes.c.created_at, outcomes.c.decision_id)
        with self.database.reading() as connection:
            rows = connection.execute(_about(query, repository, decision_id))
            return tuple((load(Decision, decision), load(Outcome, outcome)) for decision, outcome in rows)

    def accounts(self, login: str) -> list[int]:
        """The ids of accounts that taught under this name, as it was written then."""
        query = select(signals.c.actor).where(signals.c.login == login).distinct().order_by(signals.c.actor)
        with self.database.reading() as connection:
            return list(connection.execute(query).scalars())

    def cells(
        self, levels: Sequence[Level], *, repository: str, quorum: int = QUORUM
    ) -> Mapping[tuple[Level, str, Factor], Cell]:
        """What these levels hold for a repository, by level, strategy and factor.

        Its own evidence in full; at shared levels also that of others, each up to a quota, where a quorum of them has any.
        """
        return cells.read(self.database, levels, repository, quorum)

    def totals(self, levels: Sequence[Level]) -> Mapping[tuple[Level, str, Factor], Cell]:
        """What these levels hold of everyone together, without quota or quorum: for statistics, not for choices."""
        with self.database.glancing() as connection:
            return cells.totals(connection, levels)

    def cells_digest(self) -> str:
        """A SHA-256 that two tables share only if they are the same, bit for bit."""
        with self.database.reading() as connection:
            return cells.digest(connection)

    def rebuild(
        self,
        of_judgement: Callable[[OutcomeTotal], Iterable[Contribution]],
        of_verdict: Callable[[FeedbackTotal], Iterable[Contribution]],
    ) -> int:
        """Derive the table anew from the whole ledger, in one transaction; returns how many entries it was derived from.

        Appends wait meanwhile, choices do not.
        """
        with self.database.writing() as connection:
            cells.lock(connection)
            sums: cells.Sums = {}
            for judgement in folding.judgements(connection):
                cells.fold(sums, of_judgement(judgement))
            for verdict in folding.verdicts(connection):
                cells.fold(sums, of_verdict(verdict))
            cells.replace(connection, sums)
            return sum(_count(connection, table) for table in (outcomes, signals, withdrawals))

    def decision_count(self) -> int:
        """How many decisions there are."""
        with self.database.reading() as connection:
            return _count(connection, decisions)

    def outcome_count(self) -> int:
        """How many decisions have an outcome, withdrawn or not."""
        with self.database.reading() as connection:
            return _count(connection, outcomes)

    def signal_count(self) -> int:
        """How many signals there are, retractions included."""
        with self.database.reading() as connection:
            return _count(connection, signals)

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


def _about(query: Select[str, str], repository: str, decision_id: str) -> Select[str, str]:
    if repository:
        query = query.where(decisions.c.repository == repository)
    if decision_id:
        query = query.where(decisions.c.id == decision_id)
    return query


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()
