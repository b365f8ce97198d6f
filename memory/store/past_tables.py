"""The tables of repositories' pasts."""

from __future__ import annotations

from sqlalchemy import Column, Integer, String, Table, Text

from memory.store.tables import metadata

pasts = Table(
    "pasts",
    metadata,
    Column("repository", String, primary_key=True),
    *(Column(name, String, nullable=False) for name in ("reading", "sha", "lessons")),
    Column("position", Integer, nullable=False),
)

past_findings = Table(
    "past_findings",
    metadata,
    *(Column(name, String, primary_key=True) for name in ("repository", "sha", "path", "rule")),
    Column("line", Integer, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("body", Text, nullable=False),
)
