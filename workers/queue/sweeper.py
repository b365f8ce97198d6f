"""Sends lost jobs again, and enqueues polls of reactions. Several sweepers may run: none doubles a job."""

import functools
import signal
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from math import inf

import structlog

from memory.errors import StoreError
from memory.measures import DATABASE_BYTES, LAST_SWEEP, TABLE_ROWS
from memory.store import Store, await_store
from memory.store.documents import HookLogPosition
from workers.errors import Retryable
from workers.jobs import POLLED_FOR, CheckPolicy, PollReactions, RedeliverWebhooks, RepositoryRef
from workers.queue.broker import depth, make_celery, send
from workers.queue.enqueue import Send, enqueue, rows
from workers.queue.heartbeats import ProcessKind, beat
from workers.queue.pruning import keep_pruning, retention
from workers.settings import SweeperSettings

MAX_AT_ONCE = 500
MAX_PRUNED = 1000
"""Rows of each kind between two sweeps: a transaction stays short, and a day of sweeps removes millions."""
PRUNED_SECONDS = 3600.0
POLICY_CHECK_SECONDS = 86_400.0
POLL, SEARCH = "poll", "reconcile"
"""The kinds of `PollReactions` and `RedeliverWebhooks`."""
RESEND_WHEN_EMPTY = 15.0
RESEND_WHEN_BUSY = 600.0
_log = structlog.get_logger()


def sweep(store: Store, send: Send, now: datetime, *, resend_after: float = RESEND_WHEN_EMPTY) -> tuple[str, ...]:
    """Send every job that is ready and was not sent within `resend_after` seconds; returns the ids sent.

    These are jobs that were never sent, that a broker lost, that were postponed until now, or whose lease ran out.
    """
    due = store.jobs.due(now=now, limit=MAX_AT_ONCE, resend_after=resend_after)
    return tuple(due) if enqueue(store, send, due, now) else ()


def enqueue_polls(store: Store, now: datetime, *, every: float) -> int:
    """In each `every` seconds, enqueue one poll for each repository with watched posts.

    A repository whose last poll still waits, as for GitHub to come back, gets no other. Returns how many jobs are new.
    """
    slot = int(now.timestamp() // every)
    wanted = frozenset(store.posts.repositories_watched(now - POLLED_FOR)) - {
        str(each) for each in store.jobs.under_way(POLL)
    }
    polls = [PollReactions(repository=known) for known in store.repositories.all(RepositoryRef) if known.key in wanted]
    return store.jobs.enqueue(rows(f"poll:{slot}", polls), now=now)


def enqueue_search(store: Store, now: datetime, *, every: float) -> int:
    """In each `every` seconds, and in each minute while one is not through, enqueue one search for lost webhooks.

    While one waits there is no other. Returns how many are new.
    """
    if store.jobs.under_way(SEARCH):
        return 0
    position = store.hook_log.get("", HookLogPosition)
    seconds = 60.0 if position is not None and position.cursor else every
    return store.jobs.enqueue(rows(f"search:{seconds}:{now.timestamp() // seconds}", [RedeliverWebhooks()]), now=now)


def enqueue_policy_check(store: Store, now: datetime) -> int:
    """Enqueue one policy check a day; returns how many jobs are new."""
    return store.jobs.enqueue(rows(f"judge:{int(now.timestamp() // POLICY_CHECK_SECONDS)}", [CheckPolicy()]), now=now)


def run_sweeper(settings: SweeperSettings) -> None:
    """Sweep until SIGTERM or SIGINT. Waits while the database or the broker is unavailable; at the start for `start_seconds`."""
    celery, ended = make_celery(settings), threading.Event()
    with await_store(settings.database(), seconds=settings.start_seconds, report=_log.warning) as store:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ended.set())
        keep_pruning(settings)
        pruned_at = -inf
        while not ended.is_set():
            sweep_once(store, functools.partial(send, celery), functools.partial(depth, celery), settings)
            if time.monotonic() - pruned_at > PRUNED_SECONDS and not prune_rows(store, settings):
                pruned_at = time.monotonic()
                measure_tables(store)
            ended.wait(settings.sweep_seconds)


def prune_rows(store: Store, settings: SweeperSettings) -> bool:
    """Prune a portion of the rows that are too old; whether there may be more."""
    try:
        return store.upkeep.prune(retention(settings), now=store.clock(), most=MAX_PRUNED).reached(MAX_PRUNED)
    except StoreError as error:
        _log.warning("rows not pruned", error=str(error))
        return False


def measure_tables(store: Store) -> None:
    """Note how large the database is."""
    try:
        until = store.clock() + 2 * timedelta(seconds=PRUNED_SECONDS)
        for table, rows in store.measured.table_rows().items():
            TABLE_ROWS.set(rows, until=until, table=table)
        DATABASE_BYTES.set(store.measured.size(), until=until)
    except StoreError as error:
        _log.warning("tables not measured", error=str(error))


def sweep_once(store: Store, send: Send, waiting: Callable[[], int], settings: SweeperSettings) -> None:
    """One whole sweep, with a heartbeat; it is postponed while database or broker are unavailable."""
    try:
        beat(store, ProcessKind.SWEEPER, every=settings.sweep_seconds)
        now = store.clock()
        enqueue_polls(store, now, every=settings.poll_seconds)
        enqueue_search(store, now, every=settings.poll_seconds)
        enqueue_policy_check(store, now)
        store.jobs.bring_forward(now)
        # Messages that wait in the queue are not lost; sending them again would only lengthen it.
        resend_after = RESEND_WHEN_BUSY if waiting() else RESEND_WHEN_EMPTY
        sweep(store, send, now, resend_after=resend_after)
        LAST_SWEEP.set(now.timestamp())
        store.measured.store(now)
    except (StoreError, Retryable) as error:
        _log.warning("sweep postponed", error=str(error))
