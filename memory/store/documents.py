"""Documents: JSON bodies of several kinds in one table, looked up by a key or by an owner, such as a repository."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, Select, delete, func, select

from memory.model import PastFinding
from memory.store.database import Database, Row, dialect_insert, dump, in_batches, insert_several, load
from memory.store.tables import documents

Body = TypeVar("Body")


@dataclass(frozen=True, slots=True)
class Documents:
    """All documents of one kind. A body is any frozen value; a reader names the type that it was stored as."""

    database: Database
    kind: str

    def add(self, key: str, body: object, *, owner: str = "", now: datetime | None = None) -> bool:
        """Keep a document; False, and nothing changed, when its key is known."""
        return self.database.insert(documents, document_row(self.kind, key, body, owner, now))

    def put(self, key: str, body: object, *, owner: str = "", now: datetime | None = None) -> None:
        """Keep a document in the place of the one with the same key."""
        with self.database.writing() as connection:
            upsert(connection, document_row(self.kind, key, body, owner, now))

    def keep(self, key: str, body: object) -> None:
        """Keep a document as `put` does; writes nothing where the same one is there."""
        if self.database.scalars(select(documents.c.body).where(self._here, documents.c.key == key)) != [dump(body)]:
            self.put(key, body)

    def get(self, key: str, as_a: type[Body]) -> Body | None:
        return self.several([key], as_a).get(key)

    def several(self, keys: Iterable[str], as_a: type[Body]) -> dict[str, Body]:
        """Those of these documents that are there, by key."""
        found: dict[str, Body] = {}
        with self.database.reading() as connection:
            for batch in in_batches(keys):
                rows = connection.execute(self._select().where(documents.c.key.in_(batch)))
                found |= {row.key: load(as_a, row.body) for row in rows}
        return found

    def all(self, as_a: type[Body]) -> list[Body]:
        """Every document, by key."""
        return self.database.nouns(as_a, select(documents.c.body).where(self._here).order_by(documents.c.key))

    def of(self, owner: str, as_a: type[Body]) -> list[Body]:
        """An owner's documents, oldest first."""
        return list(self.of_several([owner], as_a).values())

    def of_several(self, owners: Collection[str], as_a: type[Body]) -> dict[str, Body]:
        """The documents of some owners by key, oldest first."""
        query = self._select().where(documents.c.owner.in_(owners))
        rows = self.database.rows(query.order_by(documents.c.created_at, documents.c.key))
        return {key: load(as_a, body) for key, body in rows}

    def latest(self, owner: str, most: int, as_a: type[Body]) -> list[Body]:
        """An owner's documents, newest first, at most `most`."""
        query = select(documents.c.body).where(self._here, documents.c.owner == owner)
        newest = query.order_by(documents.c.created_at.desc(), documents.c.key.desc())
        return self.database.nouns(as_a, newest.limit(most))

    def count(self, owner: str) -> int:
        query = select(func.count()).select_from(documents).where(self._here, documents.c.owner == owner)
        return self.database.scalars(query)[0]

    def remove(self, key: str) -> bool:
        """Remove a document; False when there is none."""
        return self.database.change(delete(documents).where(self._here, documents.c.key == key)) == 1

    def remove_of(self, owner: str) -> None:
        self.database.change(delete(documents).where(self._here, documents.c.owner == owner))

    @property
    def _here(self) -> ColumnElement[bool]:
        return documents.c.kind == self.kind

    def _select(self) -> Select[str, str]:
        return select(documents.c.key, documents.c.body).where(self._here)


def upsert(connection: Connection, row: Row) -> None:
    """Insert a document, or overwrite the one with its key."""
    new = dialect_insert(connection, documents).values(row)
    values = {name: new.excluded[name] for name in ("owner", "created_at", "body")}
    connection.execute(new.on_conflict_do_update(index_elements=list(documents.primary_key), set_=values))


def document_row(kind: str, key: str, body: object, owner: str = "", now: datetime | None = None) -> Row:
    return {"kind": kind, "key": key, "owner": owner, "created_at": now or datetime.now(UTC), "body": dump(body)}


# ── Bodies with rules of their own ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryName:
    """What a repository is called now, by GitHub's number."""

    id: int
    full_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The agent's steps to a proof, without credentials: `text` to show to a model, `messages` as JSON to train one."""

    text: str
    messages: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HookLogPosition:
    """How far GitHub's log of webhooks is compared with the stored deliveries.

    All deliveries up to `until` are compared. A comparison that is under way began at `newest` and goes on at `cursor`.
    """

    until: datetime
    newest: datetime | None = None
    cursor: str = ""


# ── A repository's past ────────────────────────────────────────────────────────────────────────────────────────────

_FINDINGS, _POSITION, _LESSONS = "past_findings", "past_walked", "past_lessons"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPosition:
    """How far a past was read: up to the commit `sha`, the change at `position`, in the way that `reading` names.

    No change up to the position `after` was read.
    """

    reading: str
    sha: str
    position: int
    after: int = -1


@dataclass(frozen=True, slots=True)
class PastFindings:
    """What became of the findings in a repository's past, and how far that past was read. What is added twice counts once."""

    database: Database

    def position(self, repository: str) -> HistoryPosition | None:
        """How far a repository's past was read; None where reading has not begun."""
        return Documents(self.database, _POSITION).get(repository, HistoryPosition)

    def add(self, repository: str, found: Sequence[PastFinding], read_to: HistoryPosition) -> None:
        """Keep findings, and that the past was read so far, together."""
        rows = [document_row(_FINDINGS, _key_of(repository, each), each, repository) for each in found]
        with self.database.writing() as connection:
            insert_several(connection, documents, rows)
            upsert(connection, document_row(_POSITION, repository, read_to, repository))

    def conclude(self, repository: str, lessons: object | None) -> None:
        """Store the lessons of a repository's past, any frozen value, instead of the earlier ones; None for too short a past."""
        kept = Documents(self.database, _LESSONS)
        if lessons is None:
            kept.remove(repository)
        else:
            kept.put(repository, lessons, owner=repository)

    def lessons(self, repository: str, as_a: type[Body]) -> Body | None:
        """The lessons that `conclude` stored; None where there are none."""
        return Documents(self.database, _LESSONS).get(repository, as_a)

    def count(self, repository: str) -> int:
        return Documents(self.database, _FINDINGS).count(repository)

    def of(self, repository: str) -> list[PastFinding]:
        """All findings of a repository's past, oldest first."""
        found = Documents(self.database, _FINDINGS).of(repository, PastFinding)
        return sorted(found, key=lambda each: (each.position, each.path, each.line, each.rule))

    def forget(self, repository: str) -> None:
        """Forget a repository's past and its lessons."""
        past = documents.c.kind.in_((_FINDINGS, _POSITION, _LESSONS))
        self.database.change(delete(documents).where(past, documents.c.owner == repository))


_LONGEST_KEY = 1000
"""PostgreSQL indexes 2,704 bytes at most."""


def _key_of(repository: str, found: PastFinding) -> str:
    """What is the same finding; its digest where the path is very long."""
    key = dump((repository, found.sha, found.path, found.line, found.rule))
    return key if len(key) <= _LONGEST_KEY else hashlib.blake2b(key.encode()).hexdigest()
