"""What became of the findings in a repository's past, and how far that was read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "pasts",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("reading", sa.String(), nullable=False),
        sa.Column("sha", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("lessons", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("repository", name="pk_pasts"),
    )
    op.create_table(
        "past_findings",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("sha", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("repository", "sha", "path", "line", "rule", name="pk_past_findings"),
    )
