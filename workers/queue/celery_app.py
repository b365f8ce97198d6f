"""The Celery app and its brokers. A message holds a job's id and only wakes a process: the database says which job is next.

The embedded broker keeps messages as files under `home`; with a broker URL they live in Redis. Both may lose, repeat
or delay messages: leases make that harmless, and the sweeper sends lost jobs again.
"""

import faulthandler
import functools
import json
import mmap
import os
import signal
import socket
import ssl
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty

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
from kombu.asynchronous import Hub
from kombu.connection import Connection
from kombu.exceptions import ChannelError, KombuError
from kombu.transport import TRANSPORT_ALIASES, filesystem, redis, virtual

from workers import traces
from workers.errors import Retryable
from workers.queue.heartbeats import ProcessKind, keep_beating, store_measures
from workers.queue.idle import IdleProcess, IdleTimes
from workers.queue.pruning import keep_pruning
from workers.queue.runner import RunContext, run_next
from workers.settings import Settings, WorkerSettings

RUN_JOB = "apprentice.run_job"
QUEUE = "apprentice"
POLL_SECONDS = 0.05
_PARENT_CHECK_SECONDS = 0.5
_log = structlog.get_logger()

# Measured with SIGKILLed workers: without the two `unacked_restore` settings Redis redelivers a dead worker's messages
# after 102 s instead of 22. A job longer than `visibility_timeout` is delivered again; its lease stops the second run.
_REDIS_OPTIONS = {
    "visibility_timeout": 20,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_connect_timeout": 5,
    "socket_timeout": 30,
}


class _Folder(filesystem.Channel):
    """Kombu's channel over a folder, with atomic writes and reads.

    Kombu's own channel writes in place, so that a reader may find half a message, and moves messages through /tmp.
    """

    def _put(self, queue: str, message: object, **_kwargs: object) -> None:  # type: ignore[override]  # kombu disagrees with itself
        folder = Path(self.data_folder_out)
        name = f"{time.time_ns():020}-{uuid.uuid4().hex}"
        unfinished = folder / f"{name}.new"
        unfinished.write_text(json.dumps(message))
        unfinished.rename(folder / f"{name}.{queue}.msg")

    def _get(self, queue: str, timeout: float | None = None) -> object:  # noqa: ARG002  # kombu's signature
        for message in sorted(Path(self.data_folder_in).glob(f"*.{queue}.msg")):
            try:
                text = message.read_text()
                message.unlink()  # the worker whose unlink succeeds owns the message
            except FileNotFoundError:
                continue
            return json.loads(text)
        raise Empty


class _FolderTransport(filesystem.Transport):
    """Runs in Celery's event loop, as Redis does: only there does each child have its own pipe.

    In the blocking loop the children share a pipe behind a lock, and a child that dies while it waits blocks them all.
    """

    Channel = _Folder
    implements = filesystem.Transport.implements.extend(asynchronous=True)

    def register_with_event_loop(self, connection: object, loop: Hub) -> None:
        def look() -> None:
            try:
                while True:
                    self.drain_events(connection, timeout=0)  # type: ignore[no-untyped-call]  # kombu has no types
            except TimeoutError:  # no message, or every worker is busy
                return

        loop.on_tick.add(look)  # after each job
        loop.call_repeatedly(POLL_SECONDS, look)  # type: ignore[no-untyped-call]  # kombu has no types


class _ReleasingQoS(redis.QoS):
    """Gives a slot back although Redis does not hear that its message is done.

    Kombu's own keeps the slot then. A worker that lost all of its slots in an outage takes no message ever after.
    """

    def ack(self, delivery_tag: str) -> None:
        try:
            super().ack(delivery_tag)  # type: ignore[no-untyped-call]  # kombu has no types
        finally:
            virtual.QoS.ack(self, delivery_tag)  # type: ignore[no-untyped-call]  # kombu has no types

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:  # kombu's signature
        try:
            super().reject(delivery_tag, requeue=requeue)  # type: ignore[no-untyped-call]  # kombu has no types
        finally:
            virtual.QoS.ack(self, delivery_tag)  # type: ignore[no-untyped-call]  # kombu has no types


class _RedisChannel(redis.Channel):
    QoS = _ReleasingQoS


class _RedisTransport(redis.Transport):
    Channel = _RedisChannel


def make_celery(settings: Settings) -> Celery:
    """The Celery app on the configured broker; creates the embedded broker's folders."""
    celery = Celery("apprentice", set_as_current=False)
    celery.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_default_queue=QUEUE,
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_enable_remote_control=False,
        worker_proc_alive_timeout=60.0,
        worker_lost_wait=1.0,  # a killed child keeps its slot that long; the default is 10 s
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        **_broker(settings),
    )
    return celery


def _broker(settings: Settings) -> dict[str, object]:
    url = settings.broker_url
    if not url:
        return _embedded(settings.home / "broker")
    # By a name, for Celery's log shows the transport as the scheme of its address.
    TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), f"{__name__}:{_RedisTransport.__name__}"))
    encrypted = {"ssl_cert_reqs": ssl.CERT_REQUIRED} if url.startswith("rediss://") else None
    return {"broker_url": url, "broker_transport_options": _REDIS_OPTIONS, "broker_use_ssl": encrypted}


def _embedded(folder: Path) -> dict[str, object]:
    messages, control = folder / "messages", folder / "control"
    for path in (messages, control):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    options = {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "control_folder": str(control),
        "polling_interval": None,  # the transport's event loop polls for messages
    }
    return {
        "broker_url": "filesystem://localhost",
        "broker_transport": _FolderTransport,
        "broker_transport_options": options,
    }


def send(celery: Celery, job_ids: Sequence[str]) -> None:
    """Send one message for each id; raises Retryable when the broker refuses them. Does not wait for the broker."""
    try:
        with celery.producer_or_acquire() as producer:
            for job_id in job_ids:
                celery.send_task(RUN_JOB, (job_id,), producer=producer, retry=False)
    except (KombuError, OSError) as error:
        raise Retryable(f"the broker refuses messages: {error}") from error


def depth(celery: Celery) -> int:
    """How many messages wait in the queue; raises Retryable when the broker does not answer."""
    try:
        with celery.connection_for_read() as connection:
            return int(connection.default_channel.queue_declare(QUEUE, passive=True).message_count)
    except ChannelError:  # Redis deletes an empty queue
        return 0
    except (KombuError, OSError) as error:
        raise Retryable(f"the broker does not answer: {error}") from error


_IDLE_TIMES = IdleTimes()


def run_worker(settings: WorkerSettings, make_context: Callable[[], RunContext], times: IdleTimes = _IDLE_TIMES) -> int:
    """Run jobs until SIGTERM, `settings.workers` at a time, each in its own process; returns the exit code.

    Each process calls `make_context` once. SIGTERM lets running jobs finish; a second signal does not.
    """
    celery = make_celery(settings)
    context = functools.cache(make_context)
    queue = functools.partial(send, celery)
    ending = mmap.mmap(-1, 1)  # shared with the processes, which see no signal of their worker's

    @functools.cache
    def process() -> IdleProcess:
        """Of the worker's child that this is."""
        name = f"{socket.gethostname()}:{os.getppid()}:{os.getpid()}"

        def run() -> bool:
            """Unless the worker ends."""
            return not ending[0] and run_next(context(), worker=name, send=queue)

        def waiting() -> int:
            """None that a worker that ends should take: to stop its processes may take it half a minute."""
            return 0 if ending[0] else depth(celery)

        return IdleProcess(run, waiting, times)

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


def _die_with_parent(times: IdleTimes, **_signal: object) -> None:
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
