"""Stores deliveries in a process of its own: in a thread, the database's driver would stop the event loop again and again.

Batches and answers are lines of JSON over pipes.
"""

import asyncio
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Self

import msgspec
import structlog

from memory.errors import StoreError, StoreUnavailable
from memory.model.jobs import Delivery
from memory.store import Store, open_store
from workers import logs
from workers.queue.heartbeats import BEAT_SECONDS
from workers.settings import Settings, environment_with, load

LONGEST_ANSWER = 1 << 20
_log = structlog.get_logger()


class _Answer(msgspec.Struct, frozen=True):
    """Of each delivery whether it is new, or why none was stored."""

    new: list[bool]
    error: str = ""


class StoringProcess:
    """Stores one batch at a time. Belongs to one event loop. A process that ended is replaced for the next batch."""

    def __init__(self, settings: Settings) -> None:
        self._environment = environment_with(
            home=settings.home, database_url=settings.database_url, log_format=settings.log_format
        )
        self._process: Process | None = None

    @property
    def pid(self) -> int | None:
        """None while it does not run, as far as is known. To write to the pipe of one that ended is an error of uvloop's."""
        at = self._process
        return at.pid if at and at.returncode is None and at.stdin and not at.stdin.is_closing() else None

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Let the process end, and wait for it."""
        if self._process and self._process.stdin:
            self._process.stdin.close()
            await self._process.wait()

    async def _start(self) -> None:
        """In a session of its own: it has to outlive the signals that end the web process.

        With -P it imports nothing from the directory that the web process was started in, which may be anybody's.
        """
        command = (sys.executable, "-P", "-m", "bot.web.storing_process")
        self._process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, env=self._environment, limit=LONGEST_ANSWER, start_new_session=True
        )

    async def store(self, batch: Sequence[Delivery]) -> list[bool]:
        """Store deliveries; of each, whether it is new. Raises StoreError."""
        try:
            line = await self._answer(msgspec.json.encode(batch))
        except OSError as error:  # no more processes, memory or files
            raise StoreUnavailable(f"the process that stores deliveries cannot be used: {error}") from error
        if not line.endswith(b"\n"):
            self._process = None
            raise StoreUnavailable("the process that stores deliveries ended; another one is started")
        answer = msgspec.json.decode(line, type=_Answer)
        if answer.error:
            raise StoreError(answer.error)
        return answer.new

    async def _answer(self, batch: bytes) -> bytes:
        if self.pid is None:
            await self._start()
        assert self._process and self._process.stdin and self._process.stdout, "it was started with pipes"
        self._process.stdin.write(batch + b"\n")
        return await self._process.stdout.readline()


def main() -> None:
    """Store each batch of the standard input, until its end."""
    for ignored in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ignored, signal.SIG_IGN)
    settings = load(Settings)
    logs.configure(settings)
    for answer in _answers(settings.database(), sys.stdin.buffer):
        with suppress(BrokenPipeError):  # the web process is gone: what it sent is stored
            os.write(sys.stdout.fileno(), msgspec.json.encode(answer) + b"\n")


def _answers(url: str, batches: Iterable[bytes]) -> Iterator[_Answer]:
    """One for each batch. A database that does not answer is asked again for the next one."""
    store: Store | None = None
    with suppress(StoreError):  # the first sender hears of it
        store = open_store(url)
    measured = time.monotonic()
    for batch in batches:
        try:
            store = store or open_store(url)
            yield _Answer(store.jobs.record_deliveries(msgspec.json.decode(batch, type=list[Delivery])))
        except StoreError as error:
            yield _Answer([], str(error))
        if store and time.monotonic() - measured >= BEAT_SECONDS:
            measured = time.monotonic()
            _store_measures(store)
    if store:
        _store_measures(store)
        store.close()


def _store_measures(store: Store) -> None:
    try:
        store.measured.store(store.clock())
    except StoreError as error:
        _log.warning("measures not stored", error=str(error))


if __name__ == "__main__":
    main()
