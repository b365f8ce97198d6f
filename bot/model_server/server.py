"""The running server: `with ModelServer(script) as server: OpenAI(base_url=server.url, …)`."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from bot.model_server import replies
from bot.model_server.asked import Asked, Document
from bot.model_server.counting import Outcome, Usage
from bot.model_server.errors import Refused
from bot.model_server.playing import Accounts, Play
from bot.model_server.replies import Reply
from bot.model_server.script import Script
from workers.errors import BadInput

LOOPBACK = "127.0.0.1"
_STARTUP = 20.0
_PATIENCE = 2  # seconds for requests that are still answered when the server stops
_GLANCE = 0.1  # seconds between two looks, during a delay, at whether the server is to stop
_HIGHEST_PORT = 65535


class Endpoint(Protocol):
    """What answers behind the HTTP: a script, a recording, or a real endpoint that is being recorded."""

    accounts: Accounts

    async def models(self, authorization: str) -> Document:
        """The list of models. Raises Refused."""
        ...

    async def reply(self, body: bytes, authorization: str) -> Reply:
        """The answer to a request for a completion. Raises Refused."""
        ...


class Server:
    """An endpoint on a port, in a thread of its own; `port` 0 takes a free one. Raises BadInput if it cannot be had."""

    def __init__(self, endpoint: Endpoint, *, host: str = LOOPBACK, port: int = 0) -> None:
        self._accounts = endpoint.accounts
        self._socket = _listen(host, port)
        shown = f"[{host}]" if ":" in host else host
        self.root = f"http://{shown}:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(
            uvicorn.Config(
                _application(endpoint, lambda: self._server.should_exit),
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=_PATIENCE,
            )
        )
        self._thread = threading.Thread(target=self._serve, name="model-server", daemon=True)

    @property
    def url(self) -> str:
        """What a client takes as its base URL."""
        return f"{self.root}/v1"

    @property
    def requests(self) -> Sequence[Asked]:
        """Every request so far that could be read, in the order of their arrival."""
        return self._accounts.requests

    @property
    def usage(self) -> Usage:
        """Our own count of what was answered."""
        return self._accounts.usage

    def start(self) -> Self:
        logging.getLogger("uvicorn.error").addFilter(_is_news)
        self._thread.start()
        deadline = time.monotonic() + _STARTUP
        while not self._server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise RuntimeError("the model server did not start")
            time.sleep(0.005)
        return self

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])


class ModelServer(Server):
    """A scripted model on loopback."""

    def __init__(self, script: Script, *, host: str = LOOPBACK, port: int = 0) -> None:
        super().__init__(Play(script), host=host, port=port)


class _Sending(Response):
    """Sends a reply; counts it just before its last piece, so that whoever has all of it finds it counted."""

    def __init__(self, reply: Reply, settle: Callable[[Reply, Outcome], None], stopping: Callable[[], bool]) -> None:
        super().__init__(status_code=reply.status, headers=reply.headers, media_type=reply.content_type)
        del self.headers["content-length"]
        if reply.length is not None:
            self.headers["content-length"] = str(reply.length)
        self._reply = reply
        self._settle = settle
        self._stopping = stopping

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        waited = await self._wait(receive)
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if not waited:
            self._settle(self._reply, Outcome.ABANDONED)
            return
        *first, last = self._reply.pieces or (b"",)
        for piece in first:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        gone = await _hangs_up(receive, 0)
        self._settle(self._reply, Outcome.ABANDONED if gone else self._reply.outcome)
        # Without an end to the body, uvicorn closes the connection: that is the cut.
        await send({"type": "http.response.body", "body": last, "more_body": self._reply.broken})

    async def _wait(self, receive: Receive) -> bool:
        """Let the delay pass; False as soon as the client has hung up or the server is to stop."""
        left = self._reply.delay
        while left > 0 and not self._stopping():
            if await _hangs_up(receive, min(left, _GLANCE)):
                return False
            left -= _GLANCE
        return left <= 0


async def _hangs_up(receive: Receive, seconds: float) -> bool:
    """Wait so long, or until the client has hung up; whether it has."""
    try:
        async with asyncio.timeout(seconds):
            message = await receive()
    except TimeoutError:
        return False
    return bool(message["type"] == "http.disconnect")


def _application(endpoint: Endpoint, stopping: Callable[[], bool]) -> Starlette:
    def sent(reply: Reply) -> Response:
        return _Sending(reply, endpoint.accounts.settle, stopping)

    async def complete(request: Request) -> Response:
        return sent(await endpoint.reply(await request.body(), _authorization(request)))

    async def models(request: Request) -> Response:
        return JSONResponse(await endpoint.models(_authorization(request)))

    async def usage(_request: Request) -> Response:
        return JSONResponse(endpoint.accounts.usage.to_json())

    async def refuse(_request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return sent(replies.refusal(error))

    return Starlette(
        routes=[
            Route("/v1/chat/completions", complete, methods=["POST"]),
            Route("/v1/models", models, methods=["GET"]),
            Route("/usage", usage, methods=["GET"]),
        ],
        exception_handlers={Refused: refuse},
    )


def _authorization(request: Request) -> str:
    return request.headers.get("authorization", "")


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        said = error.strerror if isinstance(error, OSError) else f"a port is a number from 0 to {_HIGHEST_PORT}"
        raise BadInput(f"cannot listen on {host}:{port}: {said}; give another --host or --port") from error
    # asyncio does this only where a socket names its protocol; without it, an answer's second piece waits 40 ms for an ACK.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _is_news(record: logging.LogRecord) -> bool:
    """All that uvicorn says, but for what a cut makes it say."""
    return record.msg != "ASGI callable returned without completing response."
