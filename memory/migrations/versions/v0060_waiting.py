"""How often and since when a job waits for what is away, its installation and its conversation, and the installations that
GitHub asked to wait.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, String, inspect

from memory.store.database import UtcDateTime
from memory.store.tables import holds, jobs

revision = "0060"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A job from before has no installation and no conversation: it waits for itself alone."""
    connection = op.get_bind()
    if "waits" in {column["name"] for column in inspect(connection).get_columns(jobs.name)}:
        return
    op.add_column(jobs.name, Column("waits", Integer, nullable=False, server_default="0"))
    op.add_column(jobs.name, Column("waiting_since", UtcDateTime))
    op.add_column(jobs.name, Column("installation_id", BigInteger))
    op.add_column(jobs.name, Column("conversation", String))
    op.create_index("ix_jobs_conversation", jobs.name, ["conversation"])
    holds.create(connection)
