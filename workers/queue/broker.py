"""The Celery app and its brokers. A message holds a job's id and only wakes a process: the database says which job is next.

The embedded broker keeps messages as files under `home`; with a broker URL they live in Redis. Both may lose, repeat
or delay messages: leases make that harmless, and the sweeper sends lost jobs again.
"""

import json
import ssl
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from queue import Empty

from celery import Celery
from kombu.asynchronous import Hub
from kombu.exceptions import ChannelError, KombuError
from kombu.transport import TRANSPORT_ALIASES, filesystem, redis, virtual

from workers.errors import Retryable
from workers.settings import Settings

RUN_JOB = "apprentice.run_job"
QUEUE = "apprentice"
POLL_SECONDS = 0.05

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

    Kombu's own keeps the slot then. A worker that lost all of its slots in an outage never takes a message again.
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
