"""Heartbeats of processes, counters of ended jobs, and the indexes by which old deliveries, jobs and effects are found."""

from __future__ import annotations

from alembic import op
from sqlalchemy import inspect

from memory.store.tables import deliveries, effects, ended_jobs, heartbeats, jobs

revision = "0050"
down_revision = "0040"
branch_labels = None
depends_on = None

_NEW_INDEXES = (
    (deliveries, "ix_deliveries_received_at"),
    (jobs, "ix_jobs_delivery_id"),
    (effects, "ix_effects_begun_at"),
)


def upgrade() -> None:
    connection = op.get_bind()
    if inspect(connection).has_table(heartbeats.name):
        return
    heartbeats.create(connection)
    ended_jobs.create(connection)
    for table, name in _NEW_INDEXES:
        next(index for index in table.indexes if index.name == name).create(connection)
