"""The playground as a running server, `with Playground() as playground: …`, and what its users make on web pages."""

from __future__ import annotations

import gzip
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Route as HttpRoute

from bot.background_server import BackgroundServer
from bot.playground import checks, graphql, issues, pulls, repositories, reviews
from bot.playground.api import Api, PlaygroundRequest, PlaygroundResponse, Route
from bot.playground.auth import Caller, Needs, authenticate, check, make_key
from bot.playground.errors import ApiError
from bot.playground.git import ZERO, BareRepository, PlaygroundGitFailed, git
from bot.playground.models import (
    App,
    HostedAccount,
    HostedInstallation,
    HostedRepository,
    RepositoryRole,
)
from bot.playground.payloads import shown
from bot.playground.pulls import PUSH, pushed
from bot.playground.webhooks import WebhookSender, announce_installation, ping
from bot.playground.world import World

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
Content = str | bytes | None


class Fixtures:
    """What GitHub's web pages are for: signing up, making repositories, registering and installing Apps."""

    def __init__(self, world: World) -> None:
        self.world = world

    def add_user(self, login: str, *, name: str = "") -> HostedAccount:
        with self.world.lock:
            return self.world.add_user(login, name=name)

    def token_for(self, login: str) -> str:
        """A personal access token."""
        with self.world.lock:
            return self.world.issue_token(self.world.user(login)).value

    def add_repository(
        self,
        full_name: str,
        files: Mapping[str, Content] | Path,
        *,
        private: bool = False,
    ) -> HostedRepository:
        """A repository with one commit of these files, or of a directory's. Its owner must exist."""
        owner, name = full_name.split("/")
        content = directory(files) if isinstance(files, Path) else files
        with self.world.lock:
            account = self.world.user(owner)
            made = self.world.add_repository(account, name, private=private)
            author = account.git_identity
            sha = made.git.edit(None, as_bytes(content), "Initial commit", author, author)
            made.git.set_ref(f"refs/heads/{made.default_branch}", sha)
            return made

    def grant(self, full_name: str, login: str, role: str) -> None:
        """Give an account a role on a repository: admin, maintain, write, triage, read or none."""
        with self.world.lock:
            repo = self.world.repository(*full_name.split("/"))
            repo.roles[self.world.user(login).id] = RepositoryRole[role.upper()]

    def add_app(self, slug: str, *, owner: str, webhook_secret: str = "") -> App:
        """Register an App with a fresh key and a bot account `<slug>[bot]`, and no webhook yet."""
        private, public = make_key()
        with self.world.lock:
            bot = self.world.add_user(f"{slug}[bot]", app_slug=slug)
            made = App(
                id=self.world.next_id(),
                slug=slug,
                client_id=f"Iv23li{secrets.token_hex(7)}",
                owner=self.world.user(owner),
                bot=bot,
                private_key=private,
                public_key=public,
                webhook_secret=webhook_secret,
                created_at=self.world.now(),
            )
            self.world.apps[made.id] = made
            return made

    def set_webhook(self, app: App, url: str) -> None:
        """Point the App's webhook elsewhere; the new place gets a ping."""
        with self.world.lock:
            app.webhook_url = url
            ping(self.world, app)

    def install(self, app: App, *full_names: str) -> HostedInstallation:
        """Install the App on repositories of one account."""
        with self.world.lock:
            chosen = [self.world.repository(*name.split("/")) for name in full_names]
            made = HostedInstallation(
                id=self.world.next_id(),
                app=app,
                account=chosen[0].owner,
                repository_ids={each.id for each in chosen},
                created_at=self.world.now(),
            )
            self.world.installations[made.id] = made
            announce_installed(self.world, made, "created")
            return made


def announce_installed(world: World, made: HostedInstallation, action: str) -> None:
    stubs = [shown(world, "repository_stub", world.repositories[number]) for number in sorted(made.repository_ids)]
    announce_installation(world, made, "installation", action, repositories=stubs)


def directory(root: Path) -> dict[str, Content]:
    """The files under a directory, without what Python and git leave behind."""
    skipped = {"__pycache__", ".git", ".pytest_cache"}
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not skipped & set(path.relative_to(root).parts)
    }


def as_bytes(files: Mapping[str, Content]) -> dict[str, bytes | None]:
    return {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}


def served_routes() -> list[Route]:
    """Every route of the API, in the order in which they are tried."""
    modules = (issues, pulls, reviews, checks, graphql, repositories)
    return [route for module in modules for route in module.routes.table]


class Playground(Fixtures):
    """A GitHub on loopback. `url` is the root of its API, of its git and of its pages.

    The repositories live in a temporary directory that goes with it. `routes` are served beside those that Apprentice
    and the demo call.
    """

    def __init__(self, routes: Sequence[Route] = ()) -> None:
        self._root = TemporaryDirectory(prefix="playground-")
        super().__init__(World(Path(self._root.name)))
        self._api = Api(self.world, (*served_routes(), *routes))
        self._sender = WebhookSender(self.world)
        application = Starlette(routes=[HttpRoute("/{path:path}", self._serve, methods=METHODS)])
        self._server = BackgroundServer(application, name="playground")
        self.url = self.world.base_url = self._server.root

    def drain(self, timeout: float = 30.0) -> None:
        """Wait until every webhook so far has been tried."""
        self._sender.drain(timeout)

    def __enter__(self) -> Playground:
        self._server.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.stop()
        self._sender.stop()
        self._root.cleanup()

    async def _serve(self, http: HttpRequest) -> HttpResponse:
        request = PlaygroundRequest(
            method=http.method,
            path=http.url.path,
            query=http.url.query,
            headers={name.lower(): value for name, value in http.headers.items()},
            body=await http.body(),
        )
        answer = await run_in_threadpool(self.answer, request)
        return HttpResponse(answer.body, answer.status, headers=dict(answer.headers))

    def answer(self, request: PlaygroundRequest) -> PlaygroundResponse:
        """The answer to one request, with all its effects."""
        if match := _PATH.match(request.path):
            return serve(self.world, request, match)
        return self._api.respond(request)


_PATH = re.compile(r"^/(?P<owner>[^/]+)/(?P<repo>[^/]+?)\.git(?P<rest>/info/refs|/git-upload-pack|/git-receive-pack)$")
PULL = Needs(permissions=("contents",))
_REALM = {"WWW-Authenticate": 'Basic realm="GitHub"'}


def serve(world: World, request: PlaygroundRequest, match: re.Match[str]) -> PlaygroundResponse:
    """Answer one request of a git client, whose path `match` takes apart. A push announces each ref that moved."""
    caller = Caller()
    try:
        caller = authenticate(world, request.headers.get("authorization", ""))
        repo, writing = _target(world, request, match, caller)
        with world.lock:
            before = repo.git.refs()
            response = _backend(repo.git, request, match["rest"], caller)
            if writing and request.method == "POST":
                _announce(world, repo, caller, before)
            return response
    except ApiError as refused:
        headers = {"Content-Type": "text/plain; charset=utf-8", **(_REALM if refused.status == 401 else {})}
        return PlaygroundResponse(
            status=refused.status, headers=headers, body=f"{refused.message}\n".encode(), actor=caller.name
        )


def _target(
    world: World, request: PlaygroundRequest, match: re.Match[str], caller: Caller
) -> tuple[HostedRepository, bool]:
    """The repository, and whether this is a push; raises ApiError when the caller may not.

    A missing repository and a hidden one look the same; an anonymous client must authenticate first.
    """
    writing = "git-receive-pack" in (request.query + match["rest"])
    try:
        with world.lock:
            repo = world.repository(match["owner"], match["repo"])
            check(world, caller, repo, PUSH if writing else PULL)
    except ApiError as refused:
        if caller.token is None:
            raise ApiError(401, "Authentication required") from None
        if refused.status == 404:
            raise ApiError(404, "Repository not found.") from None
        name = f"{match['owner']}/{match['repo']}.git"
        raise ApiError(403, f"Permission to {name} denied to {caller.name}.") from None
    return repo, writing


def _backend(bare: BareRepository, request: PlaygroundRequest, rest: str, caller: Caller) -> PlaygroundResponse:
    """Run git's own CGI."""
    body = gzip.decompress(request.body) if request.headers.get("content-encoding") == "gzip" else request.body
    env = {
        "GIT_PROJECT_ROOT": str(bare.path.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{bare.path.name}{rest}",
        "REQUEST_METHOD": request.method,
        "QUERY_STRING": request.query,
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "REMOTE_USER": caller.name,
        "REMOTE_ADDR": "127.0.0.1",
        "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
    }
    # One that refuses what was asked for says so in its answer, and dies: servers pass the answer on.
    head, separator, content = git("http-backend", stdin=body, env=env, ok=(0, 1, 128)).partition(b"\r\n\r\n")
    if not separator:
        raise PlaygroundGitFailed("git http-backend gave no answer")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
    status = int(headers.pop("Status", "200").split()[0])
    return PlaygroundResponse(status=status, headers=headers, body=content, actor=caller.name)


def _announce(world: World, repo: HostedRepository, caller: Caller, before: dict[str, str]) -> None:
    after = repo.git.refs()
    for ref in sorted(before.keys() | after.keys()):
        old, new = before.get(ref, ZERO), after.get(ref, ZERO)
        if old != new and not ref.startswith("refs/pull/"):
            pushed(world, repo, caller.actor(), ref, new)
