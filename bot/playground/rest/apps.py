"""Apps, installations, tokens, webhook deliveries."""

from __future__ import annotations

from dataclasses import replace

from bot.playground.accounts import App, Installation
from bot.playground.auth import Needs
from bot.playground.deliveries import Delivery
from bot.playground.payloads import people as shape
from bot.playground.payloads.deliveries import delivery, delivery_item
from bot.playground.payloads.repositories import repository
from bot.playground.refusals import not_found, unprocessable
from bot.playground.rest.calls import Answer, Call, Routes

routes = Routes()
AS_APP = Needs(app=True)
_LEVELS = ("read", "write", "admin")


def _app(call: Call) -> App:
    assert call.caller.app is not None  # checked by AS_APP
    return call.caller.app


def _installation(call: Call) -> Installation:
    found = call.world.installations.get(int(call.path["installation_id"]))
    if found is None or found.app is not _app(call):
        raise not_found()
    return found


@routes.on("GET", "/app", AS_APP)
def get_app(call: Call) -> Answer:
    return Answer(body=shape.own_app(call.world, _app(call)))


@routes.on("GET", "/app/installations", AS_APP)
def list_installations(call: Call) -> Answer:
    mine = [each for each in call.world.installations.values() if each.app is _app(call)]
    return Answer(body=[shape.installation(call.world, each) for each in mine])


@routes.on("GET", "/app/installations/{installation_id:int}", AS_APP)
def get_installation(call: Call) -> Answer:
    return Answer(body=shape.installation(call.world, _installation(call)))


@routes.on("GET", "/repos/{owner}/{repo}/installation", AS_APP)
def get_repository_installation(call: Call) -> Answer:
    for each in call.world.installations_on(call.repository):
        if each.app is _app(call):
            return Answer(body=shape.installation(call.world, each))
    raise not_found()


@routes.on("POST", "/app/installations/{installation_id:int}/access_tokens", AS_APP)
def create_token(call: Call) -> Answer:
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
    return Answer(status=201, body=body)


def _chosen_repositories(call: Call, made: Installation) -> set[int]:
    names = {str(name).lower() for name in call.items("repositories")}
    named = {number for number in made.repository_ids if call.world.repositories[number].name.lower() in names}
    numbers = {number for number in call.items("repository_ids") if isinstance(number, int)}
    if len(named) != len(names) or not numbers <= made.repository_ids:
        message = (
            "There is at least one repository that does not exist or is not accessible to the parent installation."
        )
        raise unprocessable(message)
    return (named | numbers) or set(made.repository_ids)


@routes.on("GET", "/installation/repositories")
def list_installation_repositories(call: Call) -> Answer:
    token = call.caller.token
    if token is None or token.installation is None:
        raise not_found()
    found = [repository(call.world, call.world.repositories[number]) for number in sorted(token.repository_ids)]
    body = {"total_count": len(found), "repository_selection": "selected", "repositories": found}
    return Answer(body=body, paged="repositories")


@routes.on("GET", "/app/hook/deliveries", AS_APP)
def list_deliveries(call: Call) -> Answer:
    """Newest first."""
    return Answer(body=[delivery_item(each) for each in reversed(_mine(call))])


@routes.on("GET", "/app/hook/deliveries/{delivery_id:int}", AS_APP)
def get_delivery(call: Call) -> Answer:
    return Answer(body=delivery(_delivery(call)))


@routes.on("POST", "/app/hook/deliveries/{delivery_id:int}/attempts", AS_APP)
def redeliver(call: Call) -> Answer:
    """The same bytes with the same GUID, once more."""
    call.world.outbox.put(replace(_delivery(call).notice, redelivery=True))
    return Answer(status=202, body={})


def _mine(call: Call) -> list[Delivery]:
    return [each for each in call.world.deliveries if each.notice.app is _app(call)]


def _delivery(call: Call) -> Delivery:
    wanted = int(call.path["delivery_id"])
    found = next((each for each in _mine(call) if each.id == wanted), None)
    if found is None:
        raise not_found()
    return found
