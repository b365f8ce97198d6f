"""What became of the findings in a repository's past, and how far it was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import delete, func, select, update

from memory.model import PastFinding
from memory.store.bodies import dump, load
from memory.store.engine import Database, dialect_insert, in_batches
from memory.store.past_tables import past_findings, pasts

Lessons = TypeVar("Lessons")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """How far a past was read: up to the commit `sha`, the change at `position`, in the way that `reading` names."""

    reading: str
    sha: str
    position: int


@dataclass(frozen=True, slots=True)
class Past:
    """Findings with their fates, by repository; what is added twice is kept once."""

    database: Database

    def walked(self, repository: str) -> Walked | None:
        """How far a repository's past was read; None where it was not begun."""
        query = select(pasts.c.reading, pasts.c.sha, pasts.c.position).where(pasts.c.repository == repository)
        with self.database.reading() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else Walked(reading=row.reading, sha=row.sha, position=row.position)

    def add(self, repository: str, found: Sequence[PastFinding], walked: Walked) -> None:
        """Keep fates, and that the past was read so far, together."""
        with self.database.writing() as connection:
            for some in in_batches(found, 500):
                rows = [
                    {
                        "repository": repository,
                        "sha": each.sha,
                        "path": each.path,
                        "line": each.line,
                        "rule": each.rule,
                        "position": each.position,
                        "body": dump(each),
                    }
                    for each in some
                ]
                connection.execute(dialect_insert(connection, past_findings).on_conflict_do_nothing(), rows)
            new = dialect_insert(connection, pasts).values(
                repository=repository, reading=walked.reading, sha=walked.sha, position=walked.position, lessons=""
            )
            values = {name: new.excluded[name] for name in ("reading", "sha", "position")}
            connection.execute(new.on_conflict_do_update(index_elements=[pasts.c.repository], set_=values))

    def conclude(self, repository: str, lessons: object | None) -> None:
        """Keep what the past of a repository comes down to, in the place of what it came down to before.

        `lessons` are any frozen value, None where it is too short for some.
        """
        found = {"lessons": dump(lessons) if lessons is not None else ""}
        with self.database.writing() as connection:
            connection.execute(update(pasts).where(pasts.c.repository == repository).values(found))

    def lessons(self, repository: str, as_a: type[Lessons]) -> Lessons | None:
        """What `conclude` kept; None where a past taught nothing yet."""
        query = select(pasts.c.lessons).where(pasts.c.repository == repository)
        with self.database.reading() as connection:
            body = connection.execute(query).scalar_one_or_none()
        return load(as_a, body) if body else None

    def count(self, repository: str) -> int:
        """How many findings of a repository's past are known."""
        there = select(func.count()).select_from(past_findings).where(past_findings.c.repository == repository)
        with self.database.reading() as connection:
            return connection.execute(there).scalar_one()

    def forget(self, repository: str) -> None:
        """Forget a repository's past, and what it came down to."""
        with self.database.writing() as connection:
            connection.execute(delete(past_findings).where(past_findings.c.repository == repository))
            connection.execute(delete(pasts).where(pasts.c.repository == repository))

    def of(self, repository: str) -> list[PastFinding]:
        """All that is known of a repository's past, oldest first."""
        query = (
            select(past_findings.c.body)
            .where(past_findings.c.repository == repository)
            .order_by(past_findings.c.position, past_findings.c.path, past_findings.c.line, past_findings.c.rule)
        )
        with self.database.reading() as connection:
            return [load(PastFinding, body) for body in connection.execute(query).scalars()]
