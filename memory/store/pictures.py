"""Pictures that people attached, kept with the experience that they belong to, by their hash."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from memory.store.agent_tables import pictures
from memory.store.engine import Database, insert_new


@dataclass(frozen=True, slots=True)
class Pictures:
    """They go with their experience."""

    database: Database

    def add(self, experience_id: str, digest: str, media_type: str, content: bytes) -> bool:
        """Keep one; False when it is known."""
        row: dict[str, object] = {
            "experience_id": experience_id,
            "digest": digest,
            "media_type": media_type,
            "content": content,
        }
        with self.database.writing() as connection:
            return insert_new(connection, pictures, row)

    def of(self, experience_id: str) -> dict[str, tuple[str, bytes]]:
        """Media type and content of those of an experience, by digest."""
        query = select(pictures).where(pictures.c.experience_id == experience_id).order_by(pictures.c.digest)
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        return {row.digest: (row.media_type, row.content) for row in rows}
