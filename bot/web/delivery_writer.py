"""Stores deliveries in the database and sends their jobs to the queue, off the event loop.

Deliveries that arrive during a commit share the next one, because the commit is the expensive part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from anyio import to_thread

from bot.web.metrics import Metrics
from memory.errors import StoreError
from memory.model.jobs import Delivery
from workers.queue.runner import Send, enqueue

if TYPE_CHECKING:  # SQLAlchemy is slow to import
    from memory.store import Store

MOST_TOGETHER = 200


class DeliveryWriter:
    """Stores deliveries and sends their jobs. Belongs to one event loop."""

    def __init__(
        self,
        store: Store,
        send: Send,
        clock: Callable[[], datetime],
        metrics: Metrics,
    ) -> None:
        self._store = store
        self._send = send
        self._clock = clock
        self._metrics = metrics
        self._waiting: list[tuple[Delivery, asyncio.Future[bool]]] = []
        self._unsent: list[str] = []
        self._storing: asyncio.Task[None] | None = None
        self._sending: asyncio.Task[None] | None = None

    async def record(self, delivery: Delivery) -> bool:
        """Store `delivery` with its jobs and send them; False for a duplicate. Raises StoreError."""
        stored: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((delivery, stored))
        if self._storing is None:
            self._storing = asyncio.create_task(self._store_waiting())
        return await stored

    async def drain(self) -> None:
        """Wait until all stored jobs are sent to the queue."""
        for task in (self._storing, self._sending):
            if task is not None:
                await task
        if self._sending is not None:
            await self._sending

    async def _store_waiting(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
                await self._commit(batch)
        finally:
            self._storing = None

    async def _commit(self, batch: Sequence[tuple[Delivery, asyncio.Future[bool]]]) -> None:
        try:
            news = await to_thread.run_sync(self._store.inbox.record_deliveries, [delivery for delivery, _ in batch])
            for (delivery, stored), new in zip(batch, news, strict=True):
                self._settle(delivery, stored, new=new)
        except StoreError as error:
            for _, stored in batch:
                if not stored.done():
                    stored.set_exception(error)
        finally:
            for _, stored in batch:
                stored.cancel()  # has no effect on a finished future; no caller may wait for ever
        if self._unsent and self._sending is None:
            self._sending = asyncio.create_task(self._send_unsent())

    def _settle(self, delivery: Delivery, stored: asyncio.Future[bool], *, new: bool) -> None:
        if not stored.done():
            stored.set_result(new)
        if new:
            self._unsent.extend(job.id for job in delivery.jobs)

    async def _send_unsent(self) -> None:
        try:
            while self._unsent:
                ids, self._unsent = self._unsent, []
                await to_thread.run_sync(self._enqueue, ids)
        finally:
            self._sending = None

    def _enqueue(self, ids: list[str]) -> None:
        if not enqueue(self._store, self._send, ids, self._clock()):
            self._metrics.unsent(len(ids))
