"""The table of calls to a model: what each may cost until it has ended, and what it did cost."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, String, Table

from memory.store.columns import UtcDateTime
from memory.store.tables import metadata

NUMBERS = ("reserved_tokens", "reserved_micros", "prompt", "cached", "completion", "micros")

model_calls = Table(
    "model_calls",
    metadata,
    Column("id", String, primary_key=True),
    Column("task_id", String, nullable=False, index=True),
    *(Column(name, String, nullable=False) for name in ("repository", "purpose", "tier", "model", "state")),
    *(Column(name, BigInteger, nullable=False) for name in NUMBERS),
    Column("estimated", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "created_at"),
)
"""Money is in micros, millionths of a US dollar. A repository's day is summed from the day of all, which is short."""
