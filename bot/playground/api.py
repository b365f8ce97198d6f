"""From a raw request to a handler and back: routing, typed bodies, paging, errors, headers."""

import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar
from urllib.parse import parse_qsl, unquote, urlencode

import msgspec
from starlette.routing import compile_path

from bot.playground.auth import Caller, Needs, authenticate, check
from bot.playground.errors import ApiError, not_found, unprocessable
from bot.playground.models import ActingAccount, HostedIssue, HostedPull, HostedRepository, RepositoryRole
from bot.playground.payloads import JsonObject
from bot.playground.world import World

T = TypeVar("T")
VERSION = "2022-11-28"
_PAGE, _LARGEST_PAGE = 30, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaygroundRequest:
    """One HTTP request. Header names are in small letters."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaygroundResponse:
    status: int
    headers: Mapping[str, str]
    body: bytes
    actor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAnswer:
    """What a handler returns when a body alone does not do. A list is paged; so is the list under `paged` in an object."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    paged: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """One request whose caller is known and allowed."""

    world: World
    caller: Caller
    path: Mapping[str, str]
    query: Mapping[str, str]
    accept: str
    body: Mapping[str, object]

    @property
    def repository(self) -> HostedRepository:
        return self.world.repository(self.path["owner"], self.path["repo"])

    @property
    def issue(self) -> HostedIssue:
        """The issue or pull request with this number; raises ApiError 404."""
        found = self.repository.issues.get(int(self.path["number"]))
        if found is None:
            raise not_found()
        return found

    @property
    def pull(self) -> HostedPull:
        found = self.issue
        if not isinstance(found, HostedPull):
            raise not_found()
        return found

    @property
    def who(self) -> ActingAccount:
        return self.caller.actor()

    def role(self) -> RepositoryRole:
        """What the caller may do here as a user; the permissions of an App were checked before."""
        token = self.caller.token
        if token is None:
            return RepositoryRole.READ
        return RepositoryRole.ADMIN if token.installation else self.world.role(token.user, self.repository)

    def read(self, kind: type[T]) -> T:
        """The body as a struct; raises ApiError 422 for a body that does not fit."""
        try:
            return msgspec.convert(self.body, kind)
        except msgspec.ValidationError as error:
            raise unprocessable(f"Invalid request.\n\n{error}") from None


Handler = Callable[[ApiCall], ApiAnswer | JsonObject | list[JsonObject] | None]
H = TypeVar("H", bound=Handler)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    method: str
    template: str
    pattern: re.Pattern[str]
    needs: Needs
    handler: Handler
    status: int


class Routes:
    """A table of routes, filled by decorators. `{name}` is one segment, `{name:path}` the rest, `{name:int}` digits.

    `{repository}` is short for `/repos/{owner}/{repo}`.
    """

    def __init__(self) -> None:
        self.table: list[Route] = []

    def on(self, method: str, template: str, needs: Needs | None = None, *, status: int = 200) -> Callable[[H], H]:
        """Serve the requests of this method and path with the decorated handler; `status` is that of its success."""
        complete = template.replace("{repository}", "/repos/{owner}/{repo}")

        def keep(handler: H) -> H:
            made = Route(
                method=method,
                template=complete,
                pattern=compile_path(complete)[0],
                needs=needs or Needs(),
                handler=handler,
                status=status,
            )
            self.table.append(made)
            return handler

        return keep


class Api:
    def __init__(self, world: World, routes: Sequence[Route]) -> None:
        self._world = world
        self._routes = routes

    def respond(self, request: PlaygroundRequest) -> PlaygroundResponse:
        """Answer one request; refusals become GitHub's error objects."""
        caller = Caller()
        try:
            with self._world.lock:
                caller = authenticate(self._world, request.headers.get("authorization", ""))
                answer = self._handle(request, caller)
        except ApiError as refused:
            answer = ApiAnswer(status=refused.status, body=refused.json(), headers=refused.headers)
        return self._render(request, caller, answer)

    def _handle(self, request: PlaygroundRequest, caller: Caller) -> ApiAnswer:
        path = request.path.rstrip("/") or "/"
        for route in self._routes:
            match = route.pattern.match(path)
            if match and route.method == request.method:
                values = {name: unquote(value) for name, value in match.groupdict().items()}
                call = ApiCall(
                    world=self._world,
                    caller=caller,
                    path=values,
                    query=dict(parse_qsl(request.query)),
                    accept=request.headers.get("accept", ""),
                    body=_json(request.body),
                )
                repo = call.repository if "owner" in values and not route.needs.app else None
                check(self._world, caller, repo, route.needs)
                answer = route.handler(call)
                return answer if isinstance(answer, ApiAnswer) else ApiAnswer(status=route.status, body=answer)
        raise not_found()

    def _render(self, request: PlaygroundRequest, caller: Caller, answer: ApiAnswer) -> PlaygroundResponse:
        paged, link = _paged(self._world.base_url, request, answer)
        body = _bytes(paged.status, paged.body)
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "Server": "github.com",
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-GitHub-Api-Version-Selected": VERSION,
            "X-GitHub-Request-Id": secrets.token_hex(8).upper(),
            **({"Link": link} if link else {}),
            **paged.headers,
        }
        return PlaygroundResponse(status=paged.status, headers=headers, body=body, actor=caller.name)


def _json(body: bytes) -> Mapping[str, object]:
    if not body.strip():
        return {}
    try:
        parsed = json.loads(body)
    except ValueError:
        raise ApiError(400, "Problems parsing JSON") from None
    if not isinstance(parsed, dict):
        raise ApiError(400, "Body should be a JSON object")
    return parsed


def _bytes(status: int, body: object) -> bytes:
    if status == 204 or body is None:
        return b""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _paged(base: str, request: PlaygroundRequest, answer: ApiAnswer) -> tuple[ApiAnswer, str]:
    """One page of a list, and the Link header that leads to the others."""
    inside = answer.body[answer.paged] if answer.paged and isinstance(answer.body, dict) else answer.body
    if request.method != "GET" or answer.status != 200 or not isinstance(inside, list):
        return answer, ""
    query = dict(parse_qsl(request.query))
    size = min(_number(query.get("per_page"), _PAGE), _LARGEST_PAGE)
    at, last = _number(query.get("page"), 1), max(1, -(-len(inside) // size))
    part = inside[(at - 1) * size : at * size]
    body = {**answer.body, answer.paged: part} if isinstance(answer.body, dict) else part
    wanted = {"prev": at - 1, "next": at + 1, "last": last, "first": 1}
    shown = [
        name for name in wanted if (name in ("next", "last") and at < last) or (name in ("prev", "first") and at > 1)
    ]
    url = f"{base}{request.path}"
    links = (f'<{url}?{urlencode({**query, "page": wanted[name]})}>; rel="{name}"' for name in shown)
    return replace(answer, body=body), ", ".join(links)


def _number(text: str | None, default: int) -> int:
    return max(1, int(text)) if text and text.isdigit() else default
