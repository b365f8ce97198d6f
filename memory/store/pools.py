"""What the evidence of all repositories adds up to in each shared cell, kept beside its rows: a choice reads one row of it.

A pool is of one period, as evidence fades. The first reader of a later period, and the first writer, make it anew from the
cell's rows; within a period a writer moves it by what its repository's share and its people changed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, false, or_, select

from memory.model import PERIOD, Cell, Factor, Level
from memory.store.database import Row, dialect_insert, in_batches, insert_many
from memory.store.tables import cells, pools

MILLION = 1_000_000

QUOTA = 20 * MILLION
"""As much as one repository counts for in a cell that others read, in millionths of an observation.

Two or three times the weight of the broad levels to a reader: enough to count, too little to outweigh all others.
"""

QUORUM = 2
"""How many other repositories, and for acceptance people, must have taught a cell before it reaches a repository."""

PRIVATE = ("place", "repository")
"""The scopes whose cells belong to one repository."""

Sum = tuple[int, int]
"""Weight and value, in millionths."""

Witness = tuple[str, str]
"""Repository and teacher; the teacher is empty where tests decided."""

Entry = tuple[str, str, int]
"""A witness and the period of the decisions: one row of a cell."""

Spot = tuple[str, str, str, str]
"""Scope, key, strategy, factor: one cell of the table."""

Sums = dict[Spot, dict[Entry, Sum]]
"""For each cell, what each witness adds to it in each period."""

SPOT = ("scope", "key", "strategy", "factor")
ENTRY = ("repository", "teacher", "period")

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
    own = {witness: each for witness, each in rows.items() if witness[0] == repository}
    return _reached(own, pool({witness: each for witness, each in rows.items() if witness not in own}), factor, quorum)


def _reached(own: Mapping[Witness, Sum], others: Pool, factor: Factor, quorum: int) -> Cell | None:
    weight, value = (sum(each[part] for each in own.values()) for part in (0, 1))
    if others.repositories < quorum or (factor is Factor.ACCEPTANCE and others.people < quorum):
        others = Pool()
    return cell_of(weight + others.weight, value + others.value, (weight > 0) + others.repositories)


def cell_of(weight: int, value: int, witnesses: int) -> Cell | None:
    """A cell of these sums; None without evidence."""
    return Cell(weight / MILLION, value / weight, witnesses) if weight > 0 else None


# ── Stored pools ───────────────────────────────────────────────────────────────────────────────────────────────────

NEVER = -1
"""The period of a pool that was not made yet."""

_ORDER = tuple(pools.c[name] for name in SPOT)


def hold(connection: Connection, spots: Iterable[Spot]) -> dict[Spot, tuple[int, Pool]]:
    """The stored pools of these cells by period, made where they are missing, and kept from other writers until the end of the
    transaction. They are locked in the order of their keys: two writers cannot deadlock."""
    shared = sorted(spot for spot in spots if spot[0] not in PRIVATE)
    if not shared:
        return {}
    for batch in in_batches(shared):
        missing = [{**dict(zip(SPOT, spot, strict=True)), **_row(NEVER, Pool())} for spot in batch]
        connection.execute(dialect_insert(connection, pools).on_conflict_do_nothing(), missing)
    return {
        spot: known
        for batch in in_batches(shared, 200)
        for spot, known in _stored(connection, or_(*map(_at, batch)), hold=True).items()
    }


def move(connection: Connection, held: Mapping[Spot, tuple[int, Pool]], added: Sums) -> None:
    """Bring held pools up to date after these sums were added to the cells."""
    for spot, (period, known) in held.items():
        then = max(part_of for _, _, part_of in added[spot])
        made = _anew(connection, spot, then) if then > period else _moved(connection, spot, period, known, added[spot])
        _keep(connection, spot, max(then, period), made)


def _moved(connection: Connection, spot: Spot, period: int, known: Pool, added: Mapping[Entry, Sum]) -> Pool:
    """A pool after these additions: by the rows of their repositories and of their people alone."""
    repositories, people = {entry[0] for entry in added}, {entry[1] for entry in added}
    touched = or_(cells.c.repository.in_(repositories), cells.c.teacher.in_(people - {""}))
    after = _rows(connection, spot, touched)
    before = {entry: _less(each, added.get(entry, (0, 0))) for entry, each in after.items()}
    old, new = (_part(faded(rows, period), repositories, people) for rows in (before, after))
    return Pool(*(whole - was + now for whole, was, now in zip(known, old, new, strict=True)))


def _part(rows: Mapping[Witness, Sum], repositories: Collection[str], people: Collection[str]) -> Pool:
    """What these repositories and these people count for in a pool."""
    of_repositories = pool({witness: each for witness, each in rows.items() if witness[0] in repositories})
    of_people = pool({witness: each for witness, each in rows.items() if witness[1] in people})
    return of_repositories._replace(people=of_people.people)


def _less(one: Sum, other: Sum) -> Sum:
    return one[0] - other[0], one[1] - other[1]


def refresh(connection: Connection, spots: Iterable[Spot], period: int) -> None:
    """Make pools of earlier periods those of this one."""
    for spot, (known, _) in hold(connection, spots).items():
        if known < period:
            _keep(connection, spot, period, _anew(connection, spot, period))


def replace(connection: Connection, sums: Sums) -> None:
    """Make these the pools of the whole table, in the latest period that it has evidence of."""
    period = max((entry[2] for rows in sums.values() for entry in rows), default=0)
    connection.execute(delete(pools))
    made = ((spot, pool(faded(rows, period))) for spot, rows in sums.items() if spot[0] not in PRIVATE)
    insert_many(
        connection, pools, ({**dict(zip(SPOT, spot, strict=True)), **_row(period, each)} for spot, each in made)
    )


def _anew(connection: Connection, spot: Spot, period: int) -> Pool:
    return pool(faded(_rows(connection, spot), period))


def _keep(connection: Connection, spot: Spot, period: int, made: Pool) -> None:
    connection.execute(pools.update().where(_at(spot)).values(**_row(period, made)))


def _row(period: int, made: Pool) -> Row:
    return {"period": period, **made._asdict()}


def _at(spot: Spot) -> ColumnElement[bool]:
    return and_(*(pools.c[name] == value for name, value in zip(SPOT, spot, strict=True)))


def at_levels(table: Table, levels: Sequence[Level], *also: ColumnElement[bool]) -> ColumnElement[bool]:
    """The rows of a table at these levels. Alternatives, as SQLite searches no index for a row value in a list."""
    return or_(false(), *(and_(table.c.scope == scope, table.c.key == key, *also) for scope, key in levels))


def rows_where(connection: Connection, which: ColumnElement[bool]) -> Sums:
    """These rows, by cell."""
    sums: Sums = {}
    columns = (cells.c[name] for name in (*SPOT, *ENTRY, "weight", "value"))
    for scope, key, strategy, factor, repository, teacher, period, weight, value in connection.execute(
        select(*columns).where(which)
    ):
        sums.setdefault((scope, key, strategy, factor), {})[repository, teacher, period] = (weight, value)
    return sums


def _rows(connection: Connection, spot: Spot, *which: ColumnElement[bool]) -> dict[Entry, Sum]:
    """These rows of one cell."""
    here = and_(*(cells.c[name] == value for name, value in zip(SPOT, spot, strict=True)), *which)
    return rows_where(connection, here).get(spot, {})


def _stored(connection: Connection, which: ColumnElement[bool], *, hold: bool = False) -> dict[Spot, tuple[int, Pool]]:
    query = select(*_ORDER, pools.c.period, *(pools.c[name] for name in Pool._fields)).where(which).order_by(*_ORDER)
    rows = connection.execute(query.with_for_update() if hold else query)
    return {(scope, key, of, factor): (period, Pool(*sums)) for scope, key, of, factor, period, *sums in rows}


# ── Reading

Found = dict[tuple[Level, str, Factor], Cell]


def read(
    connection: Connection, levels: Sequence[Level], repository: str, quorum: int, period: int
) -> tuple[Found, set[Spot]]:
    """The cells at these levels that hold evidence for a repository, as it counts in a period; and those whose pool is of an
    earlier one."""
    own = rows_where(connection, at_levels(cells, levels, cells.c.repository == repository))
    stored = _stored(connection, at_levels(pools, [level for level in levels if level.scope not in PRIVATE]))
    found: Found = {}
    old: set[Spot] = set()
    for spot in own.keys() | stored.keys():
        mine, factor = faded(own.get(spot, {}), period), Factor(spot[3])
        of, whole = stored.get(spot, (NEVER, Pool()))
        others = Pool() if spot[0] in PRIVATE else _without(whole, mine, quorum) if of == period else None
        old |= {spot} if others is None and of < period else set()
        if others is None:
            cell = reaching(faded(_rows(connection, spot), period), repository, factor, quorum)
        else:
            cell = _reached(mine, others, factor, quorum)
        if cell is not None:
            found[Level(spot[0], spot[1]), spot[2], factor] = cell
    return found, old


def _without(whole: Pool, own: Mapping[Witness, Sum], quorum: int) -> Pool | None:
    """A pool without what is in it of one repository; None where the rows must tell whether others are a quorum of people, as
    some of this repository's may have taught elsewhere too."""
    mine = pool(own)
    others = Pool(*(all_ - one for all_, one in zip(whole, mine, strict=True)))
    return None if others.people < quorum <= whole.people else others
