"""The first schema. Numbers below 0010 belong to databases from before it, which are refused (memory.store.schema)."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = None
branch_labels = None
depends_on = None

APPEND_ONLY = ("decisions", "outcomes", "signals", "withdrawals", "policy_events")

Columns = list[sa.Column[Any]]


def upgrade() -> None:
    _create_work()
    _create_ledger()
    _create_sums()
    _create_memory()
    for table in APPEND_ONLY:
        _forbid_changes(table)


def _names(*names: str) -> Columns:
    return [sa.Column(name, sa.String(), nullable=False) for name in names]


def _texts(*names: str) -> Columns:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def _integers(*names: str) -> Columns:
    return [sa.Column(name, sa.Integer(), nullable=False) for name in names]


def _big(*names: str) -> Columns:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in names]


def _times(*names: str, nullable: bool = False) -> Columns:
    return [sa.Column(name, sa.DateTime(timezone=True), nullable=nullable) for name in names]


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False)


def _bytes(name: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary(), nullable=False)


def _table(name: str, key: tuple[str, ...], *columns: sa.Column[Any] | sa.Constraint) -> None:
    op.create_table(name, *columns, sa.PrimaryKeyConstraint(*key, name=f"pk_{name}"))


def _refers(table: str, column: str, target: str, ondelete: str | None = None) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", ondelete=ondelete)


def _unique(table: str, *columns: str) -> sa.UniqueConstraint:
    return sa.UniqueConstraint(*columns, name=f"uq_{table}_{'_'.join(columns)}")


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))


def _create_work() -> None:
    _table("deliveries", ("id",), *_names("id", "event"), *_times("received_at"))
    _table(
        "jobs",
        ("id",),
        *_names("id"),
        sa.Column("delivery_id", sa.String()),
        *_names("kind"),
        _bytes("payload"),
        *_names("state"),
        *_times("created_at", "run_after"),
        *_times("sent_at", nullable=True),
        *_integers("attempts", "abandoned", "token"),
        *_names("worker"),
        *_times("lease_until", "ended_at", nullable=True),
        *_texts("reason", "note"),
        _refers("jobs", "delivery_id", "deliveries.id"),
    )
    _index("jobs", "state", "run_after")
    _table(
        "effects",
        ("key",),
        *_names("key", "job_id"),
        *_times("begun_at"),
        *_times("done_at", nullable=True),
        *_texts("reference"),
    )
    _table(
        "tasks",
        ("id",),
        *_names("id", "kind", "repository"),
        *_times("created_at"),
        *_names("status"),
        *_texts("summary", "body"),
    )
    _index("tasks", "repository", "created_at")
    _table(
        "attempts",
        ("task_id", "position"),
        *_names("task_id"),
        *_integers("position"),
        *_names("decision_id"),
        *_texts("body"),
        _refers("attempts", "task_id", "tasks.id"),
        _unique("attempts", "task_id", "decision_id"),
    )
    _table(
        "model_calls",
        ("id",),
        *_names("id", "task_id", "repository", "purpose", "tier", "model", "state"),
        *_big("reserved_tokens", "reserved_micros", "prompt", "cached", "completion", "micros"),
        _flag("estimated"),
        *_times("created_at"),
    )
    _index("model_calls", "task_id")
    _index("model_calls", "created_at")


def _create_ledger() -> None:
    _table(
        "decisions",
        ("id",),
        *_names("id", "task_id", "subject", "kind", "repository", "label", "family", "place", "arm", "chosen"),
        *_times("created_at"),
        *_texts("body"),
    )
    _index("decisions", "task_id")
    _index("decisions", "subject")
    _table(
        "outcomes",
        ("decision_id",),
        *_names("decision_id"),
        sa.Column("target", sa.Double(), nullable=False),
        *_integers("target_millionths"),
        *_times("created_at"),
        *_texts("body"),
        _refers("outcomes", "decision_id", "decisions.id"),
    )
    _table(
        "withdrawals",
        ("decision_id",),
        *_names("decision_id"),
        *_times("created_at"),
        _refers("withdrawals", "decision_id", "outcomes.decision_id"),
    )
    _table(
        "signals",
        ("id",),
        *_names("id", "decision_id", "kind", "source", "retracts"),
        *_big("actor"),
        *_names("login"),
        *_integers("weight_millionths"),
        *_names("weights_version"),
        *_times("created_at"),
        *_texts("body"),
        _refers("signals", "decision_id", "decisions.id"),
        _unique("signals", "decision_id", "kind", "source", "retracts"),
    )
    _index("signals", "retracts")
    _index("signals", "login")
    _index("signals", "actor", "created_at")
    _table("policy_events", ("id",), *_names("id"), *_times("created_at"), *_texts("body"))


def _create_sums() -> None:
    spot = ("scope", "key", "strategy", "factor")
    _table(
        "cells",
        ("repository", *spot, "teacher"),
        *_names("repository", *spot, "teacher"),
        *_big("weight", "value"),
    )
    _index("cells", *spot, "teacher")
    _table("pools", spot, *_names(*spot), *_big("weight", "value"), *_integers("repositories", "people"))


def _create_memory() -> None:
    _table(
        "experiences",
        ("id",),
        *_names("id"),
        *_big("sequence"),
        *_names("repository", "error_type", "family", "outcome", "likeness", "edit"),
        sa.Column("same_as", sa.String()),
        *_integers("copies", "helped"),
        _flag("forgotten"),
        *_times("created_at"),
        *_texts("text", "body"),
        _unique("experiences", "sequence"),
    )
    _index("experiences", "likeness")
    _index("experiences", "edit")
    _index("experiences", "repository", "created_at")
    _table(
        "vectors",
        ("embedder_id", "view", "experience_id"),
        *_names("embedder_id", "view", "experience_id"),
        *_integers("dimensions"),
        _bytes("data"),
        _refers("vectors", "experience_id", "experiences.id", "CASCADE"),
    )
    _table(
        "posts",
        ("repository", "kind", "github_id"),
        *_names("repository", "kind"),
        *_big("github_id", "number"),
        _flag("watched"),
        *_times("created_at"),
        *_texts("body"),
    )
    _index("posts", "repository", "number")
    _table(
        "sightings",
        ("repository", "number", "decision_id"),
        *_names("repository"),
        *_big("number"),
        *_names("decision_id", "fingerprint"),
        *_times("created_at"),
        *_texts("body"),
    )
    _index("sightings", "fingerprint")
    _table("documents", ("kind", "key"), *_names("kind", "key", "owner"), *_times("created_at"), *_texts("body"))
    _index("documents", "kind", "owner", "created_at")


def _forbid_changes(table: str) -> None:
    """Make `table` append-only for every role, ours included."""
    refusal = f"{table} is append-only"
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{refusal}'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_refuse()"
    )
