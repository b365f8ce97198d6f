"""Skills as they were last derived: nothing here is a source of anything, all of it can be made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete, func, insert, select, text

from memory.model import Skill
from memory.store.bodies import dump, load
from memory.store.engine import Database
from memory.store.tables import experiences, signals, skills


@dataclass(frozen=True, slots=True)
class Skills:
    """The skills in their order, and of which state of the memory they were derived."""

    database: Database

    def all(self) -> list[Skill]:
        """As they were last put here, in that order."""
        with self.database.reading() as connection:
            query = select(skills.c.body).order_by(skills.c.position)
            return [load(Skill, body) for body in connection.execute(query).scalars()]

    def stamp(self) -> str:
        """What these were derived of; "" where there are none."""
        with self.database.reading() as connection:
            return connection.execute(select(skills.c.stamp).limit(1)).scalar_one_or_none() or ""

    def sources(self) -> str:
        """A text that changes whenever experiences or signals do."""
        changed = select(func.max(experiences.c.sequence))
        heard = select(func.count()).select_from(signals)
        with self.database.reading() as connection:
            return f"{connection.execute(changed).scalar_one()} {connection.execute(heard).scalar_one()}"

    def replace(self, new: Sequence[Skill], stamp: str) -> None:
        """Put these in the place of all that were here."""
        rows = [
            {"id": skill.id, "position": place, "stamp": stamp, "body": dump(skill)} for place, skill in enumerate(new)
        ]
        with self.database.writing() as connection:
            if connection.dialect.name == "postgresql":  # SQLite has one writer at a time anyhow
                connection.execute(text("LOCK TABLE skills IN EXCLUSIVE MODE"))
            connection.execute(delete(skills))
            if rows:
                connection.execute(insert(skills), rows)
