"""The spine: inbox, ledger, memory, and what stands on GitHub."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

LEDGER = ("decisions", "outcomes", "signals", "withdrawals")


def upgrade() -> None:
    _create_inbox()
    _create_ledger()
    _create_cells()
    _create_memory()
    _create_github()
    for table in LEDGER:
        _forbid_changes(table)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)


def _name(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=False)


def _integer(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False)


def _big(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False)


def _time(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _create_inbox() -> None:
    op.create_table(
        "deliveries",
        _name("id"),
        _name("event"),
        _time("received_at"),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
    )
    op.create_table(
        "jobs",
        _name("id"),
        sa.Column("delivery_id", sa.String()),
        _name("kind"),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        _name("state"),
        _time("created_at"),
        _time("run_after"),
        _time("sent_at", nullable=True),
        _integer("attempts"),
        _integer("abandoned"),
        _integer("token"),
        _name("worker"),
        _time("lease_until", nullable=True),
        _time("ended_at", nullable=True),
        _text("reason"),
        _text("note"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sa.ForeignKeyConstraint(["delivery_id"], ["deliveries.id"], name="fk_jobs_delivery_id"),
    )
    op.create_index("ix_jobs_state_run_after", "jobs", ["state", "run_after"])
    op.create_table(
        "effects",
        _name("key"),
        _name("job_id"),
        _time("begun_at"),
        _time("done_at", nullable=True),
        _text("reference"),
        sa.PrimaryKeyConstraint("key", name="pk_effects"),
    )


def _create_ledger() -> None:
    op.create_table(
        "decisions",
        _name("id"),
        _name("task_id"),
        _name("subject"),
        _name("kind"),
        _name("repository"),
        _name("label"),
        _name("family"),
        _name("arm"),
        _name("chosen"),
        _time("created_at"),
        _text("body"),
        sa.PrimaryKeyConstraint("id", name="pk_decisions"),
    )
    op.create_index("ix_decisions_task_id", "decisions", ["task_id"])
    op.create_index("ix_decisions_subject", "decisions", ["subject"])
    op.create_table(
        "outcomes",
        _name("decision_id"),
        sa.Column("target", sa.Double(), nullable=False),
        _integer("target_millionths"),
        _time("created_at"),
        _text("body"),
        sa.PrimaryKeyConstraint("decision_id", name="pk_outcomes"),
        sa.ForeignKeyConstraint(["decision_id"], ["decisions.id"], name="fk_outcomes_decision_id"),
    )
    op.create_table(
        "withdrawals",
        _name("decision_id"),
        _time("created_at"),
        sa.PrimaryKeyConstraint("decision_id", name="pk_withdrawals"),
        sa.ForeignKeyConstraint(["decision_id"], ["outcomes.decision_id"], name="fk_withdrawals_decision_id"),
    )
    _create_signals()


def _create_signals() -> None:
    op.create_table(
        "signals",
        _name("id"),
        _name("decision_id"),
        _name("kind"),
        _name("source"),
        _name("retracts"),
        _big("actor"),
        _name("login"),
        _integer("weight_millionths"),
        _name("weights_version"),
        _time("created_at"),
        _text("body"),
        sa.PrimaryKeyConstraint("id", name="pk_signals"),
        sa.ForeignKeyConstraint(["decision_id"], ["decisions.id"], name="fk_signals_decision_id"),
        sa.UniqueConstraint(
            "decision_id", "kind", "source", "retracts", name="uq_signals_decision_id_kind_source_retracts"
        ),
    )
    op.create_index("ix_signals_retracts", "signals", ["retracts"])
    op.create_index("ix_signals_login", "signals", ["login"])
    op.create_index("ix_signals_actor_created_at", "signals", ["actor", "created_at"])


def _create_cells() -> None:
    op.create_table(
        "cells",
        _name("repository"),
        _name("scope"),
        _name("key"),
        _name("strategy"),
        _name("factor"),
        _name("teacher"),
        _big("weight"),
        _big("value"),
        sa.PrimaryKeyConstraint("repository", "scope", "key", "strategy", "factor", "teacher", name="pk_cells"),
    )
    by_person = ["scope", "key", "strategy", "factor", "teacher"]
    op.create_index("ix_cells_scope_key_strategy_factor_teacher", "cells", by_person)
    op.create_table(
        "pools",
        _name("scope"),
        _name("key"),
        _name("strategy"),
        _name("factor"),
        _big("weight"),
        _big("value"),
        _integer("repositories"),
        _integer("people"),
        sa.PrimaryKeyConstraint("scope", "key", "strategy", "factor", name="pk_pools"),
    )


def _create_memory() -> None:
    op.create_table(
        "tasks",
        _name("id"),
        _name("kind"),
        _name("repository"),
        _time("created_at"),
        _name("status"),
        _text("summary"),
        _text("body"),
        sa.PrimaryKeyConstraint("id", name="pk_tasks"),
    )
    op.create_index("ix_tasks_repository_created_at", "tasks", ["repository", "created_at"])
    op.create_table(
        "attempts",
        _name("task_id"),
        _integer("position"),
        _name("decision_id"),
        _text("body"),
        sa.PrimaryKeyConstraint("task_id", "position", name="pk_attempts"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_attempts_task_id"),
        sa.UniqueConstraint("task_id", "decision_id", name="uq_attempts_task_id_decision_id"),
    )
    op.create_table(
        "experiences",
        _name("id"),
        _big("sequence"),
        *(_name(name) for name in ("repository", "error_type", "family", "outcome", "likeness", "edit")),
        sa.Column("same_as", sa.String()),
        _integer("copies"),
        _integer("helped"),
        sa.Column("forgotten", sa.Boolean(), nullable=False),
        _time("created_at"),
        _text("text"),
        _text("body"),
        sa.PrimaryKeyConstraint("id", name="pk_experiences"),
        sa.UniqueConstraint("sequence", name="uq_experiences_sequence"),
    )
    op.create_index("ix_experiences_likeness", "experiences", ["likeness"])
    op.create_index("ix_experiences_edit", "experiences", ["edit"])
    op.create_index("ix_experiences_repository_created_at", "experiences", ["repository", "created_at"])
    op.create_table(
        "vectors",
        _name("embedder_id"),
        _name("view"),
        _name("experience_id"),
        _integer("dimensions"),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("embedder_id", "view", "experience_id", name="pk_vectors"),
        sa.ForeignKeyConstraint(
            ["experience_id"], ["experiences.id"], name="fk_vectors_experience_id", ondelete="CASCADE"
        ),
    )


def _create_github() -> None:
    op.create_table(
        "posts",
        _name("repository"),
        _name("kind"),
        _big("github_id"),
        _big("number"),
        sa.Column("watched", sa.Boolean(), nullable=False),
        _time("created_at"),
        _text("body"),
        sa.PrimaryKeyConstraint("repository", "kind", "github_id", name="pk_posts"),
    )
    op.create_index("ix_posts_repository_number", "posts", ["repository", "number"])
    op.create_table(
        "sightings",
        _name("repository"),
        _big("number"),
        _name("decision_id"),
        _name("fingerprint"),
        _time("created_at"),
        _text("body"),
        sa.PrimaryKeyConstraint("repository", "number", "decision_id", name="pk_sightings"),
    )
    op.create_index("ix_sightings_fingerprint", "sightings", ["fingerprint"])
    op.create_table(
        "repositories",
        _name("full_name"),
        _big("id"),
        _big("installation_id"),
        sa.PrimaryKeyConstraint("full_name", name="pk_repositories"),
    )


def _forbid_changes(table: str) -> None:
    """Make `table` append-only for everyone, ourselves included."""
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
