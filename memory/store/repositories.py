"""The repositories that jobs spoke of: what there is to poll, and through which installation."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from memory.store.engine import Database, dialect_insert
from memory.store.tables import repositories


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRepository:
    """A repository as last seen."""

    full_name: str
    id: int
    installation_id: int


@dataclass(frozen=True, slots=True)
class Repositories:
    """One entry for each full name."""

    database: Database

    def seen(self, full_name: str, id: int, installation_id: int) -> None:  # noqa: A002  # GitHub's word for it
        """Remember a repository, or that its ids are others now."""
        with self.database.writing() as connection:
            insert = dialect_insert(connection, repositories).values(
                full_name=full_name, id=id, installation_id=installation_id
            )
            ids = {"id": insert.excluded.id, "installation_id": insert.excluded.installation_id}
            connection.execute(insert.on_conflict_do_update(index_elements=[repositories.c.full_name], set_=ids))

    def all(self) -> list[KnownRepository]:
        """Every repository seen, by name."""
        with self.database.reading() as connection:
            rows = connection.execute(select(repositories).order_by(repositories.c.full_name))
            return [KnownRepository(**row._mapping) for row in rows]
