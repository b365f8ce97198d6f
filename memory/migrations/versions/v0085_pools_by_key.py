"""SQLite keeps the rows of pools in the order of their key: a choice reads them in half the time."""

from __future__ import annotations

from alembic import op
from sqlalchemy import text

from memory.store import totals
from memory.store.tables import pools

revision = "0085"
down_revision = "0080"
branch_labels = None
depends_on = None

_MADE_BY = text("SELECT sql FROM sqlite_master WHERE name = :name")


def upgrade() -> None:
    """Pools are derived from the cells."""
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        return
    if "WITHOUT ROWID" not in connection.execute(_MADE_BY, {"name": pools.name}).scalar_one():
        pools.drop(connection)
        pools.create(connection)
        totals.replace_pools(connection)
