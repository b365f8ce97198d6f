"""The playground as a running server: `with Playground() as playground: …`."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Route as HttpRoute

from bot.background_server import BackgroundServer
from bot.playground import accounts, checks, git_http, graphql, issues, pulls, repositories, reviews
from bot.playground.api import Api, PlaygroundRequest, PlaygroundResponse, Route
from bot.playground.faults import Faults, Hook, LoggedRequest, Observer
from bot.playground.fixtures import Fixtures
from bot.playground.webhooks import WebhookSender
from bot.playground.world import World, utc_now

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


def served_routes() -> list[Route]:
    """Every route of the API, in the order in which they are tried."""
    modules = (accounts, issues, pulls, reviews, checks, graphql, repositories)
    return [route for module in modules for route in module.routes.table]


class Playground(Fixtures):
    """A GitHub on loopback. `url` is the root of its API, of its git and of its pages.

    Without `root` the repositories live in a temporary directory that goes with it. `port` 0 takes a free one.
    """

    def __init__(self, root: Path | None = None, *, port: int = 0, clock: Callable[[], datetime] = utc_now) -> None:
        self._temporary = root is None
        self._root = root or Path(tempfile.mkdtemp(prefix="playground-"))
        super().__init__(World(self._root, clock))
        self._faults = Faults()
        self._api = Api(self.world, served_routes())
        self._sender = WebhookSender(self.world)
        self._server = BackgroundServer(self._application(), name="playground", port=port)
        self.url = self._server.root
        self.world.base_url = self.url

    @property
    def requests(self) -> Sequence[LoggedRequest]:
        """Every request so far, in the order of their answers."""
        return tuple(self._faults.log)

    def before(self, method: str, path: str, hook: Hook, *, nth: int = 1) -> None:
        """Call `hook` before the nth request whose path matches the regex (0: each); its response replaces ours."""
        self._faults.watch(method, path, hook, nth=nth, after=False)

    def after(self, method: str, path: str, hook: Hook, *, nth: int = 1) -> None:
        """The same, once the request has had its effect and before it is answered."""
        self._faults.watch(method, path, hook, nth=nth, after=True)

    def observe(self, observer: Observer) -> None:
        """Show every request and its answer to `observer`, in the server's threads."""
        self._faults.observers.append(observer)

    def undisturbed(self) -> None:
        """Forget every hook."""
        self._faults.clear()

    def attach(self, content: bytes) -> str:
        """Upload a file as users do in a comment's field; its address."""
        path = f"/user-attachments/assets/{uuid.uuid4()}"
        self.world.attachments[path] = content
        return f"{self.url}{path}"

    def drain(self, timeout: float = 30.0) -> None:
        """Wait until every webhook so far has been tried."""
        self._sender.drain(timeout)

    def start(self) -> Playground:
        self._sender.start()
        self._server.start()
        return self

    def stop(self) -> None:
        self._server.stop()
        self._sender.stop()
        if self._temporary:
            shutil.rmtree(self._root)

    def __enter__(self) -> Playground:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _application(self) -> Starlette:
        async def endpoint(request: HttpRequest) -> HttpResponse:
            plain = PlaygroundRequest(
                method=request.method,
                path=request.url.path,
                query=request.url.query,
                headers={name.lower(): value for name, value in request.headers.items()},
                body=await request.body(),
            )
            answer = await run_in_threadpool(self._answer, plain)
            return HttpResponse(answer.body, answer.status, headers=dict(answer.headers))

        return Starlette(routes=[HttpRoute("/{path:path}", endpoint, methods=METHODS)])

    def _answer(self, request: PlaygroundRequest) -> PlaygroundResponse:
        answer = self._faults.apply(request, after=False)
        if answer is None:
            answer = self._respond(request)
            answer = self._faults.apply(request, after=True) or answer
        self._faults.record(request, answer)
        return answer

    def _respond(self, request: PlaygroundRequest) -> PlaygroundResponse:
        if git_http.is_git(request.path):
            return git_http.serve(self.world, request)
        if request.path in self.world.attachments:
            return PlaygroundResponse(status=200, headers={}, body=self.world.attachments[request.path])
        return self._api.respond(request)
