"""Single statements, straight to PostgreSQL's driver: for a choice, which SQLAlchemy would cost more than the server does.

SQLAlchemy still writes the statements, each once a process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Any

import psycopg
from sqlalchemy import CompoundSelect, Dialect, Engine, TypeDecorator
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import ReturningInsert

Statement = CompoundSelect[Any] | ReturningInsert[Any]

Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class _Written:
    """A statement as text, the values it brings along, and by name the types of ours that values pass through."""

    text: str
    constants: Mapping[str, object]
    types: Mapping[str, TypeDecorator[Any]]


def rows(engine: Engine, statement: Statement, values: Mapping[str, object]) -> Rows:
    """Execute one statement without a transaction around it; its rows. `values` names all of its parameters.

    Raises the driver's errors; a connection on which something failed is not used again.
    """
    written = _written(statement, engine.dialect)
    given = {**written.constants, **values}
    for name, kind in written.types.items():
        given[name] = kind.process_bind_param(given[name], engine.dialect)
    pooled = engine.raw_connection()
    driver = pooled.driver_connection
    assert isinstance(driver, psycopg.Connection)
    with ExitStack() as failing:
        failing.callback(pooled.invalidate)
        driver.autocommit = True
        found = driver.execute(written.text, given).fetchall()
        driver.autocommit = False
        failing.pop_all()
    pooled.close()
    return found


@cache
def _written(statement: Statement, dialect: Dialect) -> _Written:
    compiled = statement.compile(dialect=dialect)
    assert isinstance(compiled, SQLCompiler)
    types = {name: each.type for name, each in compiled.binds.items() if isinstance(each.type, TypeDecorator)}
    return _Written(compiled.string, compiled.params, types)
