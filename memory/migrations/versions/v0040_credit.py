"""The strategy that an outcome is credited to, beside the chosen one, and for how much of an observation; and the pools of
shared cells, which a choice reads instead of every repository's rows.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Connection, Integer, String, inspect

from memory.store import totals
from memory.store.tables import cells, outcomes, pools

revision = "0040"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Earlier outcomes credit nothing: which strategy an edit was of was not kept."""
    connection = op.get_bind()
    add_credit(connection)
    if inspect(connection).has_table(pools.name):
        return
    pools.create(connection)
    (index,) = cells.indexes
    index.create(connection)
    totals.replace_pools(connection)


def add_credit(connection: Connection) -> None:
    """Add the columns where they are missing. An earlier revision derives the table anew, which reads them."""
    if "credited" in {column["name"] for column in inspect(connection).get_columns(outcomes.name)}:
        return
    op.add_column(outcomes.name, Column("credited", String, nullable=False, server_default=""))
    op.add_column(outcomes.name, Column("credit_millionths", Integer, nullable=False, server_default="0"))
