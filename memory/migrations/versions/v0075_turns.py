"""The columns and the index by which the job is found whose turn it is."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, inspect, text

from memory.store.tables import jobs

revision = "0075"
down_revision = "0070"
branch_labels = None
depends_on = None

_NEW_INDEX = "ix_jobs_lane_share_run_after"
_LANES = """
    UPDATE jobs SET lane = coalesce(installation_id, 0) + 281474976710656 * CASE
        WHEN kind IN ('answer', 'feedback', 'track', 'ci', 'report', 'duplicate') THEN 0
        WHEN kind IN ('question', 'locate', 'share') THEN 1
        WHEN kind = 'review' THEN 2
        WHEN kind = 'fix' THEN 3
        ELSE 4 END
    WHERE state <> 'done'
"""


def upgrade() -> None:
    """Those of an installation share one turn where they are from before. One that is done is never given back."""
    connection = op.get_bind()
    if "lane" in {column["name"] for column in inspect(connection).get_columns(jobs.name)}:
        return
    for name in ("lane", "share"):
        op.add_column(jobs.name, Column(name, BigInteger, nullable=False, server_default="0"))
    connection.execute(text(_LANES))
    next(index for index in jobs.indexes if index.name == _NEW_INDEX).create(connection)
