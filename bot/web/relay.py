"""Sends the ids of stored jobs to the queue, beside the requests that brought them.

A message only wakes a worker, which takes the job whose turn it is from the database. So the queue needs no message for
each job that waits, and what a broker refuses is not lost: idle workers and the sweeper find it.
"""

import asyncio
from collections.abc import Callable, Sequence

from anyio import to_thread

from workers.errors import Retryable

MAX_WAITING = 500
"""Messages in the queue, beyond which none is added."""
MAX_HELD = 10_000
"""Ids that wait here for room in the queue."""
LOOK_SECONDS = 0.5
END_SECONDS = 5.0


class Relay:
    """Belongs to one event loop. `send` sends ids and says whether that worked, `waiting` counts the messages in the queue and
    raises Retryable where the broker does not answer, `left` hears how many ids were not sent.
    """

    def __init__(
        self, send: Callable[[Sequence[str]], bool], waiting: Callable[[], int], left: Callable[[int], None]
    ) -> None:
        self._send = send
        self._waiting = waiting
        self._left = left
        self._held: list[str] = []
        self._room = 0
        self._sending: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    def take(self, ids: Sequence[str]) -> None:
        """Send these soon. Does not wait."""
        taken = ids[: MAX_HELD - len(self._held)]
        self._held += taken
        if len(taken) < len(ids):
            self._left(len(ids) - len(taken))
        if self._held and self._sending is None:
            self._sending = asyncio.create_task(self._send_held())

    async def end(self) -> None:
        """Send what there is room for, in END_SECONDS."""
        self._ending.set()
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=END_SECONDS)

    async def _send_held(self) -> None:
        try:
            while self._held and await self._has_room():
                ids, self._held = self._held[: self._room], self._held[self._room :]
                self._room -= len(ids)
                if not await to_thread.run_sync(self._send, ids, abandon_on_cancel=True):
                    self._left(len(ids) + len(self._held))
                    self._held = []
        finally:
            self._sending = None

    async def _has_room(self) -> bool:
        """Whether there is room in the queue, waiting for it until the end."""
        while self._room <= 0:
            self._room = await to_thread.run_sync(self._count_room, abandon_on_cancel=True)
            if self._room <= 0 and await self._ends():
                return False
        return True

    async def _ends(self) -> bool:
        """Whether the end comes before it is time to look again."""
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._ending.wait()
        except TimeoutError:
            return False

    def _count_room(self) -> int:
        try:
            return MAX_WAITING - self._waiting()
        except Retryable:
            return MAX_WAITING  # sending finds out as well, and says so
