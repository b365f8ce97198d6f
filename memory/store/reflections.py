"""Reflections of attempts that failed, found again by repository."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select

from memory.model import Reflection
from memory.store.bodies import dump, load
from memory.store.engine import Database, insert_new
from memory.store.tables import reflections


@dataclass(frozen=True, slots=True)
class Reflections:
    """One for each experience that has one; it goes with its experience."""

    database: Database

    def add(self, reflection: Reflection) -> bool:
        """Keep one, once its experience is; False, and nothing changed, when its id is known."""
        row: dict[str, object] = {
            "id": reflection.id,
            "repository": reflection.repository,
            "created_at": reflection.created_at,
            "body": dump(reflection),
        }
        with self.database.writing() as connection:
            return insert_new(connection, reflections, row)

    def told(self, ids: Collection[str]) -> dict[str, str]:
        """What was reflected on these experiences, by id."""
        query = select(reflections.c.body).where(reflections.c.id.in_(ids))
        with self.database.reading() as connection:
            found = [load(Reflection, body) for body in connection.execute(query).scalars()]
        return {each.id: each.told for each in found}

    def latest(self, repository: str, most: int) -> list[Reflection]:
        """Of a repository, the newest first."""
        query = select(reflections.c.body).where(reflections.c.repository == repository)
        query = query.order_by(reflections.c.created_at.desc(), reflections.c.id.desc()).limit(most)
        with self.database.reading() as connection:
            return [load(Reflection, body) for body in connection.execute(query).scalars()]
