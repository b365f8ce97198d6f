"""The writer of deliveries: one commit for all that wait, and when no more are taken."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from bot.web.delivery_writer import MAX_BYTES, MAX_UNSAVED, DeliveryWriter
from memory.errors import StoreError
from memory.model.jobs import Delivery, NewJob
from tests.databases import ThreadStore


class Database:
    """Stores when it is let."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.free = threading.Event()
        self.broken = False

    def store(self, batch: Sequence[Delivery]) -> list[bool]:
        self.free.wait()
        if self.broken:
            raise StoreError("the disk is full")
        self.batches.append([each.id for each in batch])
        return [True for _ in batch]


def delivery(name: str, size: int = 1) -> Delivery:
    job = NewJob(id=name, kind="fix", payload=b" " * size)
    return Delivery(id=name, event="push", received_at=datetime(2026, 1, 1, tzinfo=UTC), jobs=(job,))


def test_what_waits_shares_a_commit() -> None:
    """Deliveries that arrive during a commit are stored by the next one, and each that is new is handed on."""
    database, handed = Database(), []

    async def session() -> None:
        writer = DeliveryWriter([ThreadStore(database.store)], lambda stored: handed.extend(each.id for each in stored))
        tasks = [asyncio.create_task(writer.record(delivery(name))) for name in "abc"]
        await asyncio.sleep(0)
        tasks += [asyncio.create_task(writer.record(delivery(name))) for name in "def"]
        await asyncio.sleep(0)
        database.free.set()
        assert await asyncio.gather(*tasks) == [True] * 6
        await writer.end()

    asyncio.run(session())
    assert sorted(handed) == list("abcdef")
    assert len(database.batches) <= 2


@pytest.mark.parametrize(("count", "size"), [(1, MAX_BYTES + 1), (MAX_UNSAVED, 1)])
def test_too_many_wait(count: int, size: int) -> None:
    """While too many wait, or more bytes than memory is meant for, no more are taken; those that were taken are stored."""
    database = Database()

    async def session() -> None:
        writer = DeliveryWriter([ThreadStore(database.store)], lambda _stored: None)
        assert not writer.is_full
        tasks = [asyncio.create_task(writer.record(delivery(str(number), size))) for number in range(count)]
        await asyncio.sleep(0)
        assert writer.is_full
        database.free.set()
        assert all(await asyncio.gather(*tasks))
        await writer.end()
        assert not writer.is_full

    asyncio.run(session())


def test_a_database_that_refuses() -> None:
    """Each sender of the batch hears of it, and the next batch is tried again."""
    database = Database()
    database.free.set()

    async def session() -> None:
        writer = DeliveryWriter([ThreadStore(database.store)], lambda _stored: None)
        database.broken = True
        with pytest.raises(StoreError, match="disk"):
            await writer.record(delivery("a"))
        database.broken = False
        assert await writer.record(delivery("a"))

    asyncio.run(session())


def test_an_unexpected_error_keeps_nothing_waiting() -> None:
    """Only the senders of its batch suffer; what waits is stored, though no other delivery comes."""
    database = Database()

    def store(batch: Sequence[Delivery]) -> list[bool]:
        if batch[0].id == "a":
            database.free.wait()
            raise RuntimeError("out of memory")
        return database.store(batch)

    async def session() -> None:
        writer = DeliveryWriter([ThreadStore(store)], lambda _stored: None)
        first = asyncio.create_task(writer.record(delivery("a")))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(writer.record(delivery("b")))
        await asyncio.sleep(0)
        database.free.set()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await second
        assert not writer.is_full

    asyncio.run(session())
