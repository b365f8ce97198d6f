"""Which version of the policy was in use since when: append-only."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from memory.model import PolicyEvent
from memory.store.bodies import dump, load
from memory.store.engine import Database, insert_new
from memory.store.tables import policy_events


@dataclass(frozen=True, slots=True)
class PolicyEvents:
    """One entry for each change of the version in use."""

    database: Database

    def append(self, event: PolicyEvent) -> bool:
        """Append an event; False, and nothing added, when its id is known."""
        row: dict[str, object] = {
            "id": event.id,
            "created_at": event.created_at,
            "kind": event.kind,
            "version": event.version,
            "body": dump(event),
        }
        with self.database.writing() as connection:
            return insert_new(connection, policy_events, row)

    def all(self) -> list[PolicyEvent]:
        """Every event, oldest first."""
        query = select(policy_events.c.body).order_by(policy_events.c.created_at, policy_events.c.id)
        with self.database.reading() as connection:
            return [load(PolicyEvent, body) for body in connection.execute(query).scalars()]
