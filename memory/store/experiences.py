"""Episodic memory: attempts at failures, their searchable text, and their vectors for each embedder and view.

Every row carries the number of its latest change, in the order of the commits: a process that has read up to one number
reads on from there. A forgotten experience leaves its id and such a number, and nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Update, and_, delete, func, select, update

from memory.errors import StoreError
from memory.model import AttemptOutcome, Experience
from memory.store.database import Database, Row, dialect_insert, in_batches, insert_new, load, queue_for, row_of
from memory.store.tables import documents, experiences, vectors

Floats = npt.NDArray[np.float32]

REFLECTIONS, TRAJECTORIES = "reflections", "trajectories"
"""Documents that are forgotten with their experience, whose id is their key."""

WHOLE = "whole"
"""The view of an experience that is all of its text."""

_STORED = np.dtype("<f4")
_NEWEST_FIRST = (experiences.c.created_at.desc(), experiences.c.id.desc())
_KNOWN = experiences.c.forgotten.is_(False)
_ENTRY = ("id", "sequence", "repository", "created_at", "text")
_ORDER_LOCK = 0x4558504C  # any constant that nothing else in the database uses


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """The part of an experience that an index needs. A copy of another experience, or one that was forgotten, is not `listed`."""

    id: str
    sequence: int
    repository: str
    created_at: datetime
    text: str
    listed: bool


@dataclass(frozen=True, slots=True)
class StoredExperiences:
    """Vectors are float32 and tagged with their embedder's id; those of different embedders never meet."""

    database: Database

    def add(self, experience: Experience, text: str, *, likeness: str = "", edit: str = "") -> bool:
        """Store an experience, to be found by `text`; False, and nothing changed, when its id is or was known.

        One of the same `likeness` as an earlier one is its copy: kept, and not found on its own.
        """
        with self.database.writing() as connection:
            sequence = _next(connection)  # first, as it waits: whoever is before us may add or forget one alike
            same_as = _first_alike(connection, likeness) if likeness else None
            columns = {"likeness": likeness, "edit": edit, "same_as": same_as, "forgotten": False}
            row = row_of(experiences, experience, sequence=sequence, text=text, **columns)
            return insert_new(connection, experiences, row)

    def get(self, experience_id: str) -> Experience | None:
        return self.several([experience_id]).get(experience_id)

    def several(self, ids: Sequence[str]) -> dict[str, Experience]:
        """Those of some ids that are known."""
        query = select(experiences.c.id, experiences.c.body).where(_KNOWN, experiences.c.id.in_(list(ids)))
        return {key: load(Experience, body) for key, body in self.database.rows(query)}

    def all(self, *, repository: str | None = None, edit: str = "", limit: int | None = None) -> list[Experience]:
        """Experiences (of one repository, or with one edit), newest first, copies included, at most `limit`."""
        query = select(experiences.c.body).where(_KNOWN).order_by(*_NEWEST_FIRST).limit(limit)
        if repository is not None:
            query = query.where(experiences.c.repository == repository)
        if edit:
            query = query.where(experiences.c.edit == edit)
        return self.database.nouns(Experience, query)

    def texts(self, *, repository: str) -> dict[str, str]:
        """The searchable text of every experience of a repository by id, newest first."""
        query = select(experiences.c.id, experiences.c.text).where(_KNOWN, experiences.c.repository == repository)
        return dict(self.database.rows(query.order_by(*_NEWEST_FIRST)))

    def newest_sequence(self) -> int:
        """The number of the latest change, 0 before the first."""
        return self.database.scalars(select(func.max(experiences.c.sequence)))[0] or 0

    def since(self, sequence: int, limit: int = 20_000) -> list[IndexEntry]:
        """The rows that changed after a number, in the order of their changes, at most `limit`."""
        query = select(experiences).where(experiences.c.sequence > sequence).order_by(experiences.c.sequence)
        rows = [row._mapping for row in self.database.rows(query.limit(limit))]
        return [
            IndexEntry(**{each: row[each] for each in _ENTRY}, listed=row["same_as"] is None and not row["forgotten"])
            for row in rows
        ]

    def delete(self, experience_id: str) -> bool:
        """Forget an experience and its vectors; False when there is none. Its first copy takes its place."""
        with self.database.writing() as connection:
            return _forget(connection, experience_id)

    def trim(self, most: int, keep: int) -> int:
        """Where there are more than `most`, forget all but `keep`; how many were forgotten.

        Copies go first, then what proved nothing, then proven ones; of these the older first.
        """
        worth = (
            experiences.c.same_as.is_(None),
            experiences.c.outcome == AttemptOutcome.PROVEN,
            experiences.c.created_at,
        )
        with self.database.writing() as connection:
            count = connection.execute(select(func.count()).select_from(experiences).where(_KNOWN)).scalar_one()
            if count <= most:
                return 0
            query = select(experiences.c.id).where(_KNOWN).order_by(*worth, experiences.c.id).limit(count - keep)
            return sum(_forget(connection, each) for each in connection.execute(query).scalars().all())

    def put_vectors(self, embedder_id: str, new: Mapping[str, Floats], view: str = WHOLE) -> None:
        """Store one vector for each experience id, over an earlier one; ids forgotten meanwhile are passed over.

        Raises StoreError unless all of an embedder's vectors have one dimension and the same length.
        """
        with self.database.writing() as connection:
            queue_for(connection, _ORDER_LOCK)  # else one that is forgotten meanwhile would keep its vector
            _require_one_length(connection, embedder_id, new)
            for batch in in_batches(sorted(new)):
                _put_vectors(connection, embedder_id, view, {each: new[each] for each in batch})

    def vectors_of(self, embedder_id: str, ids: Sequence[str], view: str = WHOLE) -> dict[str, Floats]:
        """The vectors of those of some experiences that have one."""
        query = select(vectors.c.experience_id, vectors.c.data)
        query = query.where(vectors.c.embedder_id == embedder_id, vectors.c.view == view)
        found: dict[str, Floats] = {}
        with self.database.reading() as connection:
            for batch in in_batches(ids):
                rows = connection.execute(query.where(vectors.c.experience_id.in_(batch)))
                found.update((row.experience_id, np.frombuffer(row.data, dtype=_STORED)) for row in rows)
        return found


def _next(connection: Connection) -> int:
    """The next change's number. Writers wait for one another here until they commit: numbers come in that order."""
    queue_for(connection, _ORDER_LOCK)
    return 1 + (connection.execute(select(func.max(experiences.c.sequence))).scalar_one() or 0)


def _changed(experience_id: str) -> Update:
    return update(experiences).where(experiences.c.id == experience_id)


def _first_alike(connection: Connection, likeness: str) -> str | None:
    query = select(experiences.c.id).where(experiences.c.likeness == likeness, experiences.c.same_as.is_(None), _KNOWN)
    return connection.execute(query.limit(1)).scalar_one_or_none()


def _forget(connection: Connection, experience_id: str) -> bool:
    """Blank one row, and delete all that belongs to it; False where none is known. Its first copy takes its place."""
    sequence = _next(connection)  # first, as it waits: whoever is before us may add a copy or forget this one
    if not connection.execute(select(_KNOWN).where(experiences.c.id == experience_id)).scalar_one_or_none():
        return False
    blank: Row = {"likeness": "", "edit": "", "text": "", "body": "", "same_as": None, "forgotten": True}
    connection.execute(_changed(experience_id).values(**blank, sequence=sequence))
    connection.execute(delete(vectors).where(vectors.c.experience_id == experience_id))
    own = and_(documents.c.kind.in_((REFLECTIONS, TRAJECTORIES)), documents.c.key == experience_id)
    connection.execute(delete(documents).where(own))
    copies = select(experiences.c.id).where(experiences.c.same_as == experience_id)
    heir = connection.execute(copies.order_by(experiences.c.created_at, experiences.c.id).limit(1)).scalar_one_or_none()
    if heir is not None:
        connection.execute(_changed(heir).values(same_as=None, sequence=_next(connection)))
        connection.execute(update(experiences).where(experiences.c.same_as == experience_id).values(same_as=heir))
    return True


def _put_vectors(connection: Connection, embedder_id: str, view: str, new: Mapping[str, Floats]) -> None:
    known = select(experiences.c.id).where(experiences.c.id.in_(list(new)), _KNOWN).order_by(experiences.c.id)
    shared: Row = {"embedder_id": embedder_id, "view": view}
    rows = [
        shared | {"experience_id": key, "dimensions": len(new[key]), "data": new[key].astype(_STORED).tobytes()}
        for key in connection.execute(known).scalars()
    ]
    if rows:
        insert = dialect_insert(connection, vectors)
        new_data = {"data": insert.excluded.data}
        connection.execute(insert.on_conflict_do_update(index_elements=list(vectors.primary_key), set_=new_data), rows)


def _require_one_length(connection: Connection, embedder_id: str, new: Mapping[str, Floats]) -> None:
    stored = select(vectors.c.dimensions).where(vectors.c.embedder_id == embedder_id).limit(1)  # the rest is as long
    shapes = {vector.shape for vector in new.values()}
    shapes |= {(dimensions,) for dimensions in connection.execute(stored).scalars()}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise StoreError(f"vectors of {embedder_id} differ in shape: {sorted(shapes)}; give a new embedder a new id")
