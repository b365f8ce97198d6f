"""What was imported from elsewhere, by source: a prior, never mixed into the cells, so that it can be taken out exactly."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from sqlalchemy import delete, select

from memory.store.bodies import dump, load
from memory.store.engine import Database, changed, dialect_insert
from memory.store.tables import imports

Document = TypeVar("Document")


@dataclass(frozen=True, slots=True)
class Imports:
    """One document for each source; its body is whatever frozen value it was put as."""

    database: Database

    def put(self, source: str, document: object, *, now: datetime) -> None:
        """Keep what a source says, instead of what it said before."""
        with self.database.writing() as connection:
            new = dialect_insert(connection, imports).values(source=source, imported_at=now, body=dump(document))
            values = {"imported_at": new.excluded.imported_at, "body": new.excluded.body}
            connection.execute(new.on_conflict_do_update(index_elements=[imports.c.source], set_=values))

    def remove(self, source: str) -> bool:
        """Take out all that a source said; False when there is nothing of it."""
        with self.database.writing() as connection:
            return changed(connection, delete(imports).where(imports.c.source == source)) == 1

    def all(self, as_a: type[Document]) -> list[Document]:
        """Everything imported, by source."""
        with self.database.reading() as connection:
            bodies = connection.execute(select(imports.c.body).order_by(imports.c.source)).scalars()
            return [load(as_a, body) for body in bodies]
