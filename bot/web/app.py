"""The web process: signed webhooks in, stored deliveries and jobs out.

Of GitHub's secrets it holds the webhook secret alone.
"""

from __future__ import annotations

import functools
import hashlib
import shutil
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
import structlog
from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.types import ASGIApp, Receive, Scope
from starlette.types import Send as SendTo

from bot.web.bodies import RETRY_SECONDS, BodyReader, Headers, RequestRejected, header_of, signature_of
from bot.web.delivery_writer import DeliveryWriter
from bot.web.event_jobs import jobs_for
from bot.web.events import MAY_REPEAT, Ignored, parse
from bot.web.metrics import Metrics, StoredFigures
from bot.web.relay import Relay
from bot.web.signature import UNSET, is_genuine
from memory.errors import StoreError
from memory.model.jobs import NOT_DONE, Delivery
from workers import logs, traces
from workers.errors import BadInput, CannotRun, Retryable
from workers.jobs import Job
from workers.queue.enqueue import Send, enqueue, rows
from workers.queue.heartbeats import ProcessKind, keep_beating, missing_processes, store_measures
from workers.settings import WebSettings

if TYPE_CHECKING:  # SQLAlchemy is slow to import
    from bot.web.storing_process import StoringProcess
    from memory.store import Store

MIN_FREE_MB = 256
_log = structlog.get_logger()


class WebApplication(FastAPI):
    """FastAPI, but for deliveries: its layers cost them more time than checking the signature."""

    deliver: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: SendTo) -> None:
        if scope["type"] == "http" and scope["path"] == "/webhook":
            await self.deliver(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


class WebEndpoints:
    def __init__(
        self,
        settings: WebSettings,
        store: Store,
        send: Send,
        clock: Callable[[], datetime],
        processes: Sequence[StoringProcess],
        waiting: Callable[[], int],
    ) -> None:
        self._settings = settings
        self._waiting = waiting
        self._secret = required_secret(settings)
        self._store = store
        self._clock = clock
        self._bodies = BodyReader(settings.max_payload_mb)
        self._metrics = Metrics()
        self._log = logs.FrequentLog(settings)
        self.rejected = self._metrics.rejected
        self.relay = Relay(lambda ids: enqueue(store, send, ids, clock()), waiting, self._metrics.unsent)
        self.deliveries = DeliveryWriter(processes, self._send_jobs)

    async def deliver(self, scope: Scope, receive: Receive, send: SendTo) -> None:
        try:
            response = await self.webhook(scope["method"], dict(scope["headers"]), receive)
        except RequestRejected as refused:
            response = self.refuse(refused)
        await response(scope, receive, send)

    async def webhook(self, method: str, headers: Headers, receive: Receive) -> Response:
        """Verify, parse, route, store and answer; send the jobs to the queue afterwards."""
        started = time.perf_counter()
        if method != "POST":
            raise RequestRejected(405, "method", "the webhook takes POST alone")
        if self.deliveries.is_full:
            raise RequestRejected(503, "late", "too many deliveries wait to be stored; redeliver it later")
        event, delivery_id = header_of(headers, "X-GitHub-Event"), header_of(headers, "X-GitHub-Delivery")
        signature = signature_of(headers)
        jobs, ignored = self._jobs_of(event, await self._genuine_body(headers, receive, signature))
        with traces.span("delivery", delivery=delivery_id, event=event):
            new = await self._record(event, delivery_id, signature, jobs)
            seconds = time.perf_counter() - started
            self._metrics.answered(event, duplicate=not new, seconds=seconds)
            self._log.info(
                "delivery",
                delivery=delivery_id,
                event_name=event,
                jobs=len(jobs) if new else 0,
                duplicate=not new,
                seconds=round(seconds, 4),
            )
        answer: dict[str, object] = {"jobs": len(jobs) if new else 0, "duplicate": not new}
        answer |= {"ignored": ignored} if ignored else {}
        return Response(msgspec.json.encode(answer), status_code=202, media_type="application/json")

    def _send_jobs(self, deliveries: Sequence[Delivery]) -> None:
        self.relay.take([job.id for delivery in deliveries for job in delivery.jobs])

    async def _genuine_body(self, headers: Headers, receive: Receive, signature: str) -> bytearray:
        body = await self._bodies.read(headers, receive)
        if not is_genuine(self._secret, body, signature):
            raise RequestRejected(
                401,
                "bad_signature",
                "the signature does not match; set the same secret on GitHub and in APPRENTICE_WEBHOOK_SECRET",
            )
        return body

    def _jobs_of(self, event: str, body: bytearray) -> tuple[tuple[Job, ...], str]:
        """The jobs of an event, or the reason why there are none."""
        try:
            parsed = parse(event, body)
        except BadInput as error:
            raise RequestRejected(400, "not_json", str(error)) from error
        if isinstance(parsed, Ignored):
            return (), parsed.reason
        settings = self._settings
        return jobs_for(parsed, bot_name=settings.bot_name, trigger_label=settings.trigger_label), ""

    async def _record(self, event: str, delivery_id: str, signature: str, jobs: Sequence[Job]) -> bool:
        """Store a delivery; False for a known one. Its signature, a hash of its body, identifies it beside its id."""
        body_hash = None if event in MAY_REPEAT else hashlib.sha256(signature.encode()).hexdigest()
        delivery = Delivery(
            id=delivery_id, event=event, received_at=self._clock(), body_hash=body_hash, jobs=rows(delivery_id, jobs)
        )
        try:
            return await self.deliveries.record(delivery)
        except StoreError as error:
            _log.error("delivery not stored", delivery=delivery_id, error=str(error))
            raise RequestRejected(503, "not_stored", "the delivery could not be stored; redeliver it later") from error

    def health(self) -> Response:
        """Whether the database answers, and how long the oldest ready job has waited."""
        try:
            waited = self._oldest_ready_seconds()
        except StoreError as error:
            return JSONResponse({"status": "down", "error": str(error)}, status_code=503)
        return JSONResponse({"status": "ok", "oldest_ready_seconds": waited})

    def readiness(self) -> Response:
        """Whether all that a job needs is there: 503 with what is missing, by name."""
        problems = dict(self._problems())
        ready = {"status": "not ready" if problems else "ready", "problems": problems}
        return JSONResponse(ready, status_code=503 if problems else 200)

    def _problems(self) -> Iterator[tuple[str, str]]:
        free = shutil.disk_usage(self._settings.home).free >> 20
        if free < MIN_FREE_MB:
            yield "disk", f"{free} MB are free in {self._settings.home}, less than {MIN_FREE_MB}"
        try:
            self._waiting()
        except Retryable as error:
            yield "broker", str(error)
        try:
            yield from missing_processes(self._store).items()
        except StoreError as error:
            yield "database", str(error)

    def metrics(self) -> Response:
        try:
            page = self._metrics.page(self._figures())
        except StoreError as error:
            return PlainTextResponse(f"{error}\n", status_code=503)
        return Response(page, media_type=CONTENT_TYPE_LATEST)

    def _figures(self) -> StoredFigures:
        store, now = self._store, self._clock()
        return StoredFigures(
            unfinished=store.jobs.counts(NOT_DONE),
            expired_leases=store.upkeep.expired_leases(now),
            oldest_ready_seconds=self._oldest_ready_seconds(),
            alive=dict.fromkeys(map(str, ProcessKind), 0) | store.heartbeats.alive(now),
            measured=store.measured.all(now),
        )

    def _oldest_ready_seconds(self) -> float:
        now = self._clock()
        since = self._store.jobs.oldest_ready(now)
        return max(0.0, (now - since).total_seconds()) if since else 0.0

    def refuse(self, refused: RequestRejected) -> Response:
        """The response to a rejected request: one line with the reason."""
        self.rejected(refused.reason)
        later = {"Retry-After": str(RETRY_SECONDS), "Connection": "close"} if refused.status == 503 else {}
        return JSONResponse({"error": refused.text}, status_code=refused.status, headers=later)


def required_secret(settings: WebSettings) -> bytes:
    secret = settings.webhook_secret.get_secret_value().encode()
    if not secret:
        raise BadInput(UNSET)
    return secret


def create_app(
    settings: WebSettings,
    store: Store,
    send: Send,
    clock: Callable[[], datetime],
    processes: Sequence[StoringProcess],
    waiting: Callable[[], int] = lambda: 0,
) -> FastAPI:
    """The web application. `send` sends job ids to the queue, `waiting` counts the messages in it; both raise Retryable where
    they cannot. Deliveries are stored by `processes`.

    Raises BadInput when there is no webhook secret.
    """
    web = WebEndpoints(settings, store, send, clock, processes, waiting)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[dict[str, object]]:
        async with AsyncExitStack() as held:
            for process in processes:
                await held.enter_async_context(process)
            yield {"rejected": web.rejected}
            await web.deliveries.end()
            await web.relay.end()

    app = WebApplication(title="Apprentice", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.deliver = web.deliver
    app.add_api_route("/healthz", web.health, methods=["GET"], response_model=None)
    app.add_api_route("/readyz", web.readiness, methods=["GET"], response_model=None)
    app.add_api_route("/metrics", web.metrics, methods=["GET"], response_model=None)
    app.add_api_route("/", _front_page, methods=["GET"], response_model=None)
    return app


def bound_sockets(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of `host`, bound and not yet listening. Raises CannotRun for a used port or another's address."""
    with ExitStack() as closed_on_error:
        bound = []
        try:
            for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                made = closed_on_error.enter_context(socket.socket(family, kind, protocol))
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                made.bind(address)
                bound.append(made)
        except OSError as error:
            advice = "set APPRENTICE_HOST and APPRENTICE_PORT to an address that is free"
            raise CannotRun(f"cannot listen on {host} port {port}: {error.strerror}; {advice}") from error
        closed_on_error.pop_all()
        return bound


def serve(settings: WebSettings) -> None:
    """Listen until SIGTERM or SIGINT. Raises BadInput without a secret, CannotRun where it cannot listen, and StoreError,
    StoreUnavailable where the database does not answer for `start_seconds`."""
    import uvicorn  # this, SQLAlchemy and Celery are slow to import

    from bot.web.connections import ACCEPTED_AT_ONCE, BACKLOG, LimitedConnection
    from bot.web.storing_process import StoringProcess
    from memory.store import await_store
    from workers.queue.broker import depth, make_celery, send

    required_secret(settings)
    celery = make_celery(settings)
    sockets = bound_sockets(settings.host, settings.port)
    with await_store(settings.database(), seconds=settings.start_seconds, report=_log.warning) as store:
        store.clock.refresh()  # so that no request waits for it
        keep_beating(settings.database(), ProcessKind.WEB)
        app = create_app(
            settings,
            store,
            functools.partial(send, celery),
            store.clock,
            [StoringProcess(settings) for _ in range(store.database.commits_at_once)],
            functools.partial(depth, celery),
        )
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=LimitedConnection,
                ws="none",
                backlog=BACKLOG,
                log_config=None,
                access_log=False,
                proxy_headers=False,
                timeout_graceful_shutdown=10,
            )
        )
        server.run(sockets=[*sockets, *(each.dup() for each in sockets for _ in range(ACCEPTED_AT_ONCE - 1))])
        store_measures(settings.database())
        traces.close()


async def _front_page() -> Response:
    return PlainTextResponse(
        "Apprentice is listening: webhooks at /webhook, health at /healthz and /readyz, metrics at /metrics.\n"
    )
