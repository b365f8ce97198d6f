"""Accounts, Apps, tokens, webhook deliveries, repositories and what git holds in them; the routes that show them."""

import base64
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from bot.playground.api import ApiAnswer, ApiCall, Routes
from bot.playground.auth import Needs
from bot.playground.errors import ApiError, not_found, unprocessable
from bot.playground.models import App, HostedInstallation, HostedRepository, RepositoryRole, WebhookDelivery
from bot.playground.payloads import (
    JsonObject,
    api,
    app,
    commit,
    installation,
    permissions,
    repository,
    shown,
    user,
    web,
)
from bot.playground.world import World, first

routes = Routes()
METADATA = Needs(permissions=("metadata",))
AS_APP = Needs(app=True)
_LEVELS = ("read", "write", "admin")


class _TokenBody(Struct):
    repositories: tuple[str, ...] | None = None
    repository_ids: tuple[int, ...] | None = None
    permissions: dict[str, str] | None = None


# Users.


@routes.on("GET", "/users/{login}")
def get_user(call: ApiCall) -> JsonObject:
    account = call.world.user(call.path["login"])
    return {**user(call.world, account), **shown(call.world, "profile", account)}


@routes.on("GET", "{repository}/collaborators/{login}/permission", METADATA)
def get_permission(call: ApiCall) -> JsonObject:
    """The old word (maintain is write, triage is read) beside the role's name."""
    account = call.world.user(call.path["login"])
    role = call.world.role(account, call.repository)
    old = {RepositoryRole.MAINTAIN: RepositoryRole.WRITE, RepositoryRole.TRIAGE: RepositoryRole.READ}.get(role, role)
    shown = {**user(call.world, account), "permissions": permissions(role), "role_name": role.word}
    return {"permission": old.word, "role_name": role.word, "user": shown}


# Apps and installations.


def calling_app(call: ApiCall) -> App:
    assert call.caller.app is not None, "AS_APP checks it"
    return call.caller.app


@routes.on("GET", "/app", AS_APP)
def get_app(call: ApiCall) -> JsonObject:
    installed = sum(1 for each in call.world.installations.values() if each.app is calling_app(call))
    return {**app(call.world, calling_app(call)), "installations_count": installed}


def _installation(call: ApiCall) -> HostedInstallation:
    made = call.world.installations.get(int(call.path["installation_id"]))
    if made is None or made.app is not calling_app(call):
        raise not_found()
    return made


@routes.on("GET", "/app/installations/{installation_id:int}", AS_APP)
def get_installation(call: ApiCall) -> JsonObject:
    return installation(call.world, _installation(call))


# Tokens.


@routes.on("POST", "/app/installations/{installation_id:int}/access_tokens", AS_APP, status=201)
def create_token(call: ApiCall) -> JsonObject:
    """Narrow to some repositories and permissions when asked; never widen."""
    made = _installation(call)
    wanted, held = call.read(_TokenBody), made.permissions
    asked = wanted.permissions or {}
    names = {call.world.repositories[number].name: number for number in made.repository_ids}
    named = {names.get(name, 0) for name in wanted.repositories or ()}
    chosen = {*(wanted.repository_ids or ()), *named} or set(made.repository_ids)
    if not chosen <= made.repository_ids:
        problem = "does not exist or is not accessible to the parent installation"
        raise unprocessable(f"There is at least one repository that {problem}.")
    for name, level in asked.items():
        if level not in _LEVELS or name not in held or _LEVELS.index(level) > _LEVELS.index(held[name]):
            raise unprocessable("The permissions requested are not granted to this installation.")
    token = call.world.issue_installation_token(made, frozenset(chosen), asked or held)
    body = shown(call.world, "token", token)
    if wanted.repository_ids is not None or wanted.repositories is not None:
        body["repositories"] = [repository(call.world, call.world.repositories[number]) for number in sorted(chosen)]
    return body


# Webhook deliveries.


def _deliveries(call: ApiCall) -> list[WebhookDelivery]:
    """Newest first."""
    return [each for each in reversed(call.world.deliveries) if each.notice.app is calling_app(call)]


@routes.on("GET", "/app/hook/deliveries", AS_APP)
def list_deliveries(call: ApiCall) -> ApiAnswer:
    """In pages by cursor, which is the last delivery of the page before, and not by number as other lists are."""
    _, _, last = call.query.get("cursor", "").rpartition("_")
    older = [each for each in _deliveries(call) if not last or each.id < int(last)]
    size = min(int(call.query.get("per_page", "30")), 100)
    body = [shown(call.world, "delivery_item", each) for each in older[:size]]
    next_page = f"{call.world.base_url}/app/hook/deliveries?per_page={size}&cursor=v1_{body[-1]['id']}" if body else ""
    headers = {"Link": f'<{next_page}>; rel="next"'} if len(older) > size else {}
    return ApiAnswer(status=200, body=body, headers=headers)


@routes.on("POST", "/app/hook/deliveries/{delivery_id:int}/attempts", AS_APP, status=202)
def redeliver(call: ApiCall) -> JsonObject:
    """The same bytes with the same GUID, once more."""
    wanted = int(call.path["delivery_id"])
    found = first(each for each in _deliveries(call) if each.id == wanted)
    call.world.send(replace(found.notice, redelivery=True))
    return {}


READ = Needs(permissions=("contents",))


def full_repository(world: World, made: HostedRepository, role: RepositoryRole) -> JsonObject:
    """full-repository, as this role sees it."""
    return {**repository(world, made), "permissions": permissions(role), **shown(world, "full_repository", made)}


@routes.on("GET", "{repository}", METADATA)
def get_repository(call: ApiCall) -> JsonObject:
    return full_repository(call.world, call.repository, call.role())


# Branches and refs.


@routes.on("GET", "{repository}/branches/{branch:path}", READ)
def get_branch(call: ApiCall) -> JsonObject:
    repo, name = call.repository, call.path["branch"]
    sha = repo.git.branch(name)
    if sha is None:
        raise ApiError(404, "Branch not found")
    home = f"{api(call.world, repo)}/branches/{name}"
    return {
        "name": name,
        "commit": commit(call.world, repo, repo.git.commit(sha)),
        "_links": {"self": home, "html": f"{web(call.world, repo)}/tree/{name}"},
        **shown(call.world, "branch", repo, home),
    }


# Commits and files.


@routes.on("GET", "{repository}/commits/{sha:path}", READ)
def get_commit(call: ApiCall) -> JsonObject:
    """Without its files, which no client of the playground reads."""
    repo = call.repository
    sha = repo.git.resolve(call.path["sha"])
    if sha is None:
        raise unprocessable(f"No commit found for SHA: {call.path['sha']}")
    return commit(call.world, repo, repo.git.commit(sha))


@routes.on("GET", "{repository}/contents/{path:path}", READ)
def get_contents(call: ApiCall) -> JsonObject:
    """A file; no client of the playground lists a directory."""
    repo, path = call.repository, call.path["path"]
    ref = call.query.get("ref") or repo.default_branch
    sha = repo.git.resolve(ref)
    found = repo.git.blob(sha, path) if sha else None
    data = repo.git.read(sha, path) if sha else None
    if found is None or data is None:
        raise not_found()
    home = f"{api(call.world, repo)}/contents/{path}?ref={ref}"
    page = f"{web(call.world, repo)}/blob/{ref}/{path}"
    blob = f"{api(call.world, repo)}/git/blobs/{found}"
    return {
        "name": PurePosixPath(path).name,
        "path": path,
        "sha": found,
        "size": len(data),
        "url": home,
        "html_url": page,
        "git_url": blob,
        "download_url": f"{web(call.world, repo)}/raw/{ref}/{path}",
        "type": "file",
        "_links": {"self": home, "git": blob, "html": page},
        "content": base64.encodebytes(data).decode(),
        "encoding": "base64",
    }
