"""The table of sums over the ledger: one row for each contributor of each cell.

Everything is an integer in millionths, so no order of adding matters: a rebuild gives the same table, bit for bit.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from sqlalchemy import ColumnElement, Connection, Integer, and_, case, cast, delete, func, or_, select, text

from memory.model import PERIOD, Contribution, Factor, Level, SignalKind, State, TaskKind
from memory.store import pools
from memory.store.bulk import BulkInsert
from memory.store.database import dialect_insert, in_batches
from memory.store.evidence import CELL_COLUMNS, EVIDENCE_COLUMNS, MILLION, Sums, cell_of, decayed, pool_of_all
from memory.store.tables import cells, decisions, outcomes, signals, withdrawals

_COLUMNS = (*CELL_COLUMNS, *EVIDENCE_COLUMNS, "weight", "value")
_CELLS = BulkInsert(cells, _COLUMNS)
_LEVELS_AT_ONCE = 200
"""SQLite takes an expression of 1,000 parts at most."""


def fold(sums: Sums, contributions: Iterable[Contribution]) -> None:
    """Add contributions to `sums`, in place."""
    for part in contributions:
        cell_key = (part.level.scope, part.level.key, part.strategy, str(part.factor))
        rows = sums.setdefault(cell_key, {})
        entry = (part.repository, part.teacher, part.period)
        weight, value = rows.get(entry, (0, 0))
        rows[entry] = (weight + part.weight, value + part.value)


def add(connection: Connection, contributions: Iterable[Contribution]) -> None:
    """Add to the stored cells and pools. Rows are locked in the order of their keys: two writers cannot deadlock."""
    sums: Sums = {}
    fold(sums, contributions)
    locked = pools.lock(connection, sums)
    insert = dialect_insert(connection, cells)
    addition = {name: cells.c[name] + insert.excluded[name] for name in ("weight", "value")}
    adding = insert.on_conflict_do_update(index_elements=list(cells.primary_key), set_=addition)
    for batch in in_batches(_rows(sums)):
        connection.execute(adding, [dict(zip(_COLUMNS, row, strict=True)) for row in batch])
    pools.update(connection, locked, sums)


def lock(connection: Connection) -> None:
    """Let no other writer in until the end of the transaction. Readers go on."""
    if connection.dialect.name == "postgresql":  # on SQLite the write transaction itself is the lock
        connection.execute(text("LOCK TABLE pools, cells IN EXCLUSIVE MODE"))


def _rows(sums: Sums) -> Iterator[tuple[str | int, ...]]:
    for cell_key in sorted(sums):
        for entry, total in sorted(sums[cell_key].items()):
            yield (*cell_key, *entry, *total)


def replace(connection: Connection, sums: Sums) -> None:
    """Make these the whole table. The caller holds the lock."""
    connection.execute(delete(cells))
    _CELLS.insert(connection, _rows(sums))
    pools.replace(connection, sums)


def totals(connection: Connection, levels: Sequence[Level]) -> pools.Found:
    """The cells at these levels with the evidence of all repositories in full: for statistics, no choice reads it."""
    found: pools.Found = {}
    for batch in in_batches(levels, _LEVELS_AT_ONCE):
        which = or_(*(and_(cells.c.scope == scope, cells.c.key == key) for scope, key in batch))
        for (scope, key, strategy, factor), rows in pools.rows_where(connection, which).items():
            weight, value = (sum(each) for each in zip(*rows.values(), strict=True))
            if cell := cell_of(weight, value, pool_of_all(decayed(rows, None)).repositories):
                found[Level(scope, key), strategy, Factor(factor)] = cell
    return found


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
