"""The tables. `body` holds a whole noun as JSON; beside it stand the columns that it is found by, or that change."""

from __future__ import annotations

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
)

from memory.store.columns import FreeText, UtcDateTime

_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
metadata = MetaData(naming_convention=_NAMES)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", String, primary_key=True),
    Column("event", String, nullable=False),
    Column("received_at", UtcDateTime, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", String, primary_key=True),
    Column("delivery_id", String, ForeignKey("deliveries.id")),
    Column("kind", String, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("state", String, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("run_after", UtcDateTime, nullable=False),
    Column("sent_at", UtcDateTime),
    Column("attempts", Integer, nullable=False),
    Column("abandoned", Integer, nullable=False),
    Column("token", Integer, nullable=False),
    Column("worker", String, nullable=False),
    Column("lease_until", UtcDateTime),
    Column("ended_at", UtcDateTime),
    Column("reason", FreeText, nullable=False),
    Column("note", FreeText, nullable=False),
    Index(None, "state", "run_after"),
)

effects = Table(
    "effects",
    metadata,
    Column("key", String, primary_key=True),
    Column("job_id", String, nullable=False),
    Column("begun_at", UtcDateTime, nullable=False),
    Column("done_at", UtcDateTime),
    Column("reference", Text, nullable=False),
)

decisions = Table(
    "decisions",
    metadata,
    Column("id", String, primary_key=True),
    Column("task_id", String, nullable=False, index=True),
    Column("subject", String, nullable=False, index=True),
    Column("kind", String, nullable=False),
    Column("repository", String, nullable=False),
    Column("label", String, nullable=False),
    Column("family", String, nullable=False),
    Column("place", String, nullable=False, server_default=""),
    Column("arm", String, nullable=False),
    Column("chosen", String, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
)

outcomes = Table(
    "outcomes",
    metadata,
    Column("decision_id", String, ForeignKey("decisions.id"), primary_key=True),
    Column("target", Double, nullable=False),
    Column("target_millionths", Integer, nullable=False),
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
    Column("id", String, primary_key=True),
    Column("decision_id", String, ForeignKey("decisions.id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("source", String, nullable=False),
    Column("retracts", String, nullable=False, index=True),
    Column("actor", BigInteger, nullable=False),
    Column("login", String, nullable=False, index=True),
    Column("weight_millionths", Integer, nullable=False),
    Column("weights_version", String, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("decision_id", "kind", "source", "retracts"),
    Index(None, "actor", "created_at"),
)

cells = Table(
    "cells",
    metadata,
    # A choice reads its own repository's rows, which stand together; who else taught is looked up by the index.
    Column("repository", String, primary_key=True),
    Column("scope", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("strategy", String, primary_key=True),
    Column("factor", String, primary_key=True),
    Column("teacher", String, primary_key=True),
    Column("weight", BigInteger, nullable=False),
    Column("value", BigInteger, nullable=False),
    Index(None, "scope", "key", "strategy", "factor", "teacher"),
)

pools = Table(
    "pools",
    metadata,
    Column("scope", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("strategy", String, primary_key=True),
    Column("factor", String, primary_key=True),
    Column("weight", BigInteger, nullable=False),
    Column("value", BigInteger, nullable=False),
    Column("repositories", Integer, nullable=False),
    Column("people", Integer, nullable=False),
)

tasks = Table(
    "tasks",
    metadata,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("repository", String, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("status", String, nullable=False),
    Column("summary", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "repository", "created_at"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("task_id", String, ForeignKey("tasks.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("decision_id", String, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("task_id", "decision_id"),
)

experiences = Table(
    "experiences",
    metadata,
    Column("id", String, primary_key=True),
    Column("sequence", BigInteger, nullable=False, unique=True),
    Column("repository", String, nullable=False),
    Column("error_type", String, nullable=False),
    Column("family", String, nullable=False),
    Column("outcome", String, nullable=False),
    Column("likeness", String, nullable=False, index=True),
    Column("edit", String, nullable=False, index=True),
    Column("same_as", String),
    Column("copies", Integer, nullable=False),
    Column("helped", Integer, nullable=False),
    Column("forgotten", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("text", FreeText, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "repository", "created_at"),
)

vectors = Table(
    "vectors",
    metadata,
    Column("embedder_id", String, primary_key=True),
    Column("view", String, primary_key=True),
    Column("experience_id", String, ForeignKey("experiences.id", ondelete="CASCADE"), primary_key=True),
    Column("dimensions", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

skills = Table(
    "skills",
    metadata,
    Column("id", String, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("stamp", String, nullable=False),
    Column("body", Text, nullable=False),
)

reflections = Table(
    "reflections",
    metadata,
    Column("id", String, ForeignKey("experiences.id", ondelete="CASCADE"), primary_key=True),
    Column("repository", String, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "repository", "created_at"),
)

posts = Table(
    "posts",
    metadata,
    Column("repository", String, primary_key=True),
    Column("kind", String, primary_key=True),
    Column("github_id", BigInteger, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
    Column("watched", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "repository", "number"),
)

sightings = Table(
    "sightings",
    metadata,
    Column("repository", String, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("decision_id", String, primary_key=True),
    Column("fingerprint", String, nullable=False, index=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
)

repositories = Table(
    "repositories",
    metadata,
    Column("full_name", String, primary_key=True),
    Column("id", BigInteger, nullable=False),
    Column("installation_id", BigInteger, nullable=False),
)

policy_events = Table(
    "policy_events",
    metadata,
    Column("id", String, primary_key=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("kind", String, nullable=False),
    Column("version", String, nullable=False),
    Column("body", Text, nullable=False),
)

reward_models = Table(
    "reward_models",
    metadata,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "kind", "created_at"),
)

imports = Table(
    "imports",
    metadata,
    Column("source", String, primary_key=True),
    Column("imported_at", UtcDateTime, nullable=False),
    Column("body", Text, nullable=False),
)
