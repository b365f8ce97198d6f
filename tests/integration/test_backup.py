"""Backup and restore: everything comes back, from either kind of database into either kind, and nothing is overwritten."""

from __future__ import annotations

import sqlite3
import stat
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select, text

from memory.model import Contribution, Decision, Outcome, Signal
from memory.model.jobs import Delivery, JobState, NewJob
from memory.store import Store, open_store
from memory.store.tables import heartbeats, metadata
from tests.databases import migrated
from tests.integration.command_line import apprentice
from tests.unit.memory.store.conftest import contribute, decide, judge, react

__all__ = ["contribute", "decide", "judge", "react"]

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]


@pytest.fixture(params=KINDS)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of each kind in turn."""
    if request.param == "sqlite":
        return migrated(tmp_path / "source" / "apprentice.db")
    url: str = request.getfixturevalue("migrated_postgresql_url")
    return url


@pytest.fixture(params=KINDS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Another one, without a schema."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'target' / 'apprentice.db'}"
    url: str = request.getfixturevalue("postgresql_url")
    return url


def fill(
    store: Store,
    decide: Callable[..., Decision],
    judge: Callable[..., Outcome],
    react: Callable[..., Signal],
    contribute: Callable[..., Contribution],
) -> None:
    """Something in many tables, odd text among it."""
    odd = NewJob(id="j", kind="fix", payload=b"\x00\xff", repository_id=2**53, number=3, actor_id=501)
    store.jobs.record_deliveries([Delivery(id="d", event="issues", received_at=NOW, body_hash="h", jobs=(odd,))])
    store.jobs.begin_effect("effect \u2028 \U0001f41b", "j", NOW)
    store.ledger.append_decision(decide())
    store.ledger.append_outcome(judge(), [contribute(3, -2)])
    store.ledger.append_signal(react(), [contribute(1, 1, teacher="7")])
    store.repositories.put("77", {"id": 77, "full_name": "acme/\u0000scales"})
    store.heartbeats.beat("worker", "w", now=NOW, until=NOW)


def contents(url: str) -> dict[str, list[tuple[object, ...]]]:
    with open_store(url) as store, store.database.reading() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for table in metadata.sorted_tables
            if table is not heartbeats
        }


def test_everything_comes_back(
    tmp_path: Path,
    source: str,
    target: str,
    decide: Callable[..., Decision],
    judge: Callable[..., Outcome],
    react: Callable[..., Signal],
    contribute: Callable[..., Contribution],
) -> None:
    """Every row of every table but the heartbeats, and the digest of what is learned, by the commands that an operator uses."""
    with open_store(source) as store:
        fill(store, decide, judge, react, contribute)
        digest = store.ledger.cells_digest()
    home, file = tmp_path / "home", tmp_path / "backup.db"
    written = apprentice(home, "backup", file, "--json", APPRENTICE_DATABASE_URL=source).document()
    assert (written["digest"], written["path"]) == (digest, str(file))
    assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
    restored = apprentice(home, "restore", file, "--json", APPRENTICE_DATABASE_URL=target).document()
    assert restored == written
    assert contents(target) == contents(source)
    assert restored["rows"] == sum(map(len, contents(source).values())) >= 8
    with (
        open_store(target) as store,
        pytest.raises(Exception, match="append-only"),
        store.database.writing() as writing,
    ):
        writing.execute(text("DELETE FROM decisions"))


def test_a_backup_is_one_state(tmp_path: Path, source: str) -> None:
    """While deliveries arrive, a backup holds each with its job or neither, and the web process need not stop."""
    ended = threading.Event()

    def arrive() -> None:
        number = 0
        with open_store(source) as store:
            while not ended.is_set():
                number += 1
                job = NewJob(id=f"j{number}", kind="fix", payload=b"{}")
                store.jobs.record_deliveries([Delivery(id=f"d{number}", event="issues", received_at=NOW, jobs=(job,))])

    writer = threading.Thread(target=arrive)
    writer.start()
    try:
        for number in range(3):
            done = apprentice(tmp_path / "home", "backup", tmp_path / f"{number}.db", APPRENTICE_DATABASE_URL=source)
            assert done.code == 0, done.err
    finally:
        ended.set()
        writer.join()
    for number in range(3):
        with open_store(f"sqlite:///{tmp_path / f'{number}.db'}") as copy:
            assert copy.jobs.delivery_count() == copy.jobs.counts()[JobState.READY]


def test_workers_go_on_after_a_restore(tmp_path: Path) -> None:
    """A backup made while workers were drained gives a database whose jobs are taken, and the file is as it was."""
    with open_store(migrated(tmp_path / "home" / "apprentice.db")) as store:
        store.job_control.drain(now=NOW)
    file = tmp_path / "backup.db"
    assert apprentice(tmp_path / "home", "backup", file).code == 0
    before = file.read_bytes()
    assert apprentice(tmp_path / "new", "restore", file).code == 0
    with open_store(f"sqlite:///{tmp_path / 'new' / 'apprentice.db'}") as restored:
        assert restored.job_control.drained_since() is None
    assert file.read_bytes() == before


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """A backup refuses a file that exists, and a restore a database that is not empty; neither changes it."""
    url = migrated(tmp_path / "home" / "apprentice.db")
    with open_store(url) as store:
        store.jobs.enqueue([NewJob(id="j", kind="fix", payload=b"")], now=NOW)
    home, file = tmp_path / "home", tmp_path / "backup.db"
    assert apprentice(home, "backup", file).code == 0
    before = file.read_bytes()
    again = apprentice(home, "backup", file)
    assert (again.code, again.complaint()) == (2, f"{file} exists; name another file, or move it away")
    assert file.read_bytes() == before
    refused = apprentice(home, "restore", file)
    assert refused.code == 2
    assert refused.complaint().startswith("the database is not empty: there are rows in jobs; restore into a new one")


def damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-4096:] = bytes(4096)
    file.write_bytes(data)


def replace_by_text(file: Path) -> None:
    file.write_text("not a database")


def replace_by_another(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE other (id)")


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (damage, "database disk image is malformed"),
        (replace_by_text, "cannot be read as a backup"),
        (replace_by_another, "is no backup of Apprentice"),
        (Path.unlink, "cannot be read as a backup"),
    ],
)
def test_what_is_no_backup(tmp_path: Path, spoil: Callable[[Path], None], line: str) -> None:
    """A damaged file, another program's and a missing one are refused with one line."""
    migrated(tmp_path / "home" / "apprentice.db")
    file = tmp_path / "backup.db"
    assert apprentice(tmp_path / "home", "backup", file).code == 0
    spoil(file)
    refused = apprentice(tmp_path / "new", "restore", file)
    assert refused.code == 2
    assert line in refused.complaint()


def test_a_backup_of_an_older_schema(tmp_path: Path) -> None:
    """It is refused with the page that says what to do, and left as it is."""
    migrated(tmp_path / "home" / "apprentice.db")
    file = tmp_path / "backup.db"
    assert apprentice(tmp_path / "home", "backup", file).code == 0
    with closing(sqlite3.connect(file)) as older, older:
        older.execute("UPDATE alembic_version SET version_num = '0080'")
    before = file.read_bytes()
    refused = apprentice(tmp_path / "new", "restore", file)
    assert refused.code == 2
    assert "schema 0080 is older than 0085" in refused.complaint()
    assert file.read_bytes() == before


def test_no_room(tmp_path: Path) -> None:
    """A directory that is not there, or cannot be written, is named."""
    migrated(tmp_path / "home" / "apprentice.db")
    refused = apprentice(tmp_path / "home", "backup", tmp_path / "nowhere" / "backup.db")
    assert (refused.code, refused.complaint()) == (
        2,
        f"{tmp_path}/nowhere/backup.db cannot be written: No such file or directory",
    )
