"""The table that learning reads: sums over the ledger by witness, in millionths, so that no order of adding matters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Connection,
    Table,
    and_,
    bindparam,
    case,
    cast,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    text,
    tuple_,
    union_all,
)

from memory.model import Cell, Contribution, Factor, Level
from memory.store.engine import Database, dialect_insert, in_batches, insert_bare
from memory.store.pools import MILLION, NOBODY, Pool, Sum, Witness, pool, reaching
from memory.store.tables import cells, pools

Spot = tuple[str, str, str, str]
"""Scope, key, strategy, factor: one cell of the table."""

Sums = dict[Spot, dict[Witness, Sum]]
"""For each cell, what each witness adds to it."""

Found = Mapping[tuple[Level, str, Factor], Cell]

Record = dict[str, str | int]

_MANY = 200
"""Writers of more cells than this lock the whole table: they take it in parts, whose order could deadlock."""

_NOTHING: tuple[Sum, int] = ((0, 0), 0)
_FACTORS = {str(factor): factor for factor in Factor}
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
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time anyhow
        connection.execute(text("LOCK TABLE pools, cells IN EXCLUSIVE MODE"))


def _add(connection: Connection, sums: Sums) -> None:
    spots = [spot for spot in sums if _is_shared(spot)]
    if connection.dialect.name == "postgresql":
        _add_to_pools(connection, dict.fromkeys(spots, Pool()))  # locks the pools' rows, those that are not there too
    before = _rows(connection, spots, {witness for spot in spots for witness in sums[spot]})
    _add_to_cells(connection, sums)
    _add_to_pools(connection, {spot: _change(before.get(spot, {}), sums[spot]) for spot in spots})


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
    here = tuple_(*_SPOT).in_(spots)
    found: Sums = {}
    for column, wanted in ((cells.c.repository, repositories), (cells.c.teacher, teachers)):
        for batch in in_batches(sorted(wanted)):
            for row in connection.execute(select(cells).where(here, column.in_(batch))):
                spot = (row.scope, row.key, row.strategy, row.factor)
                found.setdefault(spot, {})[row.repository, row.teacher] = (row.weight, row.value)
    return found


def _add_to_cells(connection: Connection, sums: Sums) -> None:
    _upsert(connection, cells, list(_cell_rows(sums)), ("weight", "value"))


def _add_to_pools(connection: Connection, changes: Mapping[Spot, Pool]) -> None:
    _upsert(connection, pools, list(_pool_rows(changes)), Pool._fields)


def _cell_rows(sums: Sums) -> Iterator[Record]:
    for spot in sorted(sums):
        for (repository, teacher), (weight, value) in sorted(sums[spot].items()):
            witness: Record = {"repository": repository, "teacher": teacher, "weight": weight, "value": value}
            yield witness | dict(zip(_NAMES, spot, strict=True))


def _pool_rows(changes: Mapping[Spot, Pool]) -> Iterator[Record]:
    for spot in sorted(changes):
        yield changes[spot]._asdict() | dict(zip(_NAMES, spot, strict=True))


def _upsert(connection: Connection, table: Table, rows: Sequence[Record], adding: Sequence[str]) -> None:
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


@cache
def _own_and_shared(levels: int) -> CompoundSelect[Any]:
    """One statement for a choice: the repository's own rows summed, and the pools, at so many levels."""
    sums = (cast(func.sum(cells.c[name]), BigInteger) for name in ("weight", "value"))
    people = func.sum(case((and_(cells.c.teacher != "", cells.c.weight > 0), 1), else_=0))
    own = select(literal(1), *_SPOT, *sums, literal(0), people).where(
        cells.c.repository == bindparam("repository"), _at(cells, levels)
    )
    shared = select(literal(0), *pools.c).where(_at(pools, levels))
    return union_all(own.group_by(*_SPOT), shared)


def _at(table: Table, levels: int) -> ColumnElement[bool]:
    """At one of so many levels, which are bound one by one: this way the text is the same for every choice."""
    places = range(levels)
    return or_(*(and_(table.c.scope == bindparam(f"scope{n}"), table.c.key == bindparam(f"key{n}")) for n in places))


def _bound(levels: Sequence[Level], repository: str) -> Record:
    values: Record = {"repository": repository}
    for place, level in enumerate(levels):
        values[f"scope{place}"], values[f"key{place}"] = level
    return values


def read(database: Database, levels: Sequence[Level], repository: str, quorum: int) -> Found:
    """The cells at these levels that hold evidence for `repository`: its own in full, and what reaches it from others."""
    own: dict[Spot, tuple[Sum, int]] = {}
    shared: dict[Spot, Pool] = {}
    rows = database.glance(_own_and_shared(len(levels)), _bound(levels, repository))
    for mine, scope, key, strategy, factor, weight, value, repositories, people in rows:
        if mine:
            own[scope, key, strategy, factor] = ((weight, value), people)
        else:
            shared[scope, key, strategy, factor] = Pool(weight, value, repositories, people)
    close = [spot for spot, (_, mine) in own.items() if spot in shared and 0 <= shared[spot].people - quorum < mine]
    elsewhere = _teaching_elsewhere(database, close, repository) if close else {}
    found: dict[tuple[Level, str, Factor], Cell] = {}
    for spot in own.keys() | shared.keys():
        (weight, value), mine = own.get(spot, _NOTHING)
        factor, others = _FACTORS[spot[3]], shared.get(spot, NOBODY)
        if others is not NOBODY:
            others = reaching(others, (weight, value), mine - elsewhere.get(spot, 0), factor, quorum)
        cell = _cell(weight + others.weight, value + others.value, (weight > 0) + others.repositories)
        if cell is not None:
            found[Level(spot[0], spot[1]), spot[2], factor] = cell
    return found


def _teaching_elsewhere(database: Database, spots: Sequence[Spot], repository: str) -> dict[Spot, int]:
    """How many of a repository's teachers of each cell have evidence in the same cell of another repository too."""
    other = cells.alias("other")
    same = (other.c[name] == cells.c[name] for name in (*_NAMES, "teacher"))
    taught = exists().where(*same, other.c.repository != repository, other.c.weight > 0)
    mine = (cells.c.repository == repository, cells.c.teacher != "", cells.c.weight > 0)
    query = select(*_SPOT, func.count().label("both")).where(tuple_(*_SPOT).in_(spots), *mine, taught).group_by(*_SPOT)
    with database.glancing() as connection:
        return {(row.scope, row.key, row.strategy, row.factor): row.both for row in connection.execute(query)}


def totals(connection: Connection, levels: Sequence[Level]) -> Found:
    """The cells at these levels with the evidence of everyone in full: for statistics, no choice reads it."""
    wanted = tuple_(cells.c.scope, cells.c.key).in_([(level.scope, level.key) for level in levels])
    sums: Sums = {}
    for row in connection.execute(select(cells).where(wanted)):
        spot = (row.scope, row.key, row.strategy, row.factor)
        sums.setdefault(spot, {})[row.repository, row.teacher] = (row.weight, row.value)
    found: dict[tuple[Level, str, Factor], Cell] = {}
    for (scope, key, strategy, factor), rows in sums.items():
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
