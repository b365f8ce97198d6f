"""Backup and restore: everything that is stored, as one SQLite file, from either kind of database and into either kind.

A backup is one state of the database, taken while everything runs. It keeps no heartbeats: they are of processes.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Table, func, select

from memory.errors import StoreError
from memory.store import Store, open_store
from memory.store.database import Database
from memory.store.tables import heartbeats, metadata

BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyResult:
    """How many rows were copied, and the digest of what is derived from the ledger: equal for equal ledgers."""

    rows: int
    digest: str


def back_up(store: Store, file: Path) -> CopyResult:
    """Write a new file, which is there whole or not at all. Raises StoreError where it exists or cannot be written."""
    if file.exists():
        raise StoreError(f"{file} exists; name another file, or move it away")
    try:
        with tempfile.TemporaryDirectory(prefix=".apprentice-backup-", dir=file.absolute().parent) as aside:
            unfinished = Path(aside) / "backup.db"
            with open_store(f"sqlite:///{unfinished}") as copy:
                copied = _copy(store.database, copy)
            with closing(sqlite3.connect(unfinished)) as connection:  # one file, without a write-ahead log
                connection.execute("PRAGMA journal_mode=DELETE")
                check(connection)
            unfinished.chmod(0o600)
            unfinished.rename(file)
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {error.strerror}") from error
    return copied


def restore(file: Path, store: Store) -> CopyResult:
    """Copy a backup, of this version or an older one, into an empty database, whose workers may take jobs.

    Raises StoreError where it is not empty.
    """
    for table in _tables():
        with store.database.reading() as connection:
            if connection.execute(select(func.count()).select_from(select(table).limit(1).subquery())).scalar_one():
                raise StoreError(
                    f"the database is not empty: there are rows in {table.name}; restore into a new one, "
                    "by APPRENTICE_DATABASE_URL or with the old file moved away"
                )
    with _upgraded(file) as backup:
        backup.job_control.resume()  # a backup is made after workers were drained
        return _copy(backup.database, store)


@contextmanager
def _upgraded(file: Path) -> Iterator[Store]:
    """A copy of a backup with today's schema: the file itself is left as it is."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "backup.db"
        try:
            with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as given:
                check(given)
                if not given.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchall():
                    raise StoreError(f"{file} is no backup of Apprentice")
            shutil.copyfile(file, copy)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{file} cannot be read as a backup: {error}") from error
        with open_store(f"sqlite:///{copy}") as opened:
            yield opened


def check(connection: sqlite3.Connection) -> None:
    """Raise StoreError where SQLite finds the file damaged."""
    ((found,), *_) = connection.execute("PRAGMA quick_check(1)").fetchall()
    if found != "ok":
        raise StoreError(f"the database is damaged: {found}; restore a backup")


def _copy(source: Database, target: Store) -> CopyResult:
    rows = 0
    with source.reading() as reading, target.database.writing() as writing:
        streaming = reading.execution_options(stream_results=True, yield_per=BATCH)
        for table in _tables():
            for batch in streaming.execute(select(table)).mappings().partitions(BATCH):
                writing.execute(table.insert(), [dict(row) for row in batch])
                rows += len(batch)
    return CopyResult(rows=rows, digest=target.ledger.cells_digest())


def _tables() -> list[Table]:
    """Those that are copied, each after the ones that it refers to."""
    return [table for table in metadata.sorted_tables if table is not heartbeats]
