"""Why people rejected what we did, in their words, by the signal that they came with."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select

from memory.store.agent_tables import reasons
from memory.store.engine import Database, insert_new


@dataclass(frozen=True, slots=True)
class Reasons:
    """A signal has one at most. What was taken back is told by its signal."""

    database: Database

    def add(self, signal_id: str, text: str) -> bool:
        """Keep one; False when the signal has one."""
        row: dict[str, object] = {"signal_id": signal_id, "text": text}
        with self.database.writing() as connection:
            return insert_new(connection, reasons, row)

    def of(self, signal_ids: Collection[str]) -> dict[str, str]:
        """The reasons that came with these signals, by id."""
        query = select(reasons).where(reasons.c.signal_id.in_(signal_ids))
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        return {row.signal_id: row.text for row in rows}
