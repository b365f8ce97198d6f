"""What evidence adds up to in each cell, kept beside its rows: that of each repository, and in shared cells that of all.

A choice reads one row of each. A pool is of one period, as evidence decays. The first reader of a later period, and the first
writer, make it again from the cell's rows; within a period a writer moves it by what its repository and its people changed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    FromClause,
    Integer,
    Select,
    and_,
    bindparam,
    delete,
    func,
    literal_column,
    or_,
    select,
    union_all,
)

from memory.model import Cell, Factor, Level
from memory.store.bulk import BulkInsert
from memory.store.database import dialect_insert, in_batches
from memory.store.evidence import (
    CELL_COLUMNS,
    EVIDENCE_COLUMNS,
    CellKey,
    Contributor,
    EvidenceKey,
    Pool,
    Sum,
    Sums,
    cell_for,
    cell_of,
    decayed,
    pool_of_all,
    pool_of_one,
    pools_of_each,
    sums_for,
)
from memory.store.tables import cells, pools

PRIVATE = ("place", "repository")
"""The scopes whose cells belong to one repository."""

PoolKey = tuple[str, str, str, str, str]
"""A cell, and the repository whose pool it is."""

EVERY_REPOSITORY = "*"
"""In place of a repository: the pool of all of them."""

NEVER = -1
"""The period of a pool that was not made yet."""

_KEY = (*CELL_COLUMNS, "repository")
_ORDER = tuple(pools.c[name] for name in _KEY)
_POOLS = BulkInsert(pools, (*_KEY, "period", *Pool._fields))


def _keys(cell_key: CellKey, repositories: Iterable[str]) -> Iterator[PoolKey]:
    for repository in {*repositories, *(() if cell_key[0] in PRIVATE else (EVERY_REPOSITORY,))}:
        yield (*cell_key, repository)


def lock(connection: Connection, sums: Sums) -> dict[PoolKey, tuple[int, Pool]]:
    """The stored pools that these sums move by period, made where they are missing, and kept from other writers until the end
    of the transaction. They are locked in the order of their keys: two writers cannot deadlock."""
    keys = (key for cell_key, rows in sums.items() for key in _keys(cell_key, (entry[0] for entry in rows)))
    return _lock(connection, keys)


def _lock(connection: Connection, keys: Iterable[PoolKey]) -> dict[PoolKey, tuple[int, Pool]]:
    wanted, locked = sorted(keys), dict[PoolKey, tuple[int, Pool]]()
    for batch in in_batches(wanted):
        missing = [{**dict(zip(_KEY, key, strict=True)), "period": NEVER, **Pool()._asdict()} for key in batch]
        connection.execute(dialect_insert(connection, pools).on_conflict_do_nothing(), missing)
    query = select(*_ORDER, pools.c.period, *(pools.c[name] for name in Pool._fields)).order_by(*_ORDER)
    for batch in in_batches(wanted, 200):
        which = or_(*(and_(*(at == part for at, part in zip(_ORDER, key, strict=True))) for key in batch))
        for scope, key, of, factor, whose, period, *sums in connection.execute(query.where(which).with_for_update()):
            locked[scope, key, of, factor, whose] = (period, Pool(*sums))
    return locked


def update(connection: Connection, locked: Mapping[PoolKey, tuple[int, Pool]], added: Sums) -> None:
    """Bring locked pools up to date after these sums were added to the cells."""
    then = {key: max(period, *(part_of for _, _, part_of in added[key[:4]])) for key, (period, _) in locked.items()}
    moved = {
        key: _updated(connection, key[:4], period, known, added[key[:4]])
        for key, (period, known) in locked.items()
        if key[4] == EVERY_REPOSITORY and then[key] == period
    }
    _write(connection, then, moved | _recomputed(connection, {key: then[key] for key in locked.keys() - moved.keys()}))


def _updated(
    connection: Connection, cell_key: CellKey, period: int, known: Pool, added: Mapping[EvidenceKey, Sum]
) -> Pool:
    """The pool of all after these additions: by the rows of their repositories and of their people alone."""
    repositories, people = {entry[0] for entry in added}, {entry[1] for entry in added}
    touched = or_(cells.c.repository.in_(repositories), cells.c.teacher.in_(people - {""}))
    after = rows_where(connection, _evidence_of((*cell_key, EVERY_REPOSITORY)) & touched).get(cell_key, {})
    before = {entry: _less(each, added.get(entry, (0, 0))) for entry, each in after.items()}
    old, new = (_part(decayed(rows, period), repositories, people) for rows in (before, after))
    return Pool(*(whole - was + now for whole, was, now in zip(known, old, new, strict=True)))


def _part(rows: Mapping[Contributor, Sum], repositories: Collection[str], people: Collection[str]) -> Pool:
    """What these repositories and these people count for in a pool."""
    of_repositories = pool_of_all(
        {contributor: each for contributor, each in rows.items() if contributor[0] in repositories}
    )
    of_people = pool_of_all({contributor: each for contributor, each in rows.items() if contributor[1] in people})
    return of_repositories._replace(people=of_people.people)


def _less(one: Sum, other: Sum) -> Sum:
    return one[0] - other[0], one[1] - other[1]


def refresh(connection: Connection, keys: Iterable[PoolKey], period: int) -> None:
    """Make pools of earlier periods those of this one."""
    old = {key: period for key, (known, _) in _lock(connection, keys).items() if known < period}
    _write(connection, old, _recomputed(connection, old))


def replace(connection: Connection, sums: Sums) -> None:
    """Make these the pools of the whole table, in the latest period that it has evidence of."""
    period = max((entry[2] for rows in sums.values() for entry in rows), default=0)
    connection.execute(delete(pools))
    _POOLS.insert(connection, (row for cell_key, rows in sums.items() for row in _rows_of(cell_key, rows, period)))


def _rows_of(cell_key: CellKey, rows: Mapping[EvidenceKey, Sum], period: int) -> Iterator[tuple[str | int, ...]]:
    now = decayed(rows, period)
    own = pools_of_each(now)
    for key in _keys(cell_key, own):
        yield (*key, period, *(pool_of_all(now) if key[-1] == EVERY_REPOSITORY else own[key[-1]]))


def _recomputed(connection: Connection, periods: Mapping[PoolKey, int]) -> dict[PoolKey, Pool]:
    """These pools, each of a period, by the rows of their cells."""
    made = {}
    for batch in in_batches(periods, 200):
        rows = rows_where(connection, or_(*map(_evidence_of, batch)))
        for key in batch:
            now = decayed(rows.get(key[:4], {}), periods[key])
            own = {contributor: each for contributor, each in now.items() if contributor[0] == key[4]}
            made[key] = pool_of_all(now) if key[4] == EVERY_REPOSITORY else pool_of_one(own)
    return made


def _write(connection: Connection, periods: Mapping[PoolKey, int], made: Mapping[PoolKey, Pool]) -> None:
    at = and_(*(pools.c[name] == bindparam(f"at_{name}") for name in _KEY))
    rows = [
        {**{f"at_{name}": part for name, part in zip(_KEY, key, strict=True)}, "period": periods[key], **each._asdict()}
        for key, each in made.items()
    ]
    if rows:
        connection.execute(pools.update().where(at), rows)


def _evidence_of(key: PoolKey) -> ColumnElement[bool]:
    """The rows of a pool."""
    here = [cells.c[name] == value for name, value in zip(CELL_COLUMNS, key[:4], strict=True)]
    return and_(*here, *(() if key[4] == EVERY_REPOSITORY else (cells.c.repository == key[4],)))


def rows_where(connection: Connection, which: ColumnElement[bool]) -> Sums:
    sums: Sums = {}
    columns = (cells.c[name] for name in (*CELL_COLUMNS, *EVIDENCE_COLUMNS, "weight", "value"))
    for scope, key, strategy, factor, repository, teacher, period, weight, value in connection.execute(
        select(*columns).where(which)
    ):
        sums.setdefault((scope, key, strategy, factor), {})[repository, teacher, period] = (weight, value)
    return sums


# ── Reading

Found = dict[tuple[Level, str, Factor], Cell]

_FACTORS = {factor.value: factor for factor in Factor}
_ZERO: ColumnElement[int] = literal_column("0")
_PERIOD = bindparam("period", type_=Integer)


@cache
def _of_levels(private: tuple[bool, ...]) -> CompoundSelect[Any]:
    """What is stored at these levels: in each row two periods, and the pools of all and of one repository, where none is 0.

    Made once, as making it takes as long as running it. Each row begins with the number of its level: the names of levels are
    long, and known. One query for each, as SQLite searches no index for a row value in a list.
    """
    return union_all(*(_of_own(number) if alone else _of_all_and_own(number) for number, alone in enumerate(private)))


def _of_own(number: int) -> Select[Any]:
    cell: list[Any] = [literal_column(str(number)), pools.c.strategy, pools.c.factor]
    sums = (*[_ZERO] * len(Pool._fields), *(pools.c[name] for name in Pool._fields))
    query: Select[Any] = select(*cell, _PERIOD, pools.c.period, *sums)
    return query.where(_at_level(pools, number), pools.c.repository == bindparam("repository"))


def _of_all_and_own(number: int) -> Select[Any]:
    """There is a pool of all wherever there is one of a repository."""
    every, own = pools.alias("every"), pools.alias("own")
    same = and_(
        _at_level(own, number),
        own.c.repository == bindparam("repository"),
        *(own.c[name] == every.c[name] for name in ("strategy", "factor")),
    )
    cell: list[Any] = [literal_column(str(number)), every.c.strategy, every.c.factor]
    periods = (every.c.period, func.coalesce(own.c.period, _PERIOD))
    sums = (*(every.c[name] for name in Pool._fields), *(func.coalesce(own.c[name], _ZERO) for name in Pool._fields))
    query: Select[Any] = select(*cell, *periods, *sums).join_from(every, own, same, isouter=True)
    return query.where(_at_level(every, number), every.c.repository == EVERY_REPOSITORY)


def _at_level(table: FromClause, number: int) -> ColumnElement[bool]:
    return and_(*(table.c[part] == bindparam(f"{part}{number}") for part in Level._fields))


def read(
    connection: Connection, levels: Sequence[Level], repository: str, quorum: int, period: int
) -> tuple[Found, set[PoolKey]]:
    """The cells at these levels, of which there is one at least, that hold evidence for a repository, as it counts in a
    period; and the pools that are of an earlier one."""
    given = {f"{part}{n}": value for n, level in enumerate(levels) for part, value in level._asdict().items()}
    query = _of_levels(tuple(level.scope in PRIVATE for level in levels))
    # All at once: one after another takes twice as long.
    rows = connection.execute(query, {**given, "repository": repository, "period": period}).all()
    found: Found = {}
    unsure: dict[CellKey, Level] = {}
    old = set[PoolKey]()
    for number, strategy, name, of, then, *sums in rows:
        level, factor = levels[number], _FACTORS[name]
        known = sums_for(quorum, factor is Factor.ACCEPTANCE, *sums) if of == then == period else None
        if known is None:
            cell_key = (*level, strategy, name)
            unsure[cell_key] = level
            old |= {(*cell_key, whose) for whose, made in ((repository, then), (EVERY_REPOSITORY, of)) if made < period}
        elif cell := cell_of(*known):
            found[level, strategy, factor] = cell
    for batch in in_batches(unsure, 200):
        for cell_key, each in rows_where(
            connection, or_(*(_evidence_of((*cell_key, EVERY_REPOSITORY)) for cell_key in batch))
        ).items():
            factor = _FACTORS[cell_key[3]]
            if cell := cell_for(decayed(each, period), repository, factor, quorum):
                found[unsure[cell_key], cell_key[2], factor] = cell
    return found, old
