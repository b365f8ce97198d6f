"""pgvector behind episodic memory: the same answers as from memory, filters kept, and a clear word where it is refused."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
import psycopg
import pytest
from sqlalchemy import func, select

from memory.model import Among, AttemptOutcome, Experience, Family
from memory.retrieval.embeddings import HashedWords
from memory.retrieval.experiences import Experiences
from memory.store import Store, open_store
from memory.store.experiences import VectorTable, open_vector_table
from tests.databases import at_once, migrated_store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ["basket", "total", "price", "tax", "header", "parse", "token", "stream", "empty", "list", "average", "loader"]


@pytest.fixture
def store(migrated_postgresql_url: str) -> Iterator[Store]:
    with open_store(migrated_postgresql_url) as opened:
        yield opened


@pytest.fixture
def filled(store: Store) -> tuple[VectorTable, np.ndarray]:
    """200 experiences with random vectors: every tenth of one repository."""
    rows = np.random.default_rng(1).standard_normal((200, 32)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for row in range(200):
        store.experiences.add(experience(row), "")
    store.experiences.put_vectors("random", {f"e{row:03}": vector for row, vector in enumerate(rows)})
    near = open_vector_table(store.database, "random", 32)
    assert near is not None
    return near, rows


def experience(row: int) -> Experience:
    return Experience(
        id=f"e{row:03}", repository="o/one" if row % 10 == 0 else "o/many", task_id="t", error_type="KeyError",
        family=Family.LOOKUP, signature=f"KeyError\n{WORDS[row % 12]} is missing\n{WORDS[row % 7]}_{WORDS[row % 5]}",
        path="a.py", strategy=f"s{row}", outcome=AttemptOutcome.PROVEN, reflection="", patch="", shape=None,
        created_at=NOW + timedelta(hours=row),
    )  # fmt: skip


@pytest.mark.parametrize("among", [Among(), Among(repository="o/one"), Among(before=NOW + timedelta(hours=50))])
def test_the_nearest_are_found_with_and_without_filters(filled: tuple[VectorTable, np.ndarray], among: Among) -> None:
    """What is stored already is taken over at the start, and the ten nearest that are meant are found."""
    near, rows = filled
    meant = [row for row in range(200) if not among.repository or row % 10 == 0]
    meant = [row for row in meant if among.before is None or row < 50]
    true = sorted(meant, key=lambda row: -float(rows[row] @ rows[7]))[:10]
    found = near.search(rows[7], 10, among)
    assert [key for key, _ in found] == [f"e{row:03}" for row in true]
    assert found[0][1] == pytest.approx(max(0.0, float(rows[true[0]] @ rows[7])), abs=1e-2)


def test_recall_is_as_without_pgvector(store: Store, tmp_path: object) -> None:
    """Most of what comes back is the same from pgvector as from a process's own memory; what is forgotten is gone from both."""
    with migrated_store(tmp_path / "memory.db") as small:
        both = [Experiences(store, HashedWords()), Experiences(small, HashedWords())]
        for memory in both:
            for row in range(30):
                memory.remember(experience(row))
        asked = {"signature": "KeyError\nprice is missing\nbasket_total", "error_type": "KeyError", "family": "lookup"}
        alike = [memory.alike(signature=asked["signature"], error_type="KeyError") for memory in both]
        assert 10 < len(alike[0]) == pytest.approx(len(alike[1]), abs=2)  # halves round at the border
        best = ""
        for _ in range(2):
            ours, theirs = (
                [each.experience.id for each in memory.recall(**asked, repository="o/one", k=5)]  # type: ignore[arg-type]
                for memory in both
            )
            assert len(set(ours) & set(theirs)) >= 3
            assert not ({best} & {*ours, *theirs})
            for kept in (store, small):
                kept.experiences.delete(ours[0])
            best = ours[0]


def test_a_forget_beside_a_refresh_is_no_error(store: Store, filled: tuple[VectorTable, np.ndarray]) -> None:
    """What is forgotten while vectors are taken over is in neither table."""
    near, _ = filled
    for row in range(25):
        with store.database.writing() as connection:
            connection.execute(near.table.delete())
        at_once(near.refresh, partial(store.experiences.delete, f"e{row:03}"))
    with store.database.reading() as connection:
        assert connection.execute(select(func.count()).select_from(near.table)).scalar_one() == 175


def test_a_refused_extension_is_told_and_done_without(
    store: Store, migrated_postgresql_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A role that may not create the extension gets exact search in the process, and a line that says so."""
    with psycopg.connect(migrated_postgresql_url, autocommit=True) as admin:
        admin.execute("CREATE ROLE plain LOGIN")
        admin.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO plain")
    with (
        open_store(migrated_postgresql_url.replace("postgres@", "plain@")) as limited,
        caplog.at_level(logging.WARNING),
    ):
        memory = Experiences(limited, HashedWords())
        memory.remember(replace(experience(1), id="only"))
        found = memory.recall(signature="KeyError", error_type="KeyError", family="lookup", repository="o/many")
    assert [each.experience.id for each in found] == ["only"]
    assert "pgvector cannot be used" in caplog.text
    with psycopg.connect(migrated_postgresql_url, autocommit=True) as admin:
        admin.execute("DROP OWNED BY plain")
        admin.execute("DROP ROLE plain")
