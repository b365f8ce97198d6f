"""From a raw request to a handler and back: routing, versions, paging, ETags, errors, and the headers GitHub sends."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, unquote, urlencode

from bot.playground.auth import Caller, authenticate
from bot.playground.errors import ApiError, not_found
from bot.playground.rest.calls import ApiAnswer, ApiCall, Route, allowed
from bot.playground.world import World

DEFAULT_VERSION = "2022-11-28"
_SUPPORTED_VERSIONS = (DEFAULT_VERSION, "2026-03-10")
_REMOVED = frozenset(
    {"assignee", "has_downloads", "master_branch", "merge_commit_sha", "rate", "use_squash_pr_title_as_default"}
)


def _chosen_version(header: str | None) -> str:
    """The version that a request asks for in X-GitHub-Api-Version; raises ApiError 400 for one that is not served."""
    if header is None:
        return DEFAULT_VERSION
    if header not in _SUPPORTED_VERSIONS:
        raise ApiError(400, f"{header} is not a supported version of the GitHub API")
    return header


def _shaped_for(body: object, version: str) -> object:
    """The body as this version has it."""
    return body if version == DEFAULT_VERSION else _without(body)


def _without(body: object) -> object:
    if isinstance(body, dict):
        return {key: _without(value) for key, value in body.items() if key not in _REMOVED}
    return [_without(each) for each in body] if isinstance(body, list) else body


_LIMIT = 5000
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


class Api:
    """The API over one world."""

    def __init__(self, world: World, routes: list[Route]) -> None:
        self._world = world
        self._routes = routes
        self._used: dict[str, int] = {}

    def respond(self, request: PlaygroundRequest) -> PlaygroundResponse:
        """Answer one request; refusals become GitHub's error objects."""
        caller = Caller()
        try:
            version = _chosen_version(request.headers.get("x-github-api-version"))
            with self._world.lock:
                caller = authenticate(self._world, request.headers.get("authorization", ""))
                answer = self._handle(request, caller)
        except ApiError as refused:
            version = DEFAULT_VERSION
            answer = ApiAnswer(status=refused.status, body=refused.json(), headers=refused.headers)
        return self._render(request, caller, answer, version)

    def _handle(self, request: PlaygroundRequest, caller: Caller) -> ApiAnswer:
        path = request.path.rstrip("/") or "/"
        for route in self._routes:
            match = route.pattern.match(path)
            if match and route.method == request.method:
                values = {name: unquote(value) for name, value in match.groupdict().items()}
                allowed(self._world, caller, route, values)
                return route.handler(self._call(request, caller, values))
        raise not_found()

    def _call(self, request: PlaygroundRequest, caller: Caller, values: Mapping[str, str]) -> ApiCall:
        return ApiCall(
            world=self._world,
            caller=caller,
            path=values,
            query=dict(parse_qsl(request.query)),
            accept=request.headers.get("accept", ""),
            body=_json(request.body),
        )

    def _render(
        self, request: PlaygroundRequest, caller: Caller, answer: ApiAnswer, version: str
    ) -> PlaygroundResponse:
        paged, link = _paged(self._world.base_url, request, answer)
        body = _bytes(replace(paged, body=self._shaped(request, paged.body, version)))
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "Server": "github.com",
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-GitHub-Api-Version-Selected": version,
            "X-GitHub-Request-Id": secrets.token_hex(8).upper(),
            **self._rate(caller),
            **({"Link": link} if link else {}),
            **paged.headers,
        }
        if request.method == "GET" and paged.status == 200:
            etag = 'W/"' + hashlib.sha256(request.headers.get("authorization", "").encode() + body).hexdigest() + '"'
            headers["ETag"] = etag
            if request.headers.get("if-none-match") == etag:
                return PlaygroundResponse(status=304, headers=headers, body=b"", actor=caller.name)
        return PlaygroundResponse(status=paged.status, headers=headers, body=body, actor=caller.name)

    def _shaped(self, request: PlaygroundRequest, body: object, version: str) -> object:
        """Answers of the REST API follow its version; what it logged of webhooks, and GraphQL, do not."""
        return body if request.path.startswith(("/graphql", "/app/hook")) else _shaped_for(body, version)

    def _rate(self, caller: Caller) -> dict[str, str]:
        """Requests counted by the hour; the stand-in never refuses by itself."""
        reset = (int(self._world.now().timestamp()) // 3600 + 1) * 3600
        key = f"{caller.name}@{reset}"
        used = self._used[key] = self._used.get(key, 0) + 1
        return {
            "X-RateLimit-Limit": str(_LIMIT),
            "X-RateLimit-Remaining": str(max(0, _LIMIT - used)),
            "X-RateLimit-Used": str(used),
            "X-RateLimit-Reset": str(reset),
            "X-RateLimit-Resource": "core",
        }


def _json(body: bytes) -> Mapping[str, object]:
    if not body.strip():
        return {}
    try:
        parsed = json.loads(body)
    except ValueError:
        raise ApiError(400, "Problems parsing JSON") from None
    if isinstance(parsed, list):  # labels may be sent as a bare list
        return {"": parsed}
    if not isinstance(parsed, dict):
        raise ApiError(400, "Body should be a JSON object")
    return parsed


def _bytes(answer: ApiAnswer) -> bytes:
    if answer.status == 204 or answer.body is None:
        return b""
    return json.dumps(answer.body, ensure_ascii=False, separators=(",", ":")).encode()


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
