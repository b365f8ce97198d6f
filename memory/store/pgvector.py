"""Vectors in PostgreSQL by pgvector, so that no process holds them: one table for each embedder, beside the migrated schema.

A table holds nothing that `vectors` does not: it is made when first used and may be dropped at any time. Its vectors are
halves; 11 bits of a cosine are enough to rank by.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy import Column, Connection, ForeignKeyConstraint, Index, MetaData, String, Table, func, select, text
from sqlalchemy.exc import DBAPIError

from memory.model import Among
from memory.store.database import Database, dialect_insert, in_batches, queue_for
from memory.store.experiences import WHOLE
from memory.store.tables import experiences, vectors

Floats = npt.NDArray[np.float32]

BREADTH = 100
"""`hnsw.ef_search`: how many candidates the walk through the graph keeps."""

_LOCK_ID = 0x4E454152  # any constant that nothing else in the database uses
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VectorTable:
    """The vectors of whole texts by one embedder. All are L2-normalised."""

    database: Database
    embedder_id: str
    table: Table

    def refresh(self) -> None:
        """Copy the stored vectors that are not here yet; forgotten ones go with their rows in `vectors`."""
        here = select(self.table.c.experience_id).where(self.table.c.experience_id == vectors.c.experience_id)
        query = select(vectors.c.experience_id, vectors.c.data).where(
            vectors.c.embedder_id == self.embedder_id, vectors.c.view == WHOLE, ~here.exists()
        )
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        for batch in in_batches(rows):
            new = [
                {
                    "embedder_id": self.embedder_id,
                    "view": WHOLE,
                    "experience_id": row.experience_id,
                    "embedding": np.frombuffer(row.data, dtype="<f4"),
                }
                for row in batch
            ]
            with self.database.writing() as connection:
                connection.execute(dialect_insert(connection, self.table).on_conflict_do_nothing(), new)

    def count(self) -> int:
        """How many vectors are here."""
        with self.database.reading() as connection:
            return connection.execute(select(func.count()).select_from(self.table)).scalar_one()

    def search(self, vector: Floats, k: int, among: Among) -> list[tuple[str, float]]:
        """The `k` nearest that the filter allows, nearest first, with their cosines, negative ones as 0.

        The graph is walked until enough have passed the filter; the planner may read few allowed ones exactly instead.
        """
        distance = self.table.c.embedding.max_inner_product(vector).label("distance")
        query = select(self.table.c.experience_id, distance).join(
            experiences, experiences.c.id == self.table.c.experience_id
        )
        query = query.where(experiences.c.same_as.is_(None), experiences.c.forgotten.is_(False))
        for name in ("repository", "error_type", "family", "outcome"):
            if wanted := getattr(among, name):
                query = query.where(experiences.c[name] == wanted)
        if among.before is not None:
            query = query.where(experiences.c.created_at < among.before)
        with self.database.reading() as connection:
            _walk_far(connection, k)
            rows = connection.execute(query.order_by(distance).limit(k)).all()
        return sorted(((row.experience_id, max(0.0, -row.distance)) for row in rows), key=lambda pair: -pair[1])


def _walk_far(connection: Connection, k: int) -> None:
    settings = {"hnsw.ef_search": str(max(BREADTH, k)), "hnsw.iterative_scan": "relaxed_order"}
    connection.execute(select(*(func.set_config(name, value, True) for name, value in settings.items())))


def open_vector_table(database: Database, embedder_id: str, dimensions: int) -> VectorTable | None:
    """An embedder's vectors in PostgreSQL; None, with a line in the log, where pgvector is not available."""
    if database.engine.dialect.name != "postgresql":
        return None
    try:
        table = _table(embedder_id, dimensions)
        with database.engine.begin() as connection:  # not `writing`: a refusal is no error here
            queue_for(connection, _LOCK_ID)
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
            table.create(connection, checkfirst=True)
    except ImportError:
        why = "its package is not installed: pip install 'apprentice[postgresql]'"
    except DBAPIError as error:
        why = str(error.orig).strip().partition("\n")[0]
    else:
        found = VectorTable(database, embedder_id, table)
        found.refresh()
        return found
    _log.warning("pgvector cannot be used, so each process searches vectors in its own memory: %s", why)
    return None


def _table(embedder_id: str, dimensions: int) -> Table:
    from pgvector.sqlalchemy import HALFVEC

    name = f"near_{hashlib.blake2b(embedder_id.encode(), digest_size=6).hexdigest()}_{dimensions}"
    key = ("embedder_id", "view", "experience_id")
    return Table(
        name,
        MetaData(),
        *(Column(each, String, primary_key=each == "experience_id", nullable=False) for each in key),
        Column("embedding", HALFVEC(dimensions), nullable=False),
        ForeignKeyConstraint(key, [vectors.c[each] for each in key], ondelete="CASCADE"),
        Index(f"{name}_hnsw", "embedding", postgresql_using="hnsw", postgresql_ops={"embedding": "halfvec_ip_ops"}),
    )
