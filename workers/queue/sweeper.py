"""Sends again what got lost, and has reactions polled. Any number of sweepers may run: they do not double anything."""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import structlog

from memory.store import KnownRepository, Store, StoreError, open_store
from workers.errors import Retryable
from workers.jobs import Judge, Poll, Reconcile, RepositoryRef
from workers.queue.celery_app import depth, make_celery, send
from workers.queue.enqueue import Send, hand_over, rows
from workers.settings import WorkerSettings

MOST_AT_ONCE = 500
JUDGED_EVERY = 86_400.0
RESEND_WHEN_EMPTY = 15.0
RESEND_WHEN_BUSY = 600.0
_log = structlog.get_logger()


def sweep(store: Store, send: Send, now: datetime, *, resend_after: float = RESEND_WHEN_EMPTY) -> tuple[str, ...]:
    """Send every job that could run and was not sent within `resend_after` seconds; returns the ids sent.

    That is what was committed and never sent, what a broker lost, what was postponed until now, and what was leased by
    a worker that fell silent.
    """
    due = store.inbox.due(now=now, limit=MOST_AT_ONCE, resend_after=resend_after)
    return tuple(due) if hand_over(store, send, due, now) else ()


def enqueue_polls(store: Store, now: datetime, *, every: float) -> int:
    """One Poll for each repository with something to watch, and one look for lost webhooks, in each `every` seconds.

    Returns how many jobs are new.
    """
    slot = int(now.timestamp() // every)
    watched = frozenset(store.posts.repositories_watched())
    polls = [
        Poll(repository=RepositoryRef(id=known.id, full_name=known.full_name, installation_id=known.installation_id))
        for known in store.repositories.all(KnownRepository)
        if known.full_name in watched
    ]
    return store.inbox.enqueue(rows(f"poll:{slot}", [*polls, Reconcile()]), now=now)


def enqueue_judgement(store: Store, now: datetime, *, every: float = JUDGED_EVERY) -> int:
    """One look a day at whether the policy in use does worse than others; returns how many jobs are new."""
    return store.inbox.enqueue(rows(f"judge:{int(now.timestamp() // every)}", [Judge()]), now=now)


def run_sweeper(settings: WorkerSettings) -> None:
    """Sweep until SIGTERM or SIGINT. A database or broker that is away for a while is waited for."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    celery = make_celery(settings)
    with open_store(settings.database()) as store:
        while not ended.is_set():
            _round(
                store,
                functools.partial(send, celery),
                functools.partial(depth, celery),
                datetime.now(UTC),
                settings.poll_seconds,
            )
            ended.wait(settings.sweep_seconds)


def _round(store: Store, send: Send, waiting: Callable[[], int], now: datetime, poll_seconds: float) -> None:
    try:
        enqueue_polls(store, now, every=poll_seconds)
        enqueue_judgement(store, now)
        # Messages that wait behind others are not lost; one more of each would only lengthen the queue.
        patience = RESEND_WHEN_BUSY if waiting() else RESEND_WHEN_EMPTY
        sent = sweep(store, send, now, resend_after=patience)
    except (StoreError, Retryable) as error:
        _log.warning("sweep put off", error=str(error))
    else:
        if sent:
            _log.info("sent again", jobs=len(sent))
