"""Reward models as documents, of each kind at most one in force; and the decisions that they are trained on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from sqlalchemy import select, update

from memory.errors import StoreError
from memory.model import Decision, Sighting, TaskKind
from memory.store.bodies import dump, load
from memory.store.engine import Database, changed, in_batches, insert_new
from memory.store.tables import decisions, reward_models, sightings, signals

Document = TypeVar("Document")


@dataclass(frozen=True, slots=True)
class Models:
    """A model's body is whatever frozen value it was saved as."""

    database: Database

    def save(self, model_id: str, kind: TaskKind, document: object, *, now: datetime) -> bool:
        """Keep a model, not in force; False, and nothing changed, when its id is known."""
        row: dict[str, object] = {
            "id": model_id,
            "kind": kind,
            "active": False,
            "created_at": now,
            "body": dump(document),
        }
        with self.database.writing() as connection:
            return insert_new(connection, reward_models, row)

    def get(self, model_id: str, as_a: type[Document]) -> Document | None:
        """The model with this id."""
        with self.database.reading() as connection:
            query = select(reward_models.c.body).where(reward_models.c.id == model_id)
            body = connection.execute(query).scalar_one_or_none()
        return None if body is None else load(as_a, body)

    def all(self, as_a: type[Document]) -> list[tuple[Document, bool]]:
        """Every model, newest first, and whether it is in force."""
        query = select(reward_models.c.body, reward_models.c.active)
        with self.database.reading() as connection:
            rows = connection.execute(query.order_by(reward_models.c.created_at.desc(), reward_models.c.id)).all()
        return [(load(as_a, row.body), row.active) for row in rows]

    def active(self, kind: TaskKind, as_a: type[Document]) -> Document | None:
        """The model of this kind that is in force."""
        query = select(reward_models.c.body).where(reward_models.c.kind == kind, reward_models.c.active)
        with self.database.reading() as connection:
            body = connection.execute(query).scalars().first()
        return None if body is None else load(as_a, body)

    def activate(self, model_id: str, kind: TaskKind) -> None:
        """Put a model in force instead of the one of its kind that is; raises StoreError when there is none such."""
        with self.database.writing() as connection:
            connection.execute(update(reward_models).where(reward_models.c.kind == kind).values(active=False))
            chosen = (reward_models.c.id == model_id) & (reward_models.c.kind == kind)
            if changed(connection, update(reward_models).where(chosen).values(active=True)) == 0:
                raise StoreError(f"no reward model {model_id}; `apprentice preferences` lists them")

    def deactivate(self, kind: TaskKind) -> bool:
        """Have no model of this kind in force; False when none was."""
        with self.database.writing() as connection:
            in_force = update(reward_models).where(reward_models.c.kind == kind, reward_models.c.active)
            return changed(connection, in_force.values(active=False)) > 0

    def heard(self, kind: TaskKind, *, since: datetime | None = None, limit: int | None = None) -> list[Decision]:
        """The last `limit` decisions of a kind, made since then, that somebody did something about, newest first."""
        about = select(signals.c.decision_id).where(signals.c.decision_id == decisions.c.id).exists()
        query = select(decisions.c.body).where(decisions.c.kind == kind, about)
        if since is not None:
            query = query.where(decisions.c.created_at >= since)
        with self.database.reading() as connection:
            newest = query.order_by(decisions.c.created_at.desc(), decisions.c.id.desc()).limit(limit)
            return [load(Decision, body) for body in connection.execute(newest).scalars()]

    def known(self, decision_ids: list[str]) -> set[str]:
        """Those of these ids that are decisions of this ledger."""
        found: set[str] = set()
        with self.database.reading() as connection:
            for ids in in_batches(decision_ids):
                found |= set(connection.execute(select(decisions.c.id).where(decisions.c.id.in_(ids))).scalars())
        return found

    def sightings_of(self, decision_ids: list[str]) -> dict[str, Sighting]:
        """What was seen when these decisions were made, by decision id."""
        found: dict[str, Sighting] = {}
        with self.database.reading() as connection:
            for ids in in_batches(decision_ids):
                query = select(sightings.c.decision_id, sightings.c.body).where(sightings.c.decision_id.in_(ids))
                found |= {row.decision_id: load(Sighting, row.body) for row in connection.execute(query)}
        return found
