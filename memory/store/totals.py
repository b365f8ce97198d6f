"""What learning reads: sums over the ledger, by repository and teacher, and each repository's share of what others read.

All sums are integers in millionths, so that no order of adding matters: a rebuild gives the same table, bit for bit. A pool
is a function of a cell's rows alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, Table, case, delete, exists, func, select, text, tuple_

from memory.model import Cell, Contribution, Factor, FeedbackTotal, Level, OutcomeTotal, SignalKind, State, TaskKind
from memory.store.database import dialect_insert, in_batches, insert_bare
from memory.store.tables import cells, decisions, outcomes, pools, signals, withdrawals

# ── Pools

MILLION = 1_000_000

QUOTA = 20 * MILLION
"""As much as one repository counts for in a cell that others read, in millionths of an observation.

Two or three times the weight of the broad levels to a reader: enough to count, too little to outweigh all others.
Stored pools depend on it: after changing it, run `apprentice rebuild`.
"""

QUORUM = 2
"""How many other repositories, and for acceptance people, must have taught a cell before it reaches a repository."""

Sum = tuple[int, int]
"""Weight and value, in millionths."""

Witness = tuple[str, str]
"""Repository and teacher; the teacher is empty where tests decided."""


class Pool(NamedTuple):
    """The quota-bounded sum over all repositories, how many of them have evidence, and how many people gave it."""

    weight: int = 0
    value: int = 0
    repositories: int = 0
    people: int = 0

    def plus(self, other: Pool) -> Pool:
        """Both together."""
        return Pool(
            self.weight + other.weight,
            self.value + other.value,
            self.repositories + other.repositories,
            self.people + other.people,
        )

    def minus(self, other: Pool) -> Pool:
        """What is left without `other`."""
        return self.plus(Pool(-other.weight, -other.value, -other.repositories, -other.people))


NO_SHARE = Pool()


def share(weight: int, value: int) -> Pool:
    """What one repository's evidence counts for with others; nothing when all of it was taken back."""
    if weight <= 0:
        return NO_SHARE
    if weight <= QUOTA:
        return Pool(weight, value, 1)
    return Pool(QUOTA, QUOTA * value // weight, 1)


def pool(rows: Mapping[Witness, Sum]) -> Pool:
    """The pool of one cell's rows."""
    repositories: dict[str, Sum] = {}
    people: dict[str, int] = {}
    for (repository, teacher), (weight, value) in rows.items():
        known = repositories.get(repository, (0, 0))
        repositories[repository] = (known[0] + weight, known[1] + value)
        people[teacher] = people.get(teacher, 0) + weight
    total = Pool(people=sum(1 for teacher, weight in people.items() if teacher and weight > 0))
    for weight, value in repositories.values():
        total = total.plus(share(weight, value))
    return total


def reaching(shared: Pool, own: Sum, only_here: int, factor: Factor, quorum: int) -> Pool:
    """The share of a pool that reaches a repository with `own` evidence, `only_here` of its people having none elsewhere.

    Nothing below the quorum. Repositories count as well as people, because the owner of a repository can add any number
    of accounts to teach there.
    """
    mine = share(*own)  # has no people of its own
    repositories = shared.repositories - mine.repositories
    if repositories < quorum or (factor is Factor.ACCEPTANCE and shared.people - only_here < quorum):
        return NO_SHARE
    return Pool(shared.weight - mine.weight, shared.value - mine.value, repositories, shared.people)


# ── Cells

Spot = tuple[str, str, str, str]
"""Scope, key, strategy, factor: one cell of the table."""

Sums = dict[Spot, dict[Witness, Sum]]
"""For each cell, what each witness adds to it."""

Found = Mapping[tuple[Level, str, Factor], Cell]

_Row = dict[str, str | int]

_MANY = 200
"""Writers of more cells than this lock the whole table: they take it in parts, whose order could deadlock."""

_NAMES = ("scope", "key", "strategy", "factor")
_SPOT = tuple(cells.c[name] for name in _NAMES)


def fold(sums: Sums, contributions: Iterable[Contribution]) -> None:
    """Add contributions to `sums`, in place."""
    for part in contributions:
        spot = (part.level.scope, part.level.key, part.strategy, str(part.factor))
        rows = sums.setdefault(spot, {})
        weight, value = rows.get((part.repository, part.teacher), (0, 0))
        rows[part.repository, part.teacher] = (weight + part.weight, value + part.value)


def add(connection: Connection, contributions: Iterable[Contribution]) -> None:
    """Add to the stored cells and to their pools. Rows are locked in the order of their keys: two writers cannot deadlock."""
    sums: Sums = {}
    fold(sums, contributions)
    if len(sums) > _MANY:
        lock(connection)
    for spots in in_batches(sorted(sums), _MANY):
        _add(connection, {spot: sums[spot] for spot in spots})


def lock(connection: Connection) -> None:
    """Let no other writer in until the end of the transaction. Readers go on."""
    if connection.dialect.name == "postgresql":  # on SQLite the write transaction itself is the lock
        connection.execute(text("LOCK TABLE pools, cells IN EXCLUSIVE MODE"))


def _add(connection: Connection, sums: Sums) -> None:
    spots = [spot for spot in sums if _is_shared(spot)]
    if connection.dialect.name == "postgresql":
        _upsert(
            connection, pools, list(_pool_rows(dict.fromkeys(spots, Pool()))), Pool._fields
        )  # locks the pools' rows, those that are not there too
    before = _rows(connection, spots, {witness for spot in spots for witness in sums[spot]})
    changes = {spot: _change(before.get(spot, {}), sums[spot]) for spot in spots}
    _upsert(connection, cells, list(_cell_rows(sums)), ("weight", "value"))
    _upsert(connection, pools, list(_pool_rows(changes)), Pool._fields)


def _change(before: Mapping[Witness, Sum], added: Mapping[Witness, Sum]) -> Pool:
    """What adding does to a pool. `before` needs only the rows of the same repositories and people: others cancel out."""
    after = dict(before)
    for witness, (weight, value) in added.items():
        known = after.get(witness, (0, 0))
        after[witness] = (known[0] + weight, known[1] + value)
    return pool(after).minus(pool(before))


def _rows(connection: Connection, spots: Sequence[Spot], witnesses: Iterable[Witness]) -> Sums:
    """Every row at these cells whose repository or teacher is among the witnesses'."""
    if not spots:
        return {}
    repositories = {repository for repository, _ in witnesses}
    teachers = {teacher for _, teacher in witnesses if teacher}
    here = select(cells).where(tuple_(*_SPOT).in_(spots))
    found: Sums = {}
    for column, wanted in ((cells.c.repository, repositories), (cells.c.teacher, teachers)):
        for batch in in_batches(sorted(wanted)):
            for spot, rows in _by_spot(connection, here.where(column.in_(batch))).items():
                found.setdefault(spot, {}).update(rows)
    return found


def _cell_rows(sums: Sums) -> Iterator[_Row]:
    for spot in sorted(sums):
        for (repository, teacher), (weight, value) in sorted(sums[spot].items()):
            witness: _Row = {"repository": repository, "teacher": teacher, "weight": weight, "value": value}
            yield witness | dict(zip(_NAMES, spot, strict=True))


def _pool_rows(changes: Mapping[Spot, Pool]) -> Iterator[_Row]:
    for spot in sorted(changes):
        yield changes[spot]._asdict() | dict(zip(_NAMES, spot, strict=True))


def _upsert(connection: Connection, table: Table, rows: Sequence[_Row], adding: Sequence[str]) -> None:
    if not rows:
        return
    insert = dialect_insert(connection, table)
    addition = {name: table.c[name] + insert.excluded[name] for name in adding}
    connection.execute(insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=addition), rows)


def replace(connection: Connection, sums: Sums) -> None:
    """Make these the whole table. The caller holds the lock."""
    for table in (cells, pools):
        connection.execute(delete(table))
    rows = (
        (repository, *spot, teacher, weight, value)
        for spot, witnesses in sums.items()
        for (repository, teacher), (weight, value) in witnesses.items()
    )
    insert_bare(connection, cells, rows)
    shared = ((*spot, *pool(witnesses)) for spot, witnesses in sums.items() if _is_shared(spot))
    insert_bare(connection, pools, shared)


def read(connection: Connection, levels: Sequence[Level], repository: str, quorum: int) -> Found:
    """The cells at these levels that hold evidence for `repository`: its own in full, and what reaches it from others."""
    here = [(level.scope, level.key) for level in levels]
    own, shared = _own(connection, here, repository), _shared(connection, here)
    close = [
        spot for spot, rows in own.items() if spot in shared and 0 <= shared[spot].people - quorum < pool(rows).people
    ]
    elsewhere = _teaching_elsewhere(connection, close, repository) if close else {}
    found: dict[tuple[Level, str, Factor], Cell] = {}
    for spot in own.keys() | shared.keys():
        rows, factor, others = own.get(spot, {}), Factor(spot[3]), shared.get(spot, NO_SHARE)
        weight, value = sum(row[0] for row in rows.values()), sum(row[1] for row in rows.values())
        if spot in shared:
            only_here = pool(rows).people - elsewhere.get(spot, 0)
            others = reaching(others, (weight, value), only_here, factor, quorum)
        cell = _cell(weight + others.weight, value + others.value, (weight > 0) + others.repositories)
        if cell is not None:
            found[Level(spot[0], spot[1]), spot[2], factor] = cell
    return found


def _own(connection: Connection, here: Sequence[tuple[str, str]], repository: str) -> Sums:
    query = select(cells).where(cells.c.repository == repository, tuple_(cells.c.scope, cells.c.key).in_(here))
    return _by_spot(connection, query)


def _shared(connection: Connection, here: Sequence[tuple[str, str]]) -> dict[Spot, Pool]:
    query = select(pools).where(tuple_(pools.c.scope, pools.c.key).in_(here))
    return {(row[0], row[1], row[2], row[3]): Pool(*row[4:]) for row in connection.execute(query)}


def _by_spot(connection: Connection, query: Select[*tuple[Any, ...]]) -> Sums:
    """Rows of `cells` by cell and witness."""
    sums: Sums = {}
    for row in connection.execute(query):
        sums.setdefault((row.scope, row.key, row.strategy, row.factor), {})[row.repository, row.teacher] = (
            row.weight,
            row.value,
        )
    return sums


def _teaching_elsewhere(connection: Connection, spots: Sequence[Spot], repository: str) -> dict[Spot, int]:
    """How many of a repository's teachers of each cell have evidence in the same cell of another repository too."""
    other = cells.alias("other")
    same = (other.c[name] == cells.c[name] for name in (*_NAMES, "teacher"))
    taught = exists().where(*same, other.c.repository != repository, other.c.weight > 0)
    mine = (cells.c.repository == repository, cells.c.teacher != "", cells.c.weight > 0)
    query = select(*_SPOT, func.count().label("both")).where(tuple_(*_SPOT).in_(spots), *mine, taught).group_by(*_SPOT)
    return {(row.scope, row.key, row.strategy, row.factor): row.both for row in connection.execute(query)}


def totals(connection: Connection, levels: Sequence[Level]) -> Found:
    """The cells at these levels with the evidence of all repositories in full: for statistics, no choice reads it."""
    wanted = tuple_(cells.c.scope, cells.c.key).in_([(level.scope, level.key) for level in levels])
    found: dict[tuple[Level, str, Factor], Cell] = {}
    for (scope, key, strategy, factor), rows in _by_spot(connection, select(cells).where(wanted)).items():
        weight, value = (sum(each) for each in zip(*rows.values(), strict=True))
        cell = _cell(weight, value, pool(rows).repositories)
        if cell is not None:
            found[Level(scope=scope, key=key), strategy, Factor(factor)] = cell
    return found


def _cell(weight: int, value: int, witnesses: int) -> Cell | None:
    return Cell(weight / MILLION, value / weight, witnesses) if weight > 0 else None


def digest(connection: Connection) -> str:
    """SHA-256 over cells and pools. Rows that hold nothing (any more) do not count; the database's collation neither."""
    lines: list[str] = []
    for table in (cells, pools):
        rows = connection.execute(select(table).where((table.c.weight != 0) | (table.c.value != 0)))
        lines += sorted("\0".join(map(str, row)) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _is_shared(spot: Spot) -> bool:
    return Level(scope=spot[0], key=spot[1]).shared


# ── Rebuilding

_CHOICE = tuple(decisions.c[name] for name in ("kind", "repository", "label", "family", "place", "chosen"))
"""All that decides which cells an entry adds to."""

_AT_ONCE = 1000
_KINDS = {str(kind): kind for kind in SignalKind}


def judgements(connection: Connection) -> Iterator[OutcomeTotal]:
    """Outcomes that were not withdrawn, alike ones counted together."""
    total = (func.count().label("entries"), func.sum(outcomes.c.target_millionths).label("target"))
    counts = ~select(withdrawals).where(withdrawals.c.decision_id == outcomes.c.decision_id).exists()
    query = select(*_CHOICE, *total).join(outcomes).where(counts).group_by(*_CHOICE)
    with connection.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        for row in rows:
            yield OutcomeTotal(
                state=_state(row.kind, row.repository, row.label, row.family, row.place),
                chosen=row.chosen,
                count=row.entries,
                target=int(row.target),
            )


def verdicts(connection: Connection) -> Iterator[FeedbackTotal]:
    """Signals with weight, by account, less those that were taken back."""
    alike = (*_CHOICE, signals.c.actor, signals.c.kind, signals.c.weight_millionths)
    count = func.sum(case((signals.c.retracts == "", 1), else_=-1))
    query = select(*alike, count).join(signals).where(signals.c.weight_millionths > 0).group_by(*alike)
    found: dict[tuple[str, str, str, str, str, str, int], dict[tuple[SignalKind, int], int]] = {}
    with connection.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        for *about, kind, weight, times in rows:
            found.setdefault(tuple(about), {})[_KINDS[kind], weight] = int(times)
    for (*state, chosen, teacher), given in found.items():
        yield FeedbackTotal(state=_state(*state), chosen=chosen, teacher=teacher, counts=given)


def _state(kind: str, repository: str, label: str, family: str, place: str) -> State:
    return State(kind=TaskKind(kind), repository=repository, label=label, family=family, place=place)
