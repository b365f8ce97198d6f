"""Databases with today's schema, copied from one that the migrations made once for each test process; and writers at once."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from threading import Barrier

from memory.model.jobs import Delivery
from memory.store import Store, open_store

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
"""Before anything that a test stores."""


@cache
def _template() -> bytes:
    with tempfile.TemporaryDirectory(prefix="apprentice-template-") as directory:
        path = Path(directory, "template.db")
        open_store(f"sqlite:///{path}").close()
        return path.read_bytes()


def migrated(path: Path) -> str:
    """The URL of the SQLite database at `path`, which is made if it does not exist."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_template())
    return f"sqlite:///{path}"


def migrated_store(path: Path) -> Store:
    """The store in the SQLite database at `path`, which is made if it does not exist."""
    return open_store(migrated(path))


def at_once(*works: Callable[[], object]) -> None:
    """Do all of it in threads that begin together; raises what one of them raises."""
    begin = Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        begin.wait()
        work()

    with ThreadPoolExecutor(len(works)) as pool:
        list(pool.map(run, works))


def end_all(store: Store, now: datetime) -> None:
    """Run every job that is due, to its end."""
    for each in store.jobs.due(now=now, limit=100, resend_after=0.0):
        leased = store.jobs.lease(each, worker="w", now=now, seconds=60.0)
        assert leased is not None
        store.jobs.finish(leased, now=now)


class ThreadStore:
    """Stores deliveries in a thread of the test's own process, in the place of the web process's StoringProcess."""

    def __init__(self, record: Callable[[Sequence[Delivery]], list[bool]]) -> None:
        self._record = record

    async def __aenter__(self) -> ThreadStore:
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Nothing to end."""

    async def store(self, batch: Sequence[Delivery]) -> list[bool]:
        return await asyncio.to_thread(self._record, batch)
