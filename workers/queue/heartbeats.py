"""Each process of the App says in the database that it is alive."""

from __future__ import annotations

import os
import socket
import threading
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

import structlog

from memory.errors import StoreError

if TYPE_CHECKING:  # SQLAlchemy is slow to import
    from memory.store import Store

BEAT_SECONDS = 10.0
MISSED = 4
"""The number of missed heartbeats after which a process counts as gone."""
_log = structlog.get_logger()


class ProcessKind(StrEnum):
    """The processes whose heartbeats count."""

    WEB = "web"
    WORKER = "worker"
    SWEEPER = "sweeper"


def beat(store: Store, kind: ProcessKind, *, every: float = BEAT_SECONDS) -> None:
    """Say that this process is alive, and will say so again after `every` seconds. Raises StoreError."""
    now = store.clock()
    name = f"{kind} {socket.gethostname()}:{os.getpid()}"
    store.heartbeats.beat(kind, name, now=now, until=now + timedelta(seconds=MISSED * max(every, BEAT_SECONDS)))


def keep_beating(url: str, kind: ProcessKind) -> None:
    """Beat, and store what was measured, for the rest of this process's life, in a thread with a connection of its own."""

    from memory.store import open_store  # SQLAlchemy is slow to import

    def beat_on() -> None:
        while True:
            try:
                with open_store(url) as store:
                    while True:
                        beat(store, kind)
                        store.measured.store(store.clock())
                        pause.wait(BEAT_SECONDS)
            except StoreError as error:
                _log.warning("heartbeat not stored", error=str(error))
                pause.wait(BEAT_SECONDS)

    pause = threading.Event()
    threading.Thread(target=beat_on, name=f"heartbeat-{kind}", daemon=True).start()


def store_measures(url: str) -> None:
    """Store what this process measured, over a connection of its own."""
    from memory.store import open_store  # SQLAlchemy is slow to import

    try:
        with open_store(url) as store:
            store.measured.store(store.clock())
    except StoreError as error:
        _log.warning("measures not stored", error=str(error))


def missing_processes(store: Store) -> dict[str, str]:
    """The kinds of processes of which none stores heartbeats, with the last one. Raises StoreError.

    Where the database cannot be written none does, the web process neither.
    """
    last, now = store.heartbeats.last(), store.clock()
    problems = {}
    for kind in ProcessKind:
        at, until = last.get(kind, (None, None))
        if at is None or until is None:
            problems[kind.value] = f"no {kind} has run since yesterday"
        elif until < now:
            problems[kind.value] = f"no {kind} is alive; the last heartbeat was at {at.isoformat(timespec='seconds')}"
    return problems
