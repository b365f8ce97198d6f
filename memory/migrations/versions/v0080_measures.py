"""The table of what all processes measure, and the trace that a job belongs to."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, String, inspect

from memory.store.tables import jobs, measures

revision = "0080"
down_revision = "0075"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A job from before belongs to no trace."""
    connection = op.get_bind()
    measures.create(connection, checkfirst=True)
    if "trace" not in {column["name"] for column in inspect(connection).get_columns(jobs.name)}:
        op.add_column(jobs.name, Column("trace", String))
