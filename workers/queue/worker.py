"""A worker: processes that run one job after another, when a message wakes them or when they look for due jobs themselves.

Celery starts them and hands out the messages. A process ends with its worker, and a worker that takes no messages is ended.
"""

import faulthandler
import functools
import mmap
import os
import signal
import socket
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from billiard import pool  # type: ignore[import-untyped]  # it has no types
from celery import Celery
from celery.apps.worker import install_worker_term_handler
from celery.exceptions import CPendingDeprecationWarning
from celery.platforms import SecurityWarning
from celery.signals import setup_logging, worker_process_init, worker_process_shutdown, worker_shutting_down
from celery.worker import WorkController
from celery.worker.consumer import Consumer
from celery.worker.state import maybe_shutdown
from kombu.connection import Connection

from memory.errors import StoreError
from workers import traces
from workers.errors import Retryable
from workers.queue.broker import RUN_JOB, depth, make_celery, send
from workers.queue.heartbeats import ProcessKind, keep_beating, store_measures
from workers.queue.pruning import keep_pruning
from workers.queue.runner import RunContext, run_next
from workers.settings import WorkerSettings

_PARENT_CHECK_SECONDS = 0.5
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerTimes:
    """Seconds: until a process without messages looks for jobs itself; between its looks at the queue, of which two in a
    row with messages end its worker; for that to take; and until a process ends in which no thread can run.
    """

    look: float = 5.0
    watch: float = 60.0
    grace: float = 60.0
    frozen: float = 120.0


class WorkerProcess:
    """One of a worker's processes. It runs one job after another, when a message wakes it or when it looks itself.

    `run_next` runs the job whose turn it is, and says whether there was one. `waiting` counts the messages in the queue,
    and raises Retryable where the broker does not answer.
    """

    def __init__(self, run_next: Callable[[], bool], waiting: Callable[[], int], times: WorkerTimes) -> None:
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


_TIMES = WorkerTimes()


def run_worker(settings: WorkerSettings, make_context: Callable[[], RunContext], times: WorkerTimes = _TIMES) -> int:
    """Run jobs until SIGTERM, `settings.workers` at a time, each in its own process; returns the exit code.

    Each process calls `make_context` once. SIGTERM lets running jobs finish; a second signal does not.
    """
    celery = make_celery(settings)
    context = functools.cache(make_context)
    queue = functools.partial(send, celery)
    ending = mmap.mmap(-1, 1)  # shared with the processes, which see no signal of their worker's

    @functools.cache
    def process() -> WorkerProcess:
        """Of the worker's child that this is."""
        name = f"{socket.gethostname()}:{os.getppid()}:{os.getpid()}"

        def run() -> bool:
            """Unless the worker ends."""
            return not ending[0] and run_next(context(), worker=name, send=queue)

        def waiting() -> int:
            """None that a worker that ends should take: to stop its processes may take it half a minute."""
            return 0 if ending[0] else depth(celery)

        return WorkerProcess(run, waiting, times)

    def run(_job_id: str) -> None:
        process().on_message()

    celery.task(run, name=RUN_JOB, ignore_result=True)
    worker_shutting_down.connect(lambda **_: ending.__setitem__(0, 1), weak=False)
    worker_process_init.connect(functools.partial(_die_with_parent, times), weak=False)
    worker_process_init.connect(functools.partial(_look_after, settings), weak=False)
    worker_process_init.connect(lambda **_: process().start(), weak=False)
    worker_process_shutdown.connect(lambda **_: process().finish(), weak=False)
    worker_process_shutdown.connect(functools.partial(_leave_measures, settings), weak=False)
    setup_logging.connect(lambda **_: None, weak=False)  # Celery leaves the log as it is
    # A process that ends waits 30 s for its worker to hear of its last message; a message only wakes, so a second is enough.
    pool.GUARANTEE_MESSAGE_CONSUMPTION_RETRY_LIMIT = 10
    # Celery warns root about pickled messages; ours are JSON, and the sandbox chooses its own user. Where Redis goes it warns
    # of jobs that go on and have no message any more; theirs only woke a process.
    for warning in (SecurityWarning, CPendingDeprecationWarning):
        warnings.filterwarnings("ignore", category=warning)

    worker = _quiet_worker(celery, settings.workers)
    worker.start()
    return int(worker.exitcode or 0)


class _QuietConsumer(Consumer):  # type: ignore[misc]  # Celery has no types
    """Writes one line when the broker goes, and one when it is back. Celery writes one for each try, and none at their end."""

    _away = False

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """Celery's own line names the loss."""
        self._away = True
        super().on_connection_error_after_connected(exc)

    def ensure_connected(self, conn: Connection) -> Connection:
        """Try until it answers, or the worker ends."""

        def missed(error: Exception, _seconds: float) -> None:
            if not self._away:
                _log.warning("broker does not answer, and is tried until it does", error=str(error))
            self._away = True

        conn.ensure_connection(missed, callback=maybe_shutdown)  # type: ignore[no-untyped-call]  # kombu has no types
        if self._away:
            _log.info("broker answers again")
        self._away = self.first_connection_attempt = False
        return conn


def _quiet_worker(celery: Celery, processes: int) -> WorkController:
    class QuietWorker(celery.Worker):  # type: ignore[misc]  # a class that Celery makes for its app
        def install_platform_tweaks(self, worker: object) -> None:
            """Without the line that Celery writes at SIGTERM beside the log."""
            super().install_platform_tweaks(worker)
            install_worker_term_handler(worker, verbose=False)

    return QuietWorker(
        pool="prefork",
        concurrency=processes,
        hostname=f"apprentice@{socket.gethostname()}",
        loglevel="WARNING",
        quiet=True,
        consumer_cls=_QuietConsumer,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )


def _look_after(settings: WorkerSettings, **_signal: object) -> None:
    """In each child, for SQLite and held locks must not be carried over a fork."""
    keep_beating(settings.database(), ProcessKind.WORKER)
    keep_pruning(settings)


def _leave_measures(settings: WorkerSettings, **_signal: object) -> None:
    """Of a process that ends, store what was measured since its last heartbeat."""
    store_measures(settings.database())
    traces.close()


def _die_with_parent(times: WorkerTimes, **_signal: object) -> None:
    """A killed worker must leave no children: each child checks that its parent is alive.

    A process in which no thread can run, as in one endless regular expression, checks nothing: a timer outside of Python ends
    it, and writes where it hung.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            faulthandler.dump_traceback_later(times.frozen, exit=True)
            time.sleep(_PARENT_CHECK_SECONDS)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()
