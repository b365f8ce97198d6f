"""The ledger's nouns as rows: the body whole, and beside it the columns that they are found by or summed up by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import ReturningInsert

from memory.errors import StoreError
from memory.model import Decision, Outcome, Signal
from memory.store.bodies import dump
from memory.store.engine import Database, dialect_insert, in_batches
from memory.store.pools import MILLION
from memory.store.tables import decisions

Row = dict[str, object]


def of_decision(decision: Decision) -> Row:
    return {
        "id": decision.id,
        "task_id": decision.task_id,
        "subject": decision.subject,
        "kind": decision.state.kind,
        "repository": decision.state.repository,
        "label": decision.state.label,
        "family": decision.state.family,
        "place": decision.state.place,
        "arm": decision.arm,
        "chosen": decision.chosen,
        "created_at": decision.created_at,
        "body": dump(decision),
    }


def of_outcome(outcome: Outcome) -> Row:
    return {
        "decision_id": outcome.decision_id,
        "target": outcome.target,
        "target_millionths": round(outcome.target * MILLION),
        "created_at": outcome.created_at,
        "body": dump(outcome),
    }


def of_signal(signal: Signal) -> Row:
    return {
        "id": signal.id,
        "decision_id": signal.decision_id,
        "kind": signal.kind,
        "source": signal.source,
        "retracts": signal.retracts,
        "actor": signal.actor.id,
        "login": signal.actor.login,
        "weight_millionths": round(signal.weight * MILLION),
        "weights_version": signal.weights_version,
        "created_at": signal.created_at,
        "body": dump(signal),
    }


def insert(connection: Connection, table: Table, rows: Sequence[Row]) -> list[str]:
    """Insert the rows of which no unique key is taken, in the order of their ids; gives the ids of those inserted."""
    if not rows:
        return []
    (key,) = table.primary_key
    statement = dialect_insert(connection, table).on_conflict_do_nothing().returning(key)
    in_lock_order = sorted(rows, key=lambda row: str(row[key.name]))
    return list(connection.execute(statement, in_lock_order).scalars())


def insert_soon(database: Database, table: Table, row: Row) -> bool:
    """Insert one row unless its key is taken, in one statement whose commit does not wait for PostgreSQL's disk.

    Its log is written in order, so that any later commit takes this one along: what a decision leads to (an outcome, an
    effect on GitHub) is never kept without it.
    """
    return bool(database.note(_soon(database.engine.dialect.name, table), row))


@cache
def _soon(dialect: str, table: Table) -> ReturningInsert[Any]:
    (key,) = table.primary_key
    if dialect == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing().returning(key)
    lazily = func.set_config("synchronous_commit", "off", True)  # until the end of this very statement
    return postgresql.insert(table).on_conflict_do_nothing().returning(key, lazily)


def require_decisions(connection: Connection, ids: Iterable[str]) -> None:
    """Raise StoreError unless each of these decisions is in the ledger."""
    for batch in in_batches(sorted(set(ids))):
        known = set(connection.execute(select(decisions.c.id).where(decisions.c.id.in_(batch))).scalars())
        for missing in batch:
            if missing not in known:
                raise StoreError(f"no decision {missing}; append the decision before what came of it")
