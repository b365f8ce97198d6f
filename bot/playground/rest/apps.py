"""Apps, installations, accounts, tokens, webhook deliveries."""

from __future__ import annotations

from dataclasses import replace

from bot.playground.auth import Needs
from bot.playground.errors import ApiError, not_found, unprocessable
from bot.playground.models import App, HostedInstallation, WebhookDelivery
from bot.playground.payloads import accounts as shape
from bot.playground.payloads.accounts import JsonObject, repository
from bot.playground.rest.calls import ApiAnswer, ApiCall, Routes


def delivery_item(made: WebhookDelivery) -> JsonObject:
    """hook-delivery-item."""
    return {
        "id": made.id,
        "guid": made.notice.guid,
        "delivered_at": made.delivered_at.isoformat().replace("+00:00", "Z"),
        "redelivery": made.notice.redelivery,
        "duration": made.duration,
        "status": made.status,
        "status_code": made.status_code,
        "event": made.notice.event,
        "action": made.notice.action,
        "installation_id": made.notice.installation_id,
        "repository_id": made.notice.repository_id,
        "throttled_at": None,
    }


routes = Routes()
METADATA = Needs(permissions=("metadata",))


@routes.on("GET", "/user")
def get_own_profile(call: ApiCall) -> ApiAnswer:
    token = call.caller.token
    if token is None:
        raise ApiError(401, "Requires authentication")
    if token.installation:
        raise ApiError(403, "Resource not accessible by integration")
    return ApiAnswer(body=shape.own_profile(call.world, token.user))


@routes.on("GET", "/users/{login}")
def get_user(call: ApiCall) -> ApiAnswer:
    return ApiAnswer(body=shape.profile(call.world, call.world.user(call.path["login"])))


@routes.on("GET", "/repos/{owner}/{repo}/collaborators/{login}/permission", METADATA)
def get_permission(call: ApiCall) -> ApiAnswer:
    account = call.world.user(call.path["login"])
    role = call.world.role(account, call.repository)
    return ApiAnswer(body=shape.collaborator_permission(call.world, account, role))


AS_APP = Needs(app=True)
_LEVELS = ("read", "write", "admin")


def _app(call: ApiCall) -> App:
    assert call.caller.app is not None  # checked by AS_APP
    return call.caller.app


def _installation(call: ApiCall) -> HostedInstallation:
    found = call.world.installations.get(int(call.path["installation_id"]))
    if found is None or found.app is not _app(call):
        raise not_found()
    return found


@routes.on("GET", "/app", AS_APP)
def get_app(call: ApiCall) -> ApiAnswer:
    return ApiAnswer(body=shape.own_app(call.world, _app(call)))


@routes.on("GET", "/app/installations", AS_APP)
def list_installations(call: ApiCall) -> ApiAnswer:
    mine = [each for each in call.world.installations.values() if each.app is _app(call)]
    return ApiAnswer(body=[shape.installation(call.world, each) for each in mine])


@routes.on("GET", "/repos/{owner}/{repo}/installation", AS_APP)
def get_repository_installation(call: ApiCall) -> ApiAnswer:
    for each in call.world.installations_on(call.repository):
        if each.app is _app(call):
            return ApiAnswer(body=shape.installation(call.world, each))
    raise not_found()


@routes.on("POST", "/app/installations/{installation_id:int}/access_tokens", AS_APP)
def create_token(call: ApiCall) -> ApiAnswer:
    """Narrow to some repositories and permissions when asked; never widen."""
    made = _installation(call)
    chosen = _chosen_repositories(call, made)
    held = dict(made.app.permissions)
    asked = {name: str(level) for name, level in call.mapping("permissions").items()}
    for name, level in asked.items():
        if level not in _LEVELS or _LEVELS.index(level) > _LEVELS.index(held.get(name, "read")) or name not in held:
            raise unprocessable("The permissions requested are not granted to this installation.")
    token = call.world.issue_installation_token(made, frozenset(chosen), asked or held)
    body = shape.token(token)
    if "repository_ids" in call.body or "repositories" in call.body:
        body["repositories"] = [repository(call.world, call.world.repositories[number]) for number in sorted(chosen)]
    return ApiAnswer(status=201, body=body)


def _chosen_repositories(call: ApiCall, made: HostedInstallation) -> set[int]:
    names = {str(name).lower() for name in call.items("repositories")}
    named = {number for number in made.repository_ids if call.world.repositories[number].name.lower() in names}
    numbers = {number for number in call.items("repository_ids") if isinstance(number, int)}
    if len(named) != len(names) or not numbers <= made.repository_ids:
        message = (
            "There is at least one repository that does not exist or is not accessible to the parent installation."
        )
        raise unprocessable(message)
    return (named | numbers) or set(made.repository_ids)


@routes.on("GET", "/app/hook/deliveries", AS_APP)
def list_deliveries(call: ApiCall) -> ApiAnswer:
    """Newest first."""
    return ApiAnswer(body=[delivery_item(each) for each in reversed(_mine(call))])


@routes.on("POST", "/app/hook/deliveries/{delivery_id:int}/attempts", AS_APP)
def redeliver(call: ApiCall) -> ApiAnswer:
    """The same bytes with the same GUID, once more."""
    call.world.outbox.put(replace(_delivery(call).notice, redelivery=True))
    return ApiAnswer(status=202, body={})


def _mine(call: ApiCall) -> list[WebhookDelivery]:
    return [each for each in call.world.deliveries if each.notice.app is _app(call)]


def _delivery(call: ApiCall) -> WebhookDelivery:
    wanted = int(call.path["delivery_id"])
    found = next((each for each in _mine(call) if each.id == wanted), None)
    if found is None:
        raise not_found()
    return found
