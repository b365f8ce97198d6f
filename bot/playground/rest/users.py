"""Accounts, and what they may do."""

from __future__ import annotations

from bot.playground.auth import Needs
from bot.playground.payloads import people as shape
from bot.playground.refusals import Refused, not_found
from bot.playground.rest.calls import Answer, Call, Routes

routes = Routes()
METADATA = Needs(permissions=("metadata",))


@routes.on("GET", "/user")
def get_own_profile(call: Call) -> Answer:
    token = call.caller.token
    if token is None:
        raise Refused(401, "Requires authentication")
    if token.installation:
        raise Refused(403, "Resource not accessible by integration")
    return Answer(body=shape.own_profile(call.world, token.user))


@routes.on("GET", "/users/{login}")
def get_user(call: Call) -> Answer:
    return Answer(body=shape.profile(call.world, call.world.user(call.path["login"])))


@routes.on("GET", "/user/{account_id:int}")
def get_user_by_id(call: Call) -> Answer:
    account = call.world.users.get(int(call.path["account_id"]))
    if account is None:
        raise not_found()
    return Answer(body=shape.profile(call.world, account))


@routes.on("GET", "/repos/{owner}/{repo}/collaborators/{login}/permission", METADATA)
def get_permission(call: Call) -> Answer:
    account = call.world.user(call.path["login"])
    role = call.world.role(account, call.repository)
    return Answer(body=shape.collaborator_permission(call.world, account, role))


@routes.on("GET", "/rate_limit")
def get_rate_limit(call: Call) -> Answer:
    reset = (int(call.world.now().timestamp()) // 3600 + 1) * 3600
    rate = {"limit": 5000, "remaining": 5000, "reset": reset, "used": 0}
    names = ("core", "search", "graphql", "integration_manifest")
    return Answer(body={"resources": {name: dict(rate) for name in names}, "rate": rate})
