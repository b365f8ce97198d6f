"""The pool of each repository beside that of all: a choice reads one row of its own for each cell."""

from __future__ import annotations

from alembic import op
from sqlalchemy import inspect

from memory.store import totals
from memory.store.tables import pools

revision = "0070"
down_revision = "0060"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Pools are derived from the cells."""
    connection = op.get_bind()
    if "repository" in {column["name"] for column in inspect(connection).get_columns(pools.name)}:
        return
    pools.drop(connection)
    pools.create(connection)
    totals.replace_pools(connection)
