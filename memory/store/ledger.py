"""Decisions, their outcomes by the tests, and signals of people about them: append-only, and the source of all learning."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Exists, Select, case, func, select

from memory.errors import StoreError
from memory.model import (
    Cell,
    Contribution,
    Decision,
    Factor,
    Level,
    LoggedDecision,
    Outcome,
    PolicyEvent,
    Signal,
    SignalKind,
    TaskKind,
    period_of,
)
from memory.store import pools, totals
from memory.store.database import (
    Database,
    Noun,
    Row,
    in_batches,
    insert_new,
    insert_several,
    known_among,
    load,
    row_of,
)
from memory.store.documents import Documents, document_row, upsert
from memory.store.evidence import MILLION, QUORUM
from memory.store.tables import decisions, outcomes, policy_events, signals, withdrawals
from memory.store.totals import OfOutcomes, OfSignals

JudgedOutcome = tuple[Outcome, Iterable[Contribution]]
GivenSignal = tuple[Signal, Iterable[Contribution]]

_DERIVED, _BY = "table_derived", "weights"
"""The document that names the weights by which the table was derived."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Every append adds its contributions to the cells in the same transaction."""

    database: Database

    def append_decision(self, decision: Decision) -> bool:
        """Append a decision; False when its id is known."""
        names = ("kind", "repository", "label", "family", "place", "after")
        state = {name: getattr(decision.state, name) for name in names}
        return self.database.insert(decisions, row_of(decisions, decision, **state))

    def append_outcome(self, outcome: Outcome, contributions: Iterable[Contribution]) -> bool:
        """Append a verdict of the tests; False, and nothing added, when this decision's outcome is known."""
        with self.database.writing() as connection:
            _require_decisions(connection, [outcome.decision_id])
            numbers = {f"{name}_millionths": round(getattr(outcome, name) * MILLION) for name in ("target", "credit")}
            row = row_of(outcomes, outcome, **numbers)
            new = insert_new(connection, outcomes, row)
            if new:
                totals.add(connection, contributions)
            return new

    def append_signal(self, signal: Signal, contributions: Iterable[Contribution]) -> bool:
        """Append a signal; False, and nothing added, when the same event about this decision is known."""
        return self.append_signals([(signal, contributions)]) == 1

    def append_signals(self, given: Iterable[GivenSignal]) -> int:
        """Append several signals, each with its contributions, all or none; returns how many were new."""
        by_id = {signal.id: (signal, parts) for signal, parts in given}
        with self.database.writing() as connection:
            _require_decisions(connection, (signal.decision_id for signal, _ in by_id.values()))
            rows = [
                row_of(
                    signals,
                    signal,
                    actor=signal.actor.id,
                    login=signal.actor.login,
                    weight_millionths=round(signal.weight * MILLION),
                )
                for signal, _ in by_id.values()
            ]
            new = insert_several(connection, signals, rows)
            totals.add(connection, (part for key in new for part in by_id[key][1]))
            return len(new)

    def withdraw(self, judged: Iterable[JudgedOutcome], now: datetime) -> int:
        """Append that these outcomes count no longer, each with its contributions; returns how many still counted."""
        by_id = {outcome.decision_id: parts for outcome, parts in judged}
        with self.database.writing() as connection:
            rows: list[Row] = [{"decision_id": key, "created_at": now} for key in by_id]
            new = insert_several(connection, withdrawals, rows)
            totals.add(connection, (part for key in new for part in by_id[key]))
            return len(new)

    def decision(self, decision_id: str) -> Decision | None:
        return self.database.noun(Decision, select(decisions.c.body).where(decisions.c.id == decision_id))

    def decisions_about(self, subject: str) -> list[Decision]:
        """Decisions about one finding's fingerprint, oldest first."""
        return self.database.nouns(Decision, _oldest_first().where(decisions.c.subject == subject))

    def decisions_of_task(self, task_id: str) -> list[Decision]:
        """A task's decisions, oldest first."""
        return self.database.nouns(Decision, _oldest_first().where(decisions.c.task_id == task_id))

    def latest(self, repository: str) -> Decision | None:
        """The last decision in a repository, if there is any."""
        query = select(decisions.c.body).where(decisions.c.repository == repository)
        newest = query.order_by(decisions.c.created_at.desc(), decisions.c.id.desc()).limit(1)
        return self.database.noun(Decision, newest)

    def outcome(self, decision_id: str) -> Outcome | None:
        return self.database.noun(Outcome, select(outcomes.c.body).where(outcomes.c.decision_id == decision_id))

    def signals(self, decision_id: str) -> list[Signal]:
        """All signals about a decision, retractions included, oldest first."""
        return self.database.nouns(Signal, _signals_oldest_first().where(signals.c.decision_id == decision_id))

    def live_signals(self, decision_ids: Sequence[str]) -> list[Signal]:
        """Signals about these decisions that were not taken back, oldest first."""
        query = _signals_oldest_first().where(signals.c.retracts == "", ~_taken_back())
        asked = (query.where(signals.c.decision_id.in_(ids)) for ids in in_batches(dict.fromkeys(decision_ids)))
        live = [each for some in asked for each in self.database.nouns(Signal, some)]
        return sorted(live, key=lambda signal: (signal.created_at, signal.id))

    def live_signals_of(self, decision_ids: Sequence[str]) -> Mapping[str, list[Signal]]:
        """The same by decision; none for a decision without any."""
        found: defaultdict[str, list[Signal]] = defaultdict(list)
        for signal in self.live_signals(decision_ids):
            found[signal.decision_id].append(signal)
        return found

    def taught(self, teacher: int, label: str, since: datetime, kinds: Collection[SignalKind]) -> tuple[int, int]:
        """How many signals of these kinds, with weight, an account has given since, taken back or not; and of them on `label`."""
        on_label = func.count().filter(decisions.c.label == label)
        query = select(func.count(), on_label).select_from(signals).join(decisions)
        given = (signals.c.actor == teacher, signals.c.created_at > since, signals.c.kind.in_(map(str, kinds)))
        query = query.where(*given, signals.c.retracts == "", signals.c.weight_millionths > 0)
        ((of_all, of_label),) = self.database.rows(query)
        return of_all, of_label

    def standing(
        self, *, teacher: int | None = None, repository: str = "", decision_id: str = ""
    ) -> tuple[tuple[Decision, Signal], ...]:
        """Signals with weight that were not taken back, with their decisions, oldest first; narrowed by what is given."""
        query = select(decisions.c.body, signals.c.body).join_from(signals, decisions)
        query = query.where(signals.c.retracts == "", signals.c.weight_millionths > 0, ~_taken_back())
        if teacher is not None:
            query = query.where(signals.c.actor == teacher)
        query = query.order_by(signals.c.created_at, signals.c.id)
        return self._with_decisions(Signal, _about(query, repository, decision_id))

    def judged(self, *, repository: str = "", decision_id: str = "") -> tuple[tuple[Decision, Outcome], ...]:
        """Outcomes that were not withdrawn, with their decisions, oldest first; narrowed by what is given."""
        withdrawn = select(withdrawals).where(withdrawals.c.decision_id == outcomes.c.decision_id).exists()
        query = select(decisions.c.body, outcomes.c.body).join_from(outcomes, decisions).where(~withdrawn)
        query = query.order_by(outcomes.c.created_at, outcomes.c.decision_id)
        return self._with_decisions(Outcome, _about(query, repository, decision_id))

    def _with_decisions(self, kind: type[Noun], query: Select[str, str]) -> tuple[tuple[Decision, Noun], ...]:
        return tuple((load(Decision, decision), load(kind, body)) for decision, body in self.database.rows(query))

    def accounts(self, login: str) -> list[int]:
        """The ids of accounts that taught under this name, as it was written then."""
        query = select(signals.c.actor).where(signals.c.login == login).distinct().order_by(signals.c.actor)
        return self.database.scalars(query)

    def cells(
        self, levels: Sequence[Level], *, repository: str, quorum: int = QUORUM, at: datetime
    ) -> Mapping[tuple[Level, str, Factor], Cell]:
        """The evidence of these levels for a repository, by level, strategy and factor, decayed as it is at a time.

        Its own evidence in full; at shared levels also that of others, each up to a quota, where a quorum of them has any.
        """
        with self.database.reading() as connection:
            found, old = pools.read(connection, levels, repository, quorum, period_of(at))
        if old:
            with self.database.writing() as connection:
                pools.refresh(connection, old, period_of(at))
        return found

    def totals(self, levels: Sequence[Level]) -> Mapping[tuple[Level, str, Factor], Cell]:
        """The evidence of all repositories together, without quota or quorum: for statistics, not for choices."""
        with self.database.reading() as connection:
            return totals.totals(connection, levels)

    def cells_digest(self) -> str:
        """A SHA-256 that two tables share only if they are the same, bit for bit."""
        with self.database.reading() as connection:
            return totals.digest(connection)

    def rebuild(
        self,
        of_outcomes: OfOutcomes,
        of_signals: OfSignals,
        weights: str = "",
    ) -> int:
        """Derive the table from the whole ledger, in one transaction; returns how many entries it was derived from.

        Writers wait meanwhile: on SQLite every one, a choice too, as it appends its decision; on PostgreSQL those that add to
        the table or bring its pools up to date. The arguments are those of `totals.outcome_totals` and `signal_totals`.
        `weights` names what they count by, for `derived_by`.
        """
        with self.database.writing() as connection:
            totals.lock(connection)
            totals.replace(connection, totals.derived(connection, of_outcomes, of_signals))
            upsert(connection, document_row(_DERIVED, _BY, weights))
            counts = (select(func.count()).select_from(table) for table in (outcomes, signals, withdrawals))
            return sum(connection.execute(count).scalar_one() for count in counts)

    def derived_by(self) -> str | None:
        """The weights by which the table was derived; None where it grew entry by entry from the start."""
        return Documents(self.database, _DERIVED).get(_BY, str)

    def logged(self, kind: TaskKind) -> list[LoggedDecision]:
        """Every decision of repairs, or of reviews, oldest first, in one state of the database; no outcome that was taken back."""
        withdrawn = withdrawals.c.decision_id == decisions.c.id
        with_outcomes = decisions.outerjoin(outcomes).outerjoin(withdrawals, withdrawn)
        judged = select(decisions.c.body, outcomes.c.body, withdrawals.c.decision_id).select_from(with_outcomes)
        judged = judged.where(decisions.c.kind == kind).order_by(decisions.c.created_at, decisions.c.id)
        reactions = _signals_oldest_first().join(decisions).where(decisions.c.kind == kind)
        live: defaultdict[str, list[Signal]] = defaultdict(list)
        with self.database.reading() as connection:
            rows = connection.execute(judged).all()
            for body in connection.execute(reactions.where(signals.c.retracts == "", ~_taken_back())).scalars():
                signal = load(Signal, body)
                live[signal.decision_id].append(signal)
        found = []
        for body, outcome, is_withdrawn in rows:
            decision = load(Decision, body)
            counts = None if outcome is None or is_withdrawn else load(Outcome, outcome)
            found.append(LoggedDecision(decision=decision, outcome=counts, signals=tuple(live[decision.id])))
        return found

    def signal_counts(self) -> dict[SignalKind, int]:
        """How many signals of each kind there are, less those that were taken back."""
        given = func.sum(case((signals.c.retracts == "", 1), else_=-1))
        query = select(signals.c.kind, given).group_by(signals.c.kind).order_by(signals.c.kind)
        return {SignalKind(kind): int(count) for kind, count in self.database.rows(query)}

    def with_feedback(
        self, kind: TaskKind, *, since: datetime | None = None, limit: int | None = None
    ) -> list[Decision]:
        """The last `limit` decisions of a kind, made since then, that have a signal, newest first."""
        about = select(signals.c.decision_id).where(signals.c.decision_id == decisions.c.id).exists()
        query = select(decisions.c.body).where(decisions.c.kind == kind, about)
        if since is not None:
            query = query.where(decisions.c.created_at >= since)
        return self.database.nouns(
            Decision, query.order_by(decisions.c.created_at.desc(), decisions.c.id.desc()).limit(limit)
        )

    def known(self, decision_ids: Iterable[str]) -> set[str]:
        with self.database.reading() as connection:
            return known_among(connection, decision_ids, decisions.c.id)


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


def _taken_back() -> Exists:
    retraction = signals.alias("retraction")
    return select(retraction.c.id).where(retraction.c.retracts == signals.c.id).exists()


@dataclass(frozen=True, slots=True)
class PolicyEvents:
    """Since when which version of the policy is in use: append-only, one entry for each change."""

    database: Database

    def append(self, event: PolicyEvent) -> bool:
        """Append an event; False, and nothing added, when its id is known."""
        return self.database.insert(policy_events, row_of(policy_events, event))

    def all(self) -> list[PolicyEvent]:
        """Every event, oldest first."""
        query = select(policy_events.c.body).order_by(policy_events.c.created_at, policy_events.c.id)
        return self.database.nouns(PolicyEvent, query)


def _require_decisions(connection: Connection, ids: Iterable[str]) -> None:
    """Raise StoreError unless each of these decisions is in the ledger."""
    wanted = set(ids)
    for missing in sorted(wanted - known_among(connection, wanted, decisions.c.id)):
        raise StoreError(f"no decision {missing}; append the decision before what came of it")
