"""pgvector: the nearest of more vectors than a process wants to hold, where PostgreSQL has the extension.

A table for each embedder stands beside the schema of the migrations, as an index would: it is made when it is first wanted,
holds nothing that `vectors` does not, and may be dropped at any time. Vectors are halves; 11 bits of a cosine are enough to
rank by.
"""

from __future__ import annotations

# ruff: noqa: S608  # the names in these statements are made here, of nothing from outside; values are bound
import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from memory.model import Among
from memory.store.engine import Database, in_batches
from memory.store.experiences import WHOLE, Experiences

Floats = npt.NDArray[np.float32]

EXACT = 12_000
"""A filter that lets at most so many through is searched exactly: the graph would be walked in vain."""

BREADTH = 100
"""`hnsw.ef_search`: how many candidates the walk through the graph keeps."""

_LOCK = 0x4E454152  # any constant that nothing else in the database uses
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Near:
    """The vectors of whole texts by one embedder. All are L2-normalised."""

    database: Database
    embedder_id: str
    table: str

    def put(self, ids: Sequence[str]) -> None:
        """Take over the stored vectors of these experiences."""
        room = Experiences(self.database)
        for batch in in_batches(ids):
            found = room.vectors_of(self.embedder_id, batch)
            if found:
                with self.database.writing() as connection:
                    self._insert(connection, found)

    def drop(self, experience_id: str) -> None:
        """Forget one."""
        with self.database.writing() as connection:
            connection.execute(text(f"DELETE FROM {self.table} WHERE experience_id = :id"), {"id": experience_id})

    def count(self) -> int:
        """How many vectors are here."""
        with self.database.reading() as connection:
            return int(connection.execute(text(f"SELECT count(*) FROM {self.table}")).scalar_one())

    def missing(self) -> list[str]:
        """Embedded experiences that are not here yet."""
        query = text(
            "SELECT v.experience_id FROM vectors v WHERE v.embedder_id = :embedder AND v.view = :view AND NOT EXISTS "
            f"(SELECT 1 FROM {self.table} n WHERE n.experience_id = v.experience_id)"
        )
        with self.database.reading() as connection:
            return list(connection.execute(query, {"embedder": self.embedder_id, "view": WHOLE}).scalars())

    def search(self, vector: Floats, k: int, among: Among) -> list[tuple[str, float]]:
        """The `k` nearest that are meant, nearest first, with their cosines, negative ones as 0.

        A filter that lets few through is searched exactly; otherwise the graph is walked until enough have passed it. Only
        what has an index is counted beforehand: the others let many through.
        """
        condition, values = _condition(among)
        values |= {"vector": _literal(vector), "k": k}
        distance = f"embedding <#> CAST(:vector AS halfvec({len(vector)}))"
        where = f"FROM {self.table} {condition}"
        with self.database.reading() as connection:
            if (among.repository or among.error_type) and self._few(connection, condition, values):
                # What is added keeps the planner from the graph, which knows the bare distance alone.
                query = f"SELECT experience_id, ({distance}) + 0.0 AS distance {where} ORDER BY distance LIMIT :k"
            else:
                connection.execute(text(_WALK), {"breadth": str(max(BREADTH, k))})
                query = f"SELECT experience_id, {distance} AS distance {where} ORDER BY {distance} LIMIT :k"
            rows = connection.execute(text(query), values).all()
        return sorted(((row.experience_id, max(0.0, -row.distance)) for row in rows), key=lambda pair: -pair[1])

    def _few(self, connection: Connection, condition: str, values: Mapping[str, object]) -> bool:
        counted = f"SELECT count(*) FROM (SELECT 1 FROM {self.table} {condition} LIMIT {EXACT + 1}) AS counted"
        return int(connection.execute(text(counted), values).scalar_one()) <= EXACT

    def _insert(self, connection: Connection, found: Mapping[str, Floats]) -> None:
        rows = [{"id": each, "embedding": _literal(found[each])} for each in sorted(found)]
        connection.execute(
            text(
                f"INSERT INTO {self.table} SELECT id, repository, error_type, family, outcome, created_at, "
                "CAST(:embedding AS halfvec) FROM experiences WHERE id = :id AND NOT forgotten ON CONFLICT DO NOTHING"
            ),
            rows,
        )


_WALK = "SELECT set_config('hnsw.ef_search', :breadth, true), set_config('hnsw.iterative_scan', 'relaxed_order', true)"


def open_near(database: Database, embedder_id: str, dimensions: int) -> Near | None:
    """What pgvector holds for an embedder, up to date; None, with a line in the log, where it cannot be had."""
    if database.engine.dialect.name != "postgresql":
        return None
    table = f"near_{hashlib.blake2b(embedder_id.encode(), digest_size=6).hexdigest()}_{dimensions}"
    try:
        with database.engine.begin() as connection:  # not `writing`: that it is refused is no error of ours
            connection.execute(text("SELECT pg_advisory_xact_lock(:id)"), {"id": _LOCK})
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
            for statement in _made(table, dimensions):
                connection.execute(text(statement))
    except DBAPIError as error:
        why = str(error.orig).strip().partition("\n")[0]
        _log.warning("pgvector cannot be used, so each process searches vectors in its own memory: %s", why)
        return None
    near = Near(database, embedder_id, table)
    near.put(near.missing())
    return near


def _made(table: str, dimensions: int) -> list[str]:
    """By repository one index holds the vectors, too: one repository is read in one piece. The narrow one is for counting."""
    return [
        (
            f"CREATE TABLE IF NOT EXISTS {table} (experience_id varchar PRIMARY KEY, repository varchar NOT NULL, "
            "error_type varchar NOT NULL, family varchar NOT NULL, outcome varchar NOT NULL, "
            f"created_at timestamptz NOT NULL, embedding halfvec({dimensions}) NOT NULL)"
        ),
        f"CREATE INDEX IF NOT EXISTS {table}_hnsw ON {table} USING hnsw (embedding halfvec_ip_ops)",
        f"CREATE INDEX IF NOT EXISTS {table}_repository ON {table} (repository) INCLUDE (experience_id, embedding)",
        f"CREATE INDEX IF NOT EXISTS {table}_narrow ON {table} (repository)",
        f"CREATE INDEX IF NOT EXISTS {table}_error_type ON {table} (error_type)",
    ]


def _condition(among: Among) -> tuple[str, dict[str, object]]:
    """A WHERE clause, empty without a filter, and its values."""
    names = ("repository", "error_type", "family", "outcome")
    values: dict[str, object] = {name: getattr(among, name) for name in names if getattr(among, name)}
    parts = [f"{name} = :{name}" for name in values]
    if among.before is not None:
        values["before"] = among.before
        parts.append("created_at < :before")
    return ("WHERE " + " AND ".join(parts) if parts else ""), values


def _literal(vector: Floats) -> str:
    return "[" + ",".join(f"{value:.5g}" for value in vector.tolist()) + "]"
