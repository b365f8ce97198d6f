"""Stores deliveries in the database, off the event loop.

Deliveries that arrive during a commit share the next one, because the commit is the expensive part.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memory.errors import StoreError
from memory.model.jobs import Delivery

if TYPE_CHECKING:  # SQLAlchemy is slow to import
    from bot.web.storing_process import StoringProcess

MAX_TOGETHER = 100
"""Senders that are answered together send again together, and every other request waits behind theirs."""

LATE_SECONDS = 5.0
"""While the oldest delivery has waited longer, no other is taken. GitHub itself gives up after 10 s."""

MAX_UNSAVED = 500
"""Two thirds of the connections: beyond, answers about health would wait behind too many others."""

MAX_BYTES = 64 * 1024 * 1024
"""Of jobs that wait to be stored."""


@dataclass(slots=True, eq=False)
class _Unsaved:
    delivery: Delivery
    stored: asyncio.Future[bool]
    since: float
    size: int


class DeliveryWriter:
    """Stores deliveries. Belongs to one event loop.

    Each of `stores` has one commit under way at a time; `on_stored` gets the deliveries that are new.
    """

    def __init__(self, stores: Sequence[StoringProcess], on_stored: Callable[[Sequence[Delivery]], None]) -> None:
        self._free = list(stores)
        self._on_stored = on_stored
        self._unsaved: dict[_Unsaved, None] = {}  # the oldest first
        self._waiting: deque[_Unsaved] = deque()
        self._bytes = 0
        self._storing: set[asyncio.Task[Any] | None] = set()

    @property
    def is_full(self) -> bool:
        """Whether deliveries wait too long, or too many of them, or too many bytes."""
        if self._bytes > MAX_BYTES or len(self._unsaved) >= MAX_UNSAVED:
            return True
        oldest = next(iter(self._unsaved), None)
        return oldest is not None and asyncio.get_running_loop().time() - oldest.since > LATE_SECONDS

    async def record(self, delivery: Delivery) -> bool:
        """Store `delivery` with its jobs; False for a duplicate. Raises StoreError."""
        loop = asyncio.get_running_loop()
        size = sum(len(job.payload) for job in delivery.jobs)
        unsaved = _Unsaved(delivery, loop.create_future(), loop.time(), size)
        self._unsaved[unsaved] = None
        self._waiting.append(unsaved)
        self._bytes += size
        self._begin_storing()
        return await unsaved.stored

    async def end(self) -> None:
        """Wait until all deliveries are stored."""
        await asyncio.gather(*(task for task in self._storing if task))

    def _begin_storing(self) -> None:
        if self._free and self._waiting:
            self._storing.add(asyncio.create_task(self._store_waiting(self._free.pop())))

    async def _store_waiting(self, store: StoringProcess) -> None:
        try:
            while self._waiting:
                together = range(min(MAX_TOGETHER, len(self._waiting)))
                await self._commit(store, [self._waiting.popleft() for _ in together])
        finally:  # at once, so that no delivery relies on a task that has ended
            self._free.append(store)
            self._storing.discard(asyncio.current_task())
            self._begin_storing()  # what waits after an unexpected error: no other delivery may come for it

    async def _commit(self, store: StoringProcess, batch: Sequence[_Unsaved]) -> None:
        deliveries = [each.delivery for each in batch]
        try:
            news = await store.store(deliveries)
            for each, new in zip(batch, news, strict=True):
                if not each.stored.done():
                    each.stored.set_result(new)
            self._on_stored([delivery for delivery, new in zip(deliveries, news, strict=True) if new])
        except StoreError as error:
            for each in batch:
                if not each.stored.done():
                    each.stored.set_exception(error)
        finally:
            for each in batch:
                del self._unsaved[each]
                self._bytes -= each.size
                each.stored.cancel()  # has no effect on a finished future; no caller may wait forever
