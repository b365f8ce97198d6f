"""The playground as a running server: `with Playground() as playground: …`."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Route as HttpRoute

from bot.playground import git_http, graphql
from bot.playground.founding import Founding
from bot.playground.interference import Hook, Interference, Observer, Seen
from bot.playground.rest import apps, checks, issues, pulls, reactions, repositories, reviews, users
from bot.playground.rest.calls import Route
from bot.playground.rest.dispatch import Api, Request, Response
from bot.playground.webhooks import Postman
from bot.playground.world import World, utc_now

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
_STARTUP = 20.0
_PATIENCE = 5  # seconds for requests that a hook still holds when the playground stops


def served_routes() -> list[Route]:
    """Every route of the API, in the order in which they are tried."""
    modules = (apps, users, issues, pulls, reviews, reactions, checks, graphql, repositories)
    return [route for module in modules for route in module.routes.table]


class Playground(Founding):
    """A GitHub on loopback. `url` is the root of its API, of its git and of its pages.

    Without `root` the repositories live in a temporary directory that goes with it. `port` 0 takes a free one.
    """

    def __init__(self, root: Path | None = None, *, port: int = 0, clock: Callable[[], datetime] = utc_now) -> None:
        self._temporary = root is None
        self._root = root or Path(tempfile.mkdtemp(prefix="playground-"))
        super().__init__(World(self._root, clock))
        self._interference = Interference()
        self._api = Api(self.world, served_routes())
        self._postman = Postman(self.world)
        self._socket = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.world.base_url = self.url
        self._server = uvicorn.Server(
            uvicorn.Config(
                self._application(),
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=_PATIENCE,
            )
        )
        self._thread = threading.Thread(target=self._serve, name="playground", daemon=True)

    @property
    def requests(self) -> Sequence[Seen]:
        """Every request so far, in the order of their answers."""
        return tuple(self._interference.log)

    def before(self, method: str, path: str, hook: Hook, *, nth: int = 1) -> None:
        """Call `hook` before the nth request whose path matches the regex (0: each); its response replaces ours."""
        self._interference.watch(method, path, hook, nth=nth, after=False)

    def after(self, method: str, path: str, hook: Hook, *, nth: int = 1) -> None:
        """The same, once the request has had its effect and before it is answered."""
        self._interference.watch(method, path, hook, nth=nth, after=True)

    def observe(self, observer: Observer) -> None:
        """Show every request and its answer to `observer`, in the server's threads."""
        self._interference.observers.append(observer)

    def undisturbed(self) -> None:
        """Forget every hook."""
        self._interference.clear()

    def attach(self, content: bytes) -> str:
        """Upload a file as people do into a comment's field; its address."""
        path = f"/user-attachments/assets/{uuid.uuid4()}"
        self.world.attachments[path] = content
        return f"{self.url}{path}"

    def drain(self, timeout: float = 30.0) -> None:
        """Wait until every webhook so far has been tried."""
        self._postman.drain(timeout)

    def start(self) -> Playground:
        self._postman.start()
        self._thread.start()
        deadline = time.monotonic() + _STARTUP
        while not self._server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise RuntimeError("the playground did not start")
            time.sleep(0.005)
        return self

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._postman.stop()
        self._socket.close()
        if self._temporary:
            shutil.rmtree(self._root)

    def __enter__(self) -> Playground:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])

    def _application(self) -> Starlette:
        async def endpoint(request: HttpRequest) -> HttpResponse:
            plain = Request(
                method=request.method,
                path=request.url.path,
                query=request.url.query,
                headers={name.lower(): value for name, value in request.headers.items()},
                body=await request.body(),
            )
            answer = await run_in_threadpool(self._answer, plain)
            return HttpResponse(answer.body, answer.status, headers=dict(answer.headers))

        return Starlette(routes=[HttpRoute("/{path:path}", endpoint, methods=METHODS)])

    def _answer(self, request: Request) -> Response:
        answer = self._interference.apply(request, after=False)
        if answer is None:
            answer = self._respond(request)
            answer = self._interference.apply(request, after=True) or answer
        self._interference.record(request, answer)
        return answer

    def _respond(self, request: Request) -> Response:
        if git_http.is_git(request.path):
            return git_http.serve(self.world, request)
        if request.path in self.world.attachments:
            return Response(status=200, headers={}, body=self.world.attachments[request.path])
        return self._api.respond(request)
