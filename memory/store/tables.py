"""Every table. Columns hold what rows are found by or summed up by; the rest of a noun is JSON in `body`."""

from typing import TypeVar

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeEngine

from memory.store.database import FreeText, UtcDateTime

Value = TypeVar("Value")

_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
metadata = MetaData(naming_convention=_NAMES)


def _keys(*names: str) -> list[Column[str]]:
    return [Column(name, String, primary_key=True) for name in names]


def _required(kind: type[TypeEngine[Value]], *names: str) -> list[Column[Value]]:
    return [Column(name, kind, nullable=False) for name in names]


# ── Work ───────────────────────────────────────────────────────────────────────────────────────────────────────────

deliveries = Table(
    "deliveries",
    metadata,
    *_keys("id"),
    *_required(String, "event"),
    Column("received_at", UtcDateTime, nullable=False, index=True),
    Column("body_hash", String, unique=True),
)

_READY = text("state = 'ready'")

jobs = Table(
    "jobs",
    metadata,
    *_keys("id"),
    Column("delivery_id", String, ForeignKey("deliveries.id"), index=True),
    *_required(String, "kind"),
    Column("payload", LargeBinary, nullable=False),
    *_required(String, "state"),
    *_required(UtcDateTime, "created_at", "run_after"),
    Column("sent_at", UtcDateTime),
    *_required(Integer, "attempts", "abandoned", "token"),
    Column("waits", Integer, nullable=False, server_default="0"),
    Column("waiting_since", UtcDateTime),
    *_required(String, "worker"),
    Column("lease_until", UtcDateTime),
    Column("ended_at", UtcDateTime),
    Column("reason", FreeText, nullable=False),
    *(Column(name, BigInteger) for name in ("repository_id", "number", "actor_id", "installation_id")),
    Column("conversation", String, index=True),
    *(Column(name, BigInteger, nullable=False, server_default="0") for name in ("lane", "share")),
    Column("trace", String),
    Index(None, "state", "run_after"),
    Index(None, "lane", "share", "run_after", sqlite_where=_READY, postgresql_where=_READY),
    Index(None, "ended_at"),
    Index(None, "repository_id", "number"),
)

holds = Table(
    "holds",
    metadata,
    Column("installation_id", BigInteger, primary_key=True, autoincrement=False),
    Column("until", UtcDateTime, nullable=False),
)
"""Installations that GitHub asked to wait: until then none of their jobs is leased."""

effects = Table(
    "effects",
    metadata,
    *_keys("key"),
    *_required(String, "job_id"),
    Column("begun_at", UtcDateTime, nullable=False, index=True),
    Column("done_at", UtcDateTime),
    Column("reference", Text, nullable=False),
)

heartbeats = Table(
    "heartbeats",
    metadata,
    *_keys("process"),
    *_required(String, "kind"),
    *_required(UtcDateTime, "at", "until"),
)

measures = Table(
    "measures",
    metadata,
    *_keys("name", "labels"),
    Column("value", Double, nullable=False),
    Column("until", UtcDateTime),
)
"""What all processes measured; `labels` are their values as a JSON array. A row counts until then."""

tasks = Table(
    "tasks",
    metadata,
    *_keys("id"),
    *_required(String, "kind", "repository"),
    Column("created_at", UtcDateTime, nullable=False),
    *_required(String, "status"),
    *_required(Text, "summary", "body"),
    Index(None, "repository", "created_at"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("task_id", String, ForeignKey("tasks.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    *_required(String, "decision_id"),
    Column("body", Text, nullable=False),
    UniqueConstraint("task_id", "decision_id"),
)

model_calls = Table(
    "model_calls",
    metadata,
    *_keys("id"),
    Column("task_id", String, nullable=False, index=True),
    *_required(String, "repository", "purpose", "tier", "model", "state"),
    *_required(BigInteger, "prompt", "cached", "completion", "micros"),
    Column("estimated", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "created_at"),
)
"""Money is in micros, millionths of a US dollar. A repository's day is summed from the day of all, which is short."""

# ── The ledger ─────────────────────────────────────────────────────────────────────────────────────────────────────

decisions = Table(
    "decisions",
    metadata,
    *_keys("id"),
    Column("task_id", String, nullable=False, index=True),
    Column("subject", String, nullable=False, index=True),
    *_required(String, "kind", "repository", "label", "family", "place", "after", "arm", "chosen"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
)

outcomes = Table(
    "outcomes",
    metadata,
    Column("decision_id", String, ForeignKey("decisions.id"), primary_key=True),
    Column("target", Double, nullable=False),
    *_required(Integer, "target_millionths", "credit_millionths"),
    *_required(String, "credited"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
)

withdrawals = Table(
    "withdrawals",
    metadata,
    Column("decision_id", String, ForeignKey("outcomes.decision_id"), primary_key=True),
    Column("created_at", UtcDateTime, nullable=False),
)

signals = Table(
    "signals",
    metadata,
    *_keys("id"),
    Column("decision_id", String, ForeignKey("decisions.id"), nullable=False),
    *_required(String, "kind", "source"),
    Column("retracts", String, nullable=False, index=True),
    *_required(BigInteger, "actor"),
    Column("login", String, nullable=False, index=True),
    *_required(Integer, "weight_millionths"),
    *_required(String, "weights_version"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("decision_id", "kind", "source", "retracts"),
    Index(None, "actor", "created_at"),
)

policy_events = Table(
    "policy_events",
    metadata,
    *_keys("id"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
)

# ── Sums over the ledger ───────────────────────────────────────────────────────────────────────────────────────────

cells = Table(
    "cells",
    metadata,
    *_keys("scope", "key", "strategy", "factor", "repository", "teacher"),
    Column("period", Integer, primary_key=True, autoincrement=False),
    *_required(BigInteger, "weight", "value"),
    Index(None, "scope", "key", "repository"),
)

pools = Table(
    "pools",
    metadata,
    *_keys("scope", "key", "repository", "strategy", "factor"),
    *_required(Integer, "period"),
    *_required(BigInteger, "weight", "value"),
    *_required(Integer, "repositories", "people"),
    sqlite_with_rowid=False,  # rows lie in the order of the key, by which a choice reads
)
"""What a repository's evidence in a cell adds up to in a period, and all repositories' in a shared one."""

# ── Memory ─────────────────────────────────────────────────────────────────────────────────────────────────────────

experiences = Table(
    "experiences",
    metadata,
    *_keys("id"),
    Column("sequence", BigInteger, nullable=False, unique=True),
    *_required(String, "repository", "error_type", "family", "outcome"),
    Column("likeness", String, nullable=False, index=True),
    Column("edit", String, nullable=False, index=True),
    Column("same_as", String),
    Column("forgotten", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("text", FreeText, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "repository", "created_at"),
)

vectors = Table(
    "vectors",
    metadata,
    *_keys("embedder_id", "view"),
    Column("experience_id", String, ForeignKey("experiences.id", ondelete="CASCADE"), primary_key=True),
    *_required(Integer, "dimensions"),
    Column("data", LargeBinary, nullable=False),
)

posts = Table(
    "posts",
    metadata,
    *_keys("repository", "kind"),
    Column("github_id", BigInteger, primary_key=True, autoincrement=False),
    *_required(BigInteger, "number"),
    Column("watched", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "repository", "number"),
)

sightings = Table(
    "sightings",
    metadata,
    *_keys("repository"),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    *_keys("decision_id"),
    Column("fingerprint", String, nullable=False, index=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
)

documents = Table(
    "documents",
    metadata,
    *_keys("kind", "key"),
    *_required(String, "owner"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "kind", "owner", "created_at"),
)
"""All that is only looked up by a key or an owner, such as a repository: see memory.store.documents."""

APPEND_ONLY = ("decisions", "outcomes", "signals", "withdrawals", "policy_events")
"""The database refuses to change or remove a row of these."""
