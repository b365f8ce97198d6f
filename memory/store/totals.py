"""The table of sums over the ledger: one row for each witness of each cell, and what of it reaches a repository.

Everything is an integer in millionths, so no order of adding matters: a rebuild gives the same table, bit for bit.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Integer, case, cast, delete, func, select, text, tuple_

from memory.model import PERIOD, Cell, Contribution, Factor, Level, SignalKind, State, TaskKind
from memory.store.database import Row, dialect_insert, in_batches, insert_many
from memory.store.tables import cells, decisions, outcomes, signals, withdrawals

# ── Pools

MILLION = 1_000_000

QUOTA = 20 * MILLION
"""As much as one repository counts for in a cell that others read, in millionths of an observation.

Two or three times the weight of the broad levels to a reader: enough to count, too little to outweigh all others.
"""

QUORUM = 2
"""How many other repositories, and for acceptance people, must have taught a cell before it reaches a repository."""

Sum = tuple[int, int]
"""Weight and value, in millionths."""

Witness = tuple[str, str]
"""Repository and teacher; the teacher is empty where tests decided."""

Entry = tuple[str, str, int]
"""A witness and the period of the decisions: one row of a cell."""

HALF_LIFE = timedelta(days=180)
"""Evidence this old weighs a half: people, code and the engine change. That of remembered cases is the same."""


@cache
def left_after(periods: int) -> int:
    """What is left of evidence after so many periods, in millionths."""
    return round(MILLION * math.exp2(-max(periods, 0) * (PERIOD / HALF_LIFE)))


def faded(rows: Mapping[Entry, Sum], period: int | None) -> dict[Witness, Sum]:
    """The rows of a cell by witness, as they count in a period; None: in full. Rounded down, so that they are whole numbers."""
    sums: dict[Witness, Sum] = {}
    for (repository, teacher, then), (weight, value) in rows.items():
        left = MILLION if period is None else left_after(period - then)
        known = sums.get((repository, teacher), (0, 0))
        sums[repository, teacher] = (known[0] + weight * left // MILLION, known[1] + value * left // MILLION)
    return sums


class Pool(NamedTuple):
    """The quota-bounded sum over repositories, how many of them have evidence, and how many people gave it."""

    weight: int = 0
    value: int = 0
    repositories: int = 0
    people: int = 0


def share(weight: int, value: int) -> Sum:
    """What one repository's evidence counts for with others; nothing when all of it was taken back."""
    if weight <= 0:
        return 0, 0
    return (weight, value) if weight <= QUOTA else (QUOTA, QUOTA * value // weight)


def pool(rows: Mapping[Witness, Sum]) -> Pool:
    """The pool of one cell's rows."""
    repositories: dict[str, Sum] = {}
    people: dict[str, int] = {}
    for (repository, teacher), (weight, value) in rows.items():
        known = repositories.get(repository, (0, 0))
        repositories[repository] = (known[0] + weight, known[1] + value)
        people[teacher] = people.get(teacher, 0) + weight
    shares = [share(*each) for each in repositories.values()]
    return Pool(
        weight=sum(weight for weight, _ in shares),
        value=sum(value for _, value in shares),
        repositories=sum(weight > 0 for weight, _ in shares),
        people=sum(1 for teacher, weight in people.items() if teacher and weight > 0),
    )


def reaching(rows: Mapping[Witness, Sum], repository: str, factor: Factor, quorum: int) -> Cell | None:
    """The evidence of one cell for a repository: its own in full, and the pool of all others where they are a quorum.

    Repositories count as well as people, because the owner of a repository can add any number of accounts to teach there.
    """
    own = [each for (where, _), each in rows.items() if where == repository]
    weight, value = (sum(each[part] for each in own) for part in (0, 1))
    others = pool({witness: each for witness, each in rows.items() if witness[0] != repository})
    if others.repositories < quorum or (factor is Factor.ACCEPTANCE and others.people < quorum):
        others = Pool()
    return _cell(weight + others.weight, value + others.value, (weight > 0) + others.repositories)


# ── Cells

Spot = tuple[str, str, str, str]
"""Scope, key, strategy, factor: one cell of the table."""

Sums = dict[Spot, dict[Entry, Sum]]
"""For each cell, what each witness adds to it in each period."""

Found = Mapping[tuple[Level, str, Factor], Cell]

_NAMES = ("scope", "key", "strategy", "factor")
_ENTRY = ("repository", "teacher", "period")


def fold(sums: Sums, contributions: Iterable[Contribution]) -> None:
    """Add contributions to `sums`, in place."""
    for part in contributions:
        spot = (part.level.scope, part.level.key, part.strategy, str(part.factor))
        rows = sums.setdefault(spot, {})
        entry = (part.repository, part.teacher, part.period)
        weight, value = rows.get(entry, (0, 0))
        rows[entry] = (weight + part.weight, value + part.value)


def add(connection: Connection, contributions: Iterable[Contribution]) -> None:
    """Add to the stored cells. Rows are locked in the order of their keys: two writers cannot deadlock."""
    sums: Sums = {}
    fold(sums, contributions)
    insert = dialect_insert(connection, cells)
    addition = {name: cells.c[name] + insert.excluded[name] for name in ("weight", "value")}
    adding = insert.on_conflict_do_update(index_elements=list(cells.primary_key), set_=addition)
    for batch in in_batches(_rows(sums)):
        connection.execute(adding, batch)


def lock(connection: Connection) -> None:
    """Let no other writer in until the end of the transaction. Readers go on."""
    if connection.dialect.name == "postgresql":  # on SQLite the write transaction itself is the lock
        connection.execute(text("LOCK TABLE cells IN EXCLUSIVE MODE"))


def _rows(sums: Sums) -> Iterator[Row]:
    for spot in sorted(sums):
        for entry, total in sorted(sums[spot].items()):
            yield dict(zip((*_NAMES, *_ENTRY, "weight", "value"), (*spot, *entry, *total), strict=True))


def replace(connection: Connection, sums: Sums) -> None:
    """Make these the whole table. The caller holds the lock."""
    connection.execute(delete(cells))
    insert_many(connection, cells, _rows(sums))


def read(
    connection: Connection, levels: Sequence[Level], repository: str, quorum: int, period: int | None = None
) -> Found:
    """The cells at these levels that hold evidence for `repository`, as it counts in a period; None: in full."""
    rows = _at(connection, levels)
    found = {spot: reaching(faded(each, period), repository, spot[2], quorum) for spot, each in rows}
    return {spot: cell for spot, cell in found.items() if cell is not None}


def _at(
    connection: Connection, levels: Sequence[Level]
) -> Iterator[tuple[tuple[Level, str, Factor], dict[Entry, Sum]]]:
    """Every cell at these levels with its rows."""
    wanted = tuple_(cells.c.scope, cells.c.key).in_([(level.scope, level.key) for level in levels])
    sums: Sums = {}
    columns = (cells.c[name] for name in (*_NAMES, *_ENTRY, "weight", "value"))
    for scope, key, strategy, factor, repository, teacher, period, weight, value in connection.execute(
        select(*columns).where(wanted)
    ):
        sums.setdefault((scope, key, strategy, factor), {})[repository, teacher, period] = (weight, value)
    for (scope, key, strategy, factor), rows in sums.items():
        yield (Level(scope, key), strategy, Factor(factor)), rows


def totals(connection: Connection, levels: Sequence[Level]) -> Found:
    """The cells at these levels with the evidence of all repositories in full: for statistics, no choice reads it."""
    found = {}
    for spot, rows in _at(connection, levels):
        weight, value = (sum(each) for each in zip(*rows.values(), strict=True))
        if cell := _cell(weight, value, pool(faded(rows, None)).repositories):
            found[spot] = cell
    return found


def _cell(weight: int, value: int, witnesses: int) -> Cell | None:
    return Cell(weight / MILLION, value / weight, witnesses) if weight > 0 else None


def digest(connection: Connection) -> str:
    """SHA-256 over the cells. Rows that hold nothing (any more) do not count; the database's collation neither."""
    rows = connection.execute(select(cells).where((cells.c.weight != 0) | (cells.c.value != 0)))
    return hashlib.sha256("\n".join(sorted("\0".join(map(str, row)) for row in rows)).encode()).hexdigest()


# ── Rebuilding

_STATE = tuple(decisions.c[name] for name in ("kind", "repository", "label", "family", "place", "after"))
"""All that decides which cells an entry adds to, beside the strategy and the period."""


def _period(connection: Connection) -> ColumnElement[int]:
    """That of a decision, as `period_of` counts it."""
    at, length = decisions.c.created_at, int(PERIOD.total_seconds())
    if connection.dialect.name == "sqlite":  # its / of whole numbers is one
        return cast(func.strftime("%s", at), Integer).op("/", return_type=Integer())(length)
    return cast(func.floor(func.extract("epoch", at) / length), Integer)


_AT_ONCE = 1000


def outcome_totals(connection: Connection) -> Iterator[tuple[State, str, int, int, int]]:
    """Outcomes that were not withdrawn, alike ones together: state, strategy, period, weight and value in millionths.

    The strategy is the chosen one, or the credited one.
    """
    counts = ~select(withdrawals).where(withdrawals.c.decision_id == outcomes.c.decision_id).exists()
    period = _period(connection).label("period")
    for strategy, weight, value in (
        (decisions.c.chosen, func.count() * MILLION, func.sum(outcomes.c.target_millionths)),
        (outcomes.c.credited, *([func.sum(outcomes.c.credit_millionths)] * 2)),
    ):
        choice = (*_STATE, strategy)
        query = select(*choice, period, weight, value).join(outcomes).where(counts, strategy != "")
        query = query.group_by(*choice, text("period"))
        with connection.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
            for *state, of, then, total, of_that in rows:
                yield _state(*state), of, then, int(total), int(of_that)


def signal_totals(connection: Connection) -> Iterator[tuple[State, str, int, int, SignalKind, int, int]]:
    """Signals with weight, alike ones together: state, choice, period of the decision, account, kind, weight in millionths,
    and how many, less those that were taken back."""
    which = (signals.c.actor, signals.c.kind, signals.c.weight_millionths)
    choice = (*_STATE, decisions.c.chosen)
    alike = (*choice, _period(connection).label("period"), *which)
    count = func.sum(case((signals.c.retracts == "", 1), else_=-1))
    query = select(*alike, count).join(signals).where(signals.c.weight_millionths > 0)
    query = query.group_by(*choice, text("period"), *which)
    with connection.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        for *state, chosen, period, teacher, kind, weight, times in rows:
            yield _state(*state), chosen, period, teacher, SignalKind(kind), weight, int(times)


OfOutcomes = Callable[[State, str, int, int, int], Iterable[Contribution]]
OfSignals = Callable[[State, str, int, int, SignalKind, int, int], Iterable[Contribution]]


def derived(connection: Connection, of_outcomes: OfOutcomes, of_signals: OfSignals) -> Sums:
    """The whole table, from the ledger; the arguments are called with what the two functions above give."""
    sums: Sums = {}
    for outcome in outcome_totals(connection):
        fold(sums, of_outcomes(*outcome))
    for signal in signal_totals(connection):
        fold(sums, of_signals(*signal))
    return sums


def _state(kind: str, repository: str, label: str, family: str, place: str, after: str) -> State:
    return State(kind=TaskKind(kind), repository=repository, label=label, family=family, place=place, after=after)
