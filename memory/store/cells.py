"""The table that learning reads: sums over the ledger, in millionths, so that no order of adding matters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, delete, select, tuple_

from memory.model import Cell, Contribution, Factor, Level
from memory.store.engine import dialect_insert
from memory.store.tables import cells

MILLION = 1_000_000

CellKey = tuple[str, str, str, str]
Sums = dict[CellKey, tuple[int, int]]
"""Weight and value, in millionths, of each (scope, key, strategy, factor)."""


def fold(sums: Sums, contributions: Iterable[Contribution]) -> None:
    """Add contributions to `sums`, in place."""
    for part in contributions:
        key = (part.level.scope, part.level.key, part.strategy, str(part.factor))
        weight, value = sums.get(key, (0, 0))
        sums[key] = (weight + part.weight, value + part.value)


def add(connection: Connection, contributions: Iterable[Contribution]) -> None:
    """Add to the stored cells. Rows are touched in the order of their keys, so that two writers cannot deadlock."""
    sums: Sums = {}
    fold(sums, contributions)
    write(connection, sums)


def write(connection: Connection, sums: Sums) -> None:
    """Add `sums` to the stored cells."""
    if not sums:
        return
    insert = dialect_insert(connection, cells)
    addition = {name: cells.c[name] + insert.excluded[name] for name in ("weight", "value")}
    statement = insert.on_conflict_do_update(index_elements=list(cells.primary_key), set_=addition)
    names = ("scope", "key", "strategy", "factor", "weight", "value")
    connection.execute(statement, [dict(zip(names, (*key, *sums[key]), strict=True)) for key in sorted(sums)])


def read(connection: Connection, levels: Sequence[Level]) -> Mapping[tuple[Level, str, Factor], Cell]:
    """The cells at these levels that hold any evidence."""
    wanted = tuple_(cells.c.scope, cells.c.key).in_([(level.scope, level.key) for level in levels])
    rows = connection.execute(select(cells).where(wanted, cells.c.weight > 0))
    return {
        (Level(scope=row.scope, key=row.key), row.strategy, Factor(row.factor)): Cell(
            weight=row.weight / MILLION, mean=row.value / row.weight
        )
        for row in rows
    }


def clear(connection: Connection) -> None:
    connection.execute(delete(cells))


def digest(connection: Connection) -> str:
    """SHA-256 over the cells. Cells that hold nothing (any more) do not count; the database's collation neither."""
    rows = connection.execute(select(cells).where((cells.c.weight != 0) | (cells.c.value != 0)))
    lines = sorted("\0".join(map(str, row)) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
