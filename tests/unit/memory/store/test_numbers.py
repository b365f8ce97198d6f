"""What an older database remembers, and what people call a repository."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import Connection, text

from memory.model import (
    Actor,
    Arm,
    Fate,
    PastFinding,
    Permission,
    Severity,
    SignalKind,
    State,
    TaskKind,
)
from memory.policy.learner import Learner
from memory.store import Store, open_store
from memory.store.documents import RepositoryName, Walked


def teach(store: Store, repository: str, now: datetime, by: int = 1) -> str:
    """A choice in a repository, and one verdict on it; its id."""
    learner = Learner(store, random.Random(repository), lambda: now, control_share=0.0)
    state = State(kind=TaskKind.REPAIR, repository=repository, label="AssertionError", family="assertion")
    decision = learner.decide("t", state, ("operators",), arm=Arm.LEARNED, prior={})
    learner.record_signal(decision.id, SignalKind.ACCEPTED, Actor(id=by, login="ada"), Permission.WRITE, "comment:1")
    return decision.id


def past_finding(now: datetime) -> PastFinding:
    return PastFinding(
        sha="a" * 40,
        position=1,
        at=now,
        path="a.py",
        line=1,
        tool="ruff",
        rule="F401",
        category="style",
        severity=Severity.INFO,
        fixable=True,
        standing=0,
        burst=1,
        fate=Fate.FIXED,
        until=2,
    )


def without_periods(connection: Connection) -> None:
    """The ledger and the Q-table as they were before evidence faded."""
    sums = "scope, key, strategy, factor, repository, teacher, sum(weight) AS weight, sum(value) AS value"
    connection.execute(text("ALTER TABLE decisions DROP COLUMN after"))
    connection.execute(text(f"CREATE TABLE older AS SELECT {sums} FROM cells GROUP BY 1, 2, 3, 4, 5, 6"))
    connection.execute(text("DROP TABLE cells"))
    connection.execute(text("ALTER TABLE older RENAME TO cells"))


def test_an_older_table_learns_when_its_evidence_came(store: Store, database_url: str, now: datetime) -> None:
    """From the revision before, the table is derived anew with its periods: the same one, bit for bit."""
    for age in (0, 100, 400):
        teach(store, "77", now - timedelta(days=age))
    before = store.ledger.cells_digest()
    with store.database.writing() as connection:
        without_periods(connection)
        connection.execute(text("UPDATE alembic_version SET version_num = '0020'"))
    with open_store(database_url) as newer:
        assert newer.ledger.cells_digest() == before
        assert all(each.state.after == "" for each in newer.ledger.decisions_of_task("t"))


def test_an_older_table_gets_its_pools(store: Store, database_url: str, now: datetime) -> None:
    """From the revision before, pools are made of the rows: others are heard as far as before."""
    for number in ("77", "78", "79"):
        teach(store, number, now, by=int(number))
    levels = State(kind=TaskKind.REPAIR, repository="80", label="KeyError", family="lookup").levels()
    before = store.ledger.cells(levels, repository="80", at=now)
    assert before
    with store.database.writing() as connection:
        connection.execute(text("DROP TABLE pools"))
        connection.execute(text("DROP INDEX ix_cells_scope_key_repository"))
        for name in ("credited", "credit_millionths"):
            connection.execute(text(f"ALTER TABLE outcomes DROP COLUMN {name}"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0030'"))
    with open_store(database_url) as newer:
        assert newer.ledger.cells(levels, repository="80", at=now) == before


def test_a_long_path_is_kept(store: Store, now: datetime) -> None:
    """However long two paths are, what differs at their ends are two findings, each kept once."""
    directory = random.Random(1).randbytes(3000).hex()
    found = [replace(past_finding(now), path=f"{directory}/{name}.py") for name in "ab"]
    for _ in range(2):
        store.past.add("o/r", found, Walked(reading="1", sha="a", position=61))
    assert store.past.of("o/r") == found


def test_a_name_that_was_taken_again(store: Store) -> None:
    """Two repositories that were called the same are told apart: people have to give the number."""
    for number in (77, 78):
        store.repositories.put(str(number), RepositoryName(id=number, full_name="acme/scales"))
    assert store.named("acme/scales") == store.named("ACME/Scales") == ["77", "78"]
    assert [store.name_of(each) for each in ("77", "78", "local:shop")] == ["acme/scales", "acme/scales", "local:shop"]
    assert store.named("77") == ["77"]
