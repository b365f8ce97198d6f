"""What the file of a finding is for, beside its rule: decisions that were made without it keep their levels."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("decisions", sa.Column("place", sa.String(), nullable=False, server_default=""))
