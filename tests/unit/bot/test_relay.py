"""The relay: messages for jobs, as many as the queue has room for, beside the requests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from bot.web.relay import MAX_HELD, MAX_WAITING, Relay
from workers.errors import Retryable


class Queue:
    """A broker's queue that workers empty when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.left = 0
        self.answers = True
        self.relay = Relay(self.send, self.count, self.leave)

    def send(self, ids: Sequence[str]) -> bool:
        if self.answers:
            self.waiting += ids
        return self.answers

    def count(self) -> int:
        if not self.answers:
            raise Retryable("the broker does not answer")
        return len(self.waiting)

    def leave(self, count: int) -> None:
        self.left += count

    async def holds(self, count: int) -> None:
        while len(self.waiting) != count:  # noqa: ASYNC110  # a thread changes it
            await asyncio.sleep(0.01)


@pytest.fixture
def queue() -> Queue:
    return Queue()


def ids(first: int, count: int) -> list[str]:
    return [f"j{number}" for number in range(first, first + count)]


def test_the_queue_stays_short(queue: Queue) -> None:
    """Of a flood only so many messages are in the queue at a time; the others follow, in order, when workers took some."""

    async def session() -> None:
        flood = ids(0, 2 * MAX_WAITING + 100)
        queue.relay.take(flood)
        for begin in (0, MAX_WAITING):
            await queue.holds(MAX_WAITING)
            assert queue.waiting == flood[begin : begin + MAX_WAITING]
            queue.waiting.clear()
        await queue.holds(100)
        await queue.relay.end()

    asyncio.run(session())
    assert queue.left == 0


def test_the_end_does_not_wait_for_room(queue: Queue) -> None:
    """What the queue has no room for at the end of the process is left to the sweeper."""

    async def session() -> None:
        queue.relay.take(ids(0, MAX_WAITING + 1))
        await queue.holds(MAX_WAITING)
        await queue.relay.end()

    asyncio.run(session())
    assert len(queue.waiting) == MAX_WAITING


def test_an_outage(queue: Queue) -> None:
    """What a broker refuses is left to the sweeper, and counted; what comes after the outage is sent."""

    async def session() -> None:
        queue.answers = False
        queue.relay.take(ids(0, 3))
        while queue.left < 3:  # noqa: ASYNC110  # a thread changes it
            await asyncio.sleep(0.01)
        queue.answers = True
        queue.relay.take(ids(3, 2))
        await queue.holds(2)
        await queue.relay.end()

    asyncio.run(session())
    assert queue.waiting == ["j3", "j4"]


def test_it_holds_so_many(queue: Queue) -> None:
    """Ids beyond a limit are left to the sweeper at once."""

    async def session() -> None:
        queue.relay.take(ids(0, MAX_HELD + 7))
        assert queue.left == 7

    asyncio.run(session())
