"""How the agent went about repairs that were proven: what was said and done, to learn of."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from memory.store.agent_tables import trajectories
from memory.store.engine import Database, insert_new


@dataclass(frozen=True, slots=True)
class Trajectories:
    """One for each decision of the agent's that led to a proof; credentials are taken out before they come here."""

    database: Database

    def add(self, decision_id: str, repository: str, *, text: str, messages: str, now: datetime) -> bool:
        """Keep one: `text` to show a model as an example, `messages` as JSON to train one. False when its id is known."""
        row: dict[str, object] = {
            "decision_id": decision_id,
            "repository": repository,
            "text": text,
            "messages": messages,
            "created_at": now,
        }
        with self.database.writing() as connection:
            return insert_new(connection, trajectories, row)

    def text(self, decision_id: str) -> str:
        """What is shown of one; empty when there is none."""
        query = select(trajectories.c.text).where(trajectories.c.decision_id == decision_id)
        with self.database.reading() as connection:
            return str(connection.execute(query).scalar() or "")

    def messages(self, repositories: Collection[str]) -> dict[str, str]:
        """The messages of all that these repositories have, as JSON by decision, oldest first."""
        query = select(trajectories.c.decision_id, trajectories.c.messages)
        query = query.where(trajectories.c.repository.in_(repositories)).order_by(trajectories.c.created_at)
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        return {row.decision_id: row.messages for row in rows}
