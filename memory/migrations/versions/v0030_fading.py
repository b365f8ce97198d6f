"""What the last attempt did to the failure, with each decision, and the period of the evidence in the table, which fades."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, String, inspect

from memory.migrations.versions.v0040_credit import add_credit
from memory.rewards import contributions_of_feedback, contributions_of_outcomes
from memory.store import totals
from memory.store.tables import cells, decisions, pools

revision = "0030"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The table is derived anew: a sum does not say when its evidence came."""
    connection = op.get_bind()
    if "period" in {column["name"] for column in inspect(connection).get_columns(cells.name)}:
        return
    op.add_column(decisions.name, Column("after", String, nullable=False, server_default=""))
    add_credit(connection)
    cells.drop(connection)
    cells.create(connection)
    pools.create(connection, checkfirst=True)
    totals.replace(connection, totals.derived(connection, contributions_of_outcomes, contributions_of_feedback))
