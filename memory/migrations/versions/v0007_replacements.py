"""What people replaced by what in a repository's past."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pasts", sa.Column("conventions", sa.Text(), nullable=False, server_default=""))
    names = ("repository", "sha", "path", "before", "after")
    op.create_table(
        "replacements",
        *(sa.Column(name, sa.String(), nullable=False) for name in names),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("places", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint(*names, name="pk_replacements"),
    )
