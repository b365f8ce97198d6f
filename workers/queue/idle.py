"""What a worker's process does without messages: it looks for due jobs itself, and ends a worker that takes no messages."""

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from memory.errors import StoreError
from workers.errors import Retryable

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleTimes:
    """Seconds: until a process without messages looks for jobs itself; between its looks at the queue, of which two in a
    row with messages end its worker; for that to take; and until a process ends in which no thread can run.
    """

    look: float = 5.0
    watch: float = 60.0
    grace: float = 60.0
    frozen: float = 120.0


class IdleProcess:
    """One of a worker's processes. It runs one job after another, when a message wakes it or when it looks itself.

    `run_next` runs the job whose turn it is, and says whether there was one. `waiting` counts the messages in the queue,
    and raises Retryable where the broker does not answer.
    """

    def __init__(self, run_next: Callable[[], bool], waiting: Callable[[], int], times: IdleTimes) -> None:
        self._run_next = run_next
        self._waiting = waiting
        self._times = times
        self._turn = threading.Lock()
        self._parent = os.getppid()
        self._last_message = self._last_watch = time.monotonic()
        self._overdue = 0

    def on_message(self) -> None:
        """Run jobs until there is none for this process, after one that it found itself."""
        with self._turn:
            try:
                while self._run_next():
                    pass
            except (StoreError, Retryable) as error:
                _log.warning("look for jobs postponed", error=str(error))
            finally:
                self._last_message, self._overdue = time.monotonic(), 0

    def start(self) -> None:
        """Look again and again, each time in a thread of its own: an error ends one look, and not the looking."""
        timer = threading.Timer(self._times.look, self._look_and_go_on)
        timer.daemon = True
        timer.start()

    def finish(self) -> None:
        """Wait for the job that this process found itself; it takes no other."""
        self._turn.acquire()

    def _look_and_go_on(self) -> None:
        try:
            if self._turn.acquire(blocking=False):
                try:
                    self._look()
                finally:
                    self._turn.release()
            if self._overdue >= 2:
                self._end_worker()
        finally:
            self.start()

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._last_message < self._times.look:
            return
        try:
            while self._run_next():
                pass
            if now - max(self._last_message, self._last_watch) >= self._times.watch:
                self._last_watch = now
                # One that waits may be there only since just now.
                self._overdue = self._overdue + 1 if self._waiting() else 0
        except (StoreError, Retryable) as error:
            _log.warning("look for jobs postponed", error=str(error))

    def _end_worker(self) -> None:
        """The worker's first process hands out the messages. Its supervisor starts another worker."""
        idle = round(time.monotonic() - self._last_message)
        _log.error("messages wait and this worker takes none: it is ended", seconds=idle, pid=self._parent)
        os.kill(self._parent, signal.SIGTERM)
        time.sleep(self._times.grace)
        os.kill(self._parent, signal.SIGKILL)
