"""Skills, and what failed attempts ruled out."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "skills",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("stamp", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_skills"),
    )
    op.create_table(
        "reflections",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_reflections"),
        sa.ForeignKeyConstraint(["id"], ["experiences.id"], name="fk_reflections_id", ondelete="CASCADE"),
    )
    op.create_index("ix_reflections_repository_created_at", "reflections", ["repository", "created_at"])
