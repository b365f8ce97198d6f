"""The tables of what the agent saw and did, and of what people said about it."""

from __future__ import annotations

from sqlalchemy import Column, Index, LargeBinary, String, Table

from memory.store.columns import FreeText, UtcDateTime
from memory.store.tables import metadata

trajectories = Table(
    "trajectories",
    metadata,
    Column("decision_id", String, primary_key=True),
    Column("repository", String, nullable=False),
    Column("text", FreeText, nullable=False),
    Column("messages", FreeText, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "repository", "created_at"),
)

pictures = Table(
    "pictures",
    metadata,
    Column("experience_id", String, primary_key=True),
    Column("digest", String, primary_key=True),
    Column("media_type", String, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

reasons = Table(
    "reasons",
    metadata,
    Column("signal_id", String, primary_key=True),
    Column("text", FreeText, nullable=False),
)
