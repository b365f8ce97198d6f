"""git over smart HTTP: clone, fetch and push through `git http-backend`, with the token as Basic password."""

from __future__ import annotations

import gzip
import re

from bot.playground.api import PlaygroundRequest, PlaygroundResponse
from bot.playground.auth import Caller, authenticate
from bot.playground.errors import ApiError
from bot.playground.git import ZERO, BareRepository, PlaygroundGitFailed, git
from bot.playground.models import HostedRepository, RepositoryRole
from bot.playground.pulls import pushed
from bot.playground.world import World

_PATH = re.compile(r"^/(?P<owner>[^/]+)/(?P<repo>[^/]+?)\.git(?P<rest>/info/refs|/git-upload-pack|/git-receive-pack)$")
_REALM = {"WWW-Authenticate": 'Basic realm="GitHub"'}


def is_git(path: str) -> bool:
    return _PATH.match(path) is not None


def serve(world: World, request: PlaygroundRequest) -> PlaygroundResponse:
    """Answer one request of a git client. A push announces each ref that moved."""
    caller = Caller()
    try:
        caller = authenticate(world, request.headers.get("authorization", ""))
        where, writing = _target(world, request, caller)
        with world.lock:
            before = where.git.refs()
            response = _backend(where.git, request, caller)
            if writing and request.method == "POST":
                _announce(world, where, caller, before)
            return response
    except ApiError as refused:
        headers = {"Content-Type": "text/plain; charset=utf-8", **(_REALM if refused.status == 401 else {})}
        return PlaygroundResponse(
            status=refused.status, headers=headers, body=f"{refused.message}\n".encode(), actor=caller.name
        )


def _target(world: World, request: PlaygroundRequest, caller: Caller) -> tuple[HostedRepository, bool]:
    """The repository, and whether this is a push; raises ApiError when the caller may not."""
    match = _PATH.match(request.path)
    assert match is not None
    writing = "git-receive-pack" in (request.query + match["rest"])
    with world.lock:
        try:
            where = world.repository(match["owner"], match["repo"])
        except ApiError:
            raise _unseen(caller) from None
        _check(world, caller, where, writing=writing)
    return where, writing


def _unseen(caller: Caller) -> ApiError:
    """A missing repository and a hidden one look the same; an anonymous client must authenticate first."""
    return ApiError(404, "Repository not found.") if caller.token else ApiError(401, "Authentication required")


def _check(world: World, caller: Caller, where: HostedRepository, *, writing: bool) -> None:
    token = caller.token
    if token is None:
        if writing or where.private:
            raise ApiError(401, "Authentication required")
    elif token.installation:
        level = token.permissions.get("contents", "")
        if where.id not in token.repository_ids and (writing or where.private):
            raise _unseen(caller)
        if level != "write" and (writing or level != "read"):
            raise ApiError(403, f"Permission to {where.full_name}.git denied to {token.user.login}.")
    else:
        role = world.role(token.user, where)
        if role < RepositoryRole.READ:
            raise _unseen(caller)
        if writing and role < RepositoryRole.WRITE:
            raise ApiError(403, f"Permission to {where.full_name}.git denied to {token.user.login}.")


def _backend(bare: BareRepository, request: PlaygroundRequest, caller: Caller) -> PlaygroundResponse:
    """Run git's own CGI."""
    body = gzip.decompress(request.body) if request.headers.get("content-encoding") == "gzip" else request.body
    match = _PATH.match(request.path)
    assert match is not None
    env = {
        "GIT_PROJECT_ROOT": str(bare.path.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{bare.path.name}{match['rest']}",
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


def _announce(world: World, where: HostedRepository, caller: Caller, before: dict[str, str]) -> None:
    after = where.git.refs()
    for ref in sorted(before.keys() | after.keys()):
        old, new = before.get(ref, ZERO), after.get(ref, ZERO)
        if old != new and not ref.startswith("refs/pull/"):
            pushed(world, where, caller.actor(), ref, old, new)
