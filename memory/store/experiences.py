"""Episodic memory: what was tried at which failure, its searchable text, and its vectors for each embedder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, delete, select

from memory.errors import StoreError
from memory.model import Experience
from memory.store.bodies import dump, load
from memory.store.engine import Database, changed, dialect_insert, in_batches, insert_new
from memory.store.tables import experiences, vectors

Floats = npt.NDArray[np.float32]

_STORED = np.dtype("<f4")
_NEWEST_FIRST = (experiences.c.created_at.desc(), experiences.c.id.desc())


@dataclass(frozen=True, slots=True)
class Experiences:
    """Vectors are float32 and tagged with their embedder's id; those of different embedders never meet."""

    database: Database

    def add(self, experience: Experience, text: str) -> bool:
        """Remember an experience, to be found by `text`; False, and nothing changed, when its id is known."""
        row: dict[str, object] = {
            "id": experience.id,
            "repository": experience.repository,
            "created_at": experience.created_at,
            "text": text,
            "body": dump(experience),
        }
        with self.database.writing() as connection:
            return insert_new(connection, experiences, row)

    def get(self, experience_id: str) -> Experience | None:
        """The experience with this id."""
        with self.database.reading() as connection:
            query = select(experiences.c.body).where(experiences.c.id == experience_id)
            body = connection.execute(query).scalar_one_or_none()
        return None if body is None else load(Experience, body)

    def all(self, *, repository: str | None = None, limit: int | None = None) -> list[Experience]:
        """Experiences (of one repository), newest first, at most `limit`."""
        query = select(experiences.c.body).order_by(*_NEWEST_FIRST).limit(limit)
        if repository is not None:
            query = query.where(experiences.c.repository == repository)
        with self.database.reading() as connection:
            return [load(Experience, body) for body in connection.execute(query).scalars()]

    def texts(self, *, repository: str | None = None) -> dict[str, str]:
        """The searchable text of every experience (of one repository) by id, newest first."""
        query = select(experiences.c.id, experiences.c.text).order_by(*_NEWEST_FIRST)
        if repository is not None:
            query = query.where(experiences.c.repository == repository)
        with self.database.reading() as connection:
            return {row.id: row.text for row in connection.execute(query)}

    def delete(self, experience_id: str) -> bool:
        """Forget an experience and its vectors; False when there is none."""
        with self.database.writing() as connection:
            return changed(connection, delete(experiences).where(experiences.c.id == experience_id)) == 1

    def vectors_missing(self, embedder_id: str) -> list[tuple[str, str]]:
        """Id and text of each experience that this embedder has not embedded yet, newest first."""
        embedded = select(vectors.c.experience_id).where(vectors.c.embedder_id == embedder_id)
        query = select(experiences.c.id, experiences.c.text).where(experiences.c.id.not_in(embedded))
        with self.database.reading() as connection:
            return [(row.id, row.text) for row in connection.execute(query.order_by(*_NEWEST_FIRST))]

    def put_vectors(self, embedder_id: str, new: Mapping[str, Floats]) -> None:
        """Store one vector for each experience id, over an earlier one; ids forgotten meanwhile are passed over.

        Raises StoreError unless all of an embedder's vectors have one dimension and the same length.
        """
        with self.database.writing() as connection:
            _require_one_length(connection, embedder_id, new)
            for batch in in_batches(sorted(new)):
                _put_vectors(connection, embedder_id, {each: new[each] for each in batch})

    def matrix(self, embedder_id: str, *, repository: str | None = None) -> tuple[list[str], Floats]:
        """Ids of embedded experiences (of one repository), sorted, and their n×d float32 vectors in the same order."""
        query = select(vectors.c.experience_id, vectors.c.data, vectors.c.dimensions)
        query = query.where(vectors.c.embedder_id == embedder_id).order_by(vectors.c.experience_id)
        if repository is not None:
            query = query.join(experiences).where(experiences.c.repository == repository)
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        dimensions = rows[0].dimensions if rows else 0
        floats = np.frombuffer(b"".join(row.data for row in rows), dtype=_STORED).reshape(len(rows), dimensions)
        return [row.experience_id for row in rows], floats.astype(np.float32, copy=False)


def _put_vectors(connection: Connection, embedder_id: str, new: Mapping[str, Floats]) -> None:
    known = select(experiences.c.id).where(experiences.c.id.in_(list(new))).order_by(experiences.c.id)
    rows = [_vector_row(embedder_id, found, new[found]) for found in connection.execute(known).scalars()]
    if rows:
        insert = dialect_insert(connection, vectors)
        new_data = {"data": insert.excluded.data}
        connection.execute(insert.on_conflict_do_update(index_elements=list(vectors.primary_key), set_=new_data), rows)


def _require_one_length(connection: Connection, embedder_id: str, new: Mapping[str, Floats]) -> None:
    stored = select(vectors.c.dimensions).where(vectors.c.embedder_id == embedder_id).distinct()
    shapes = {vector.shape for vector in new.values()}
    shapes |= {(dimensions,) for dimensions in connection.execute(stored).scalars()}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise StoreError(f"vectors of {embedder_id} differ in shape: {sorted(shapes)}; give a new embedder a new id")


def _vector_row(embedder_id: str, experience_id: str, vector: Floats) -> dict[str, object]:
    return {
        "embedder_id": embedder_id,
        "experience_id": experience_id,
        "dimensions": vector.shape[0],
        "data": vector.astype(_STORED).tobytes(),
    }
