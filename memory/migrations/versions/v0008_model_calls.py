"""What calls to a model may cost, and did cost."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    names = ("task_id", "repository", "purpose", "tier", "model", "state")
    numbers = ("reserved_tokens", "reserved_micros", "prompt", "cached", "completion", "micros")
    op.create_table(
        "model_calls",
        sa.Column("id", sa.String(), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in names),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in numbers),
        sa.Column("estimated", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_model_calls"),
    )
    op.create_index("ix_model_calls_task_id", "model_calls", ["task_id"])
    op.create_index("ix_model_calls_created_at", "model_calls", ["created_at"])
