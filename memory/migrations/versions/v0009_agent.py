"""How the agent went about repairs that were proven, the pictures that it was shown, and why people rejected what it did."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "trajectories",
        sa.Column("decision_id", sa.String(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("messages", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("decision_id", name="pk_trajectories"),
    )
    op.create_table(
        "pictures",
        sa.Column("experience_id", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("experience_id", "digest", name="pk_pictures"),
    )
    op.create_table(
        "reasons",
        sa.Column("signal_id", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("signal_id", name="pk_reasons"),
    )
    op.create_index("ix_trajectories_repository_created_at", "trajectories", ["repository", "created_at"])


def downgrade() -> None:
    op.drop_table("reasons")
    op.drop_table("pictures")
    op.drop_table("trajectories")
