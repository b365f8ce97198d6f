"""The first schema: the tables as memory.store.tables declares them now, so a later revision changes older databases alone."""

from __future__ import annotations

from alembic import op

from memory.store.tables import APPEND_ONLY, metadata

revision = "0085"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    metadata.create_all(op.get_bind(), checkfirst=False)
    for table in APPEND_ONLY:
        forbid_changes(table)


def forbid_changes(table: str) -> None:
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
