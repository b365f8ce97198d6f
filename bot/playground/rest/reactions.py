"""Reactions on issues, issue comments and review comments. They fire no webhook."""

from __future__ import annotations

from bot.playground.auth import Needs
from bot.playground.errors import FieldError, forbidden_user, invalid, not_found
from bot.playground.models import REACTIONS, HostedReaction
from bot.playground.payloads import issues as shape
from bot.playground.rest.calls import ApiAnswer, ApiCall, Routes

routes = Routes()
_KINDS = {
    "/repos/{owner}/{repo}/issues/{number:int}": ("issues", "pull_requests"),
    "/repos/{owner}/{repo}/issues/comments/{comment_id:int}": ("issues", "pull_requests"),
    "/repos/{owner}/{repo}/pulls/comments/{review_comment_id:int}": ("pull_requests",),
}


def _reactions(call: ApiCall) -> list[HostedReaction]:
    if "number" in call.path:
        return call.issue.reactions
    if "comment_id" in call.path:
        return call.world.comment(call.repository, int(call.path["comment_id"])).reactions
    return call.world.review_comment(call.repository, int(call.path["review_comment_id"])).reactions


def create(call: ApiCall) -> ApiAnswer:
    """201 for a new one, 200 for one that was there."""
    content = call.text("content")
    if content not in REACTIONS:
        raise invalid(FieldError(resource="Reaction", field="content", code="invalid"))
    made, new = call.world.react(_reactions(call), call.who.user, content)
    return ApiAnswer(status=201 if new else 200, body=shape.reaction(call.world, made))


def show(call: ApiCall) -> ApiAnswer:
    content = call.query.get("content")
    found = [each for each in _reactions(call) if content in (None, each.content)]
    return ApiAnswer(body=[shape.reaction(call.world, each) for each in found])


def delete(call: ApiCall) -> ApiAnswer:
    wanted = int(call.path["reaction_id"])
    found = next((each for each in _reactions(call) if each.id == wanted), None)
    if found is None:
        raise not_found()
    if found.user is not call.who.user:
        raise forbidden_user()
    _reactions(call).remove(found)
    return ApiAnswer(status=204)


for _target, _permissions in _KINDS.items():
    routes.on("POST", f"{_target}/reactions", Needs(permissions=_permissions, level="write"))(create)
    routes.on("GET", f"{_target}/reactions", Needs(permissions=_permissions))(show)
    routes.on("DELETE", f"{_target}/reactions/{{reaction_id:int}}", Needs(permissions=_permissions, level="write"))(
        delete
    )
