"""The process that stores deliveries: what is new, what it refuses, and what happens when one of the two processes ends."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest
import uvloop

from bot.web.storing_process import StoringProcess
from memory.errors import StoreError, StoreUnavailable
from memory.measures import DATABASE
from memory.model.jobs import Delivery, JobState, NewJob
from memory.store import Store
from tests.databases import migrated_store
from workers.settings import Settings, environment_with

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with migrated_store(tmp_path / "apprentice.db") as store:
        yield store


def deliveries(*names: str) -> list[Delivery]:
    """Each with a job that has all that a job can have."""
    job = {
        "kind": "fix",
        "payload": b"\0\n\xff",
        "run_after": NOW,
        "repository_id": 1,
        "conversation": "1/2",
        "trace": "t",
    }
    return [
        Delivery(id=name, event="push", received_at=NOW, body_hash=name, jobs=(NewJob(id=name, **job),))
        for name in names
    ]


def with_process(home: Path, session: Callable[[StoringProcess], Coroutine[None, None, None]]) -> None:
    """Run a session with a process, which has ended when this returns; in the event loop of the web process."""

    async def run() -> None:
        async with StoringProcess(Settings(home=home)) as process:
            await session(process)

    uvloop.run(run())


def killed(process: StoringProcess) -> None:
    assert process.pid
    os.kill(process.pid, signal.SIGKILL)


def test_what_is_new(tmp_path: Path, store: Store) -> None:
    """Of each delivery it says whether it is new; the new ones are stored as they are, once, and its statements are counted."""

    async def session(process: StoringProcess) -> None:
        assert await process.store(deliveries("a", "b")) == [True, True]
        assert await process.store(deliveries("b", "c")) == [False, True]

    with_process(tmp_path, session)
    assert store.jobs.counts()[JobState.READY] == 3
    stored = store.jobs.job("a")
    assert stored is not None
    assert (stored.payload, stored.delivery_id) == (b"\0\n\xff", "a")
    assert DATABASE.name in {name for name, labels, _ in store.measured.all(NOW) if "write" in labels}


def test_nothing_is_imported_from_where_it_starts(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory that an operator is in may be somebody else's repository."""
    (tmp_path / "msgspec.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)

    async def session(process: StoringProcess) -> None:
        assert await process.store(deliveries("a")) == [True]

    with_process(tmp_path, session)
    assert store.jobs.counts()[JobState.READY] == 1


def test_a_process_that_is_killed(tmp_path: Path, store: Store) -> None:
    """Senders of its batch are refused, and the next batch is stored by another process."""

    async def session(process: StoringProcess) -> None:
        assert await process.store(deliveries("a")) == [True]
        killed(process)
        with pytest.raises(StoreUnavailable, match="another one is started"):
            await process.store(deliveries("b"))
        assert await process.store(deliveries("a", "b")) == [False, True]

    with_process(tmp_path, session)
    assert store.jobs.counts()[JobState.READY] == 2


def test_a_process_that_was_killed_while_it_waited(tmp_path: Path, store: Store) -> None:
    """What comes after its death was noticed is stored by another process, without an error."""

    async def session(process: StoringProcess) -> None:
        assert await process.store(deliveries("a")) == [True]
        killed(process)
        while process.pid:  # noqa: ASYNC110  it has no event to wait for
            await asyncio.sleep(0.01)
        assert await process.store(deliveries("b")) == [True]

    with_process(tmp_path, session)
    assert store.jobs.counts()[JobState.READY] == 2


def test_no_other_process_can_be_started(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Senders are refused with the reason, and the next batch tries again."""

    async def session(process: StoringProcess) -> None:
        killed(process)
        while process.pid:  # noqa: ASYNC110  it has no event to wait for
            await asyncio.sleep(0.01)
        with monkeypatch.context() as patched:
            refused = OSError(errno.EMFILE, "Too many open files")
            patched.setattr(asyncio, "create_subprocess_exec", Mock(side_effect=refused))
            with pytest.raises(StoreUnavailable, match="Too many open files"):
                await process.store(deliveries("a"))
        assert await process.store(deliveries("a")) == [True]

    with_process(tmp_path, session)


def test_a_database_that_refuses(tmp_path: Path, store: Store) -> None:
    """The reason comes back, and the process stores what comes later."""

    async def session(process: StoringProcess) -> None:
        assert await process.store(deliveries("a")) == [True]
        with store.database.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE deliveries RENAME TO away")
        with pytest.raises(StoreError, match="deliveries"):
            await process.store(deliveries("b"))
        with store.database.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE away RENAME TO deliveries")
        assert await process.store(deliveries("b")) == [True]

    with_process(tmp_path, session)


def test_it_outlives_the_signals_of_its_parent(tmp_path: Path, store: Store) -> None:
    """A supervisor signals all processes of a service: what the web process sent before it ended is stored."""
    environment = environment_with(home=tmp_path)
    command = [sys.executable, "-m", "bot.web.storing_process"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        send(process.stdin.write, deliveries("a"))
        process.stdin.flush()
        assert process.stdout.readline() == b'{"new":[true],"error":""}\n'
        for number in (signal.SIGTERM, signal.SIGINT):
            process.send_signal(number)
        send(process.stdin.write, deliveries("b"))
        process.stdout.close()
        process.stdin.close()
        assert process.wait() == 0
    assert store.jobs.counts()[JobState.READY] == 2


def send(write: Callable[[bytes], object], batch: Sequence[Delivery]) -> None:
    write(msgspec.json.encode(batch) + b"\n")
