"""Issues, comments on issues and pull requests, labels."""

from __future__ import annotations

from bot.playground.auth import Needs
from bot.playground.errors import forbidden_user
from bot.playground.models import RepositoryRole
from bot.playground.operations import issues as act
from bot.playground.payloads import issues as shape
from bot.playground.rest.calls import ApiAnswer, ApiCall, Routes

routes = Routes()
EITHER = ("issues", "pull_requests")
READ = Needs(permissions=EITHER)
WRITE = Needs(permissions=EITHER, level="write")
TRIAGE = Needs(permissions=EITHER, level="write", role=RepositoryRole.TRIAGE)
OPEN = Needs(permissions=("issues",), level="write")


def must_own(call: ApiCall, author_id: int, role: RepositoryRole = RepositoryRole.WRITE) -> None:
    """Authors change their own text; other users need a role."""
    if call.who.user.id != author_id and call.role() < role:
        raise forbidden_user()


@routes.on("POST", "/repos/{owner}/{repo}/issues", OPEN)
def create_issue(call: ApiCall) -> ApiAnswer:
    """As on GitHub, labels and assignees from a user without triage are dropped in silence."""
    trusted = call.role() >= RepositoryRole.TRIAGE
    made = act.open_issue(
        call.world,
        call.repository,
        call.who,
        title=call.text("title"),
        body=call.text_or_none("body"),
        labels=call.words("labels") if trusted else [],
        assignees=[call.world.user(login) for login in call.words("assignees")] if trusted else [],
    )
    return ApiAnswer(status=201, body=shape.issue(call.world, made))


@routes.on("GET", "/repos/{owner}/{repo}/issues", READ)
def list_issues(call: ApiCall) -> ApiAnswer:
    state, wanted = call.query.get("state", "open"), call.query.get("labels", "")
    names = {name for name in wanted.split(",") if name}
    found = [
        issue
        for issue in reversed(call.repository.issues.values())
        if state in ("all", issue.state) and names <= {label.name for label in issue.labels}
    ]
    creator = call.query.get("creator")
    return ApiAnswer(body=[shape.issue(call.world, each) for each in found if creator in (None, each.author.login)])


@routes.on("GET", "/repos/{owner}/{repo}/issues/{number:int}", READ)
def get_issue(call: ApiCall) -> ApiAnswer:
    shown = shape.issue(call.world, call.issue)
    return ApiAnswer(body=shown | shape.rendered(call.issue) if "full+json" in call.accept else shown)


@routes.on("PATCH", "/repos/{owner}/{repo}/issues/{number:int}", WRITE)
def edit_issue(call: ApiCall) -> ApiAnswer:
    issue, who = call.issue, call.who
    must_own(call, issue.author.id, RepositoryRole.TRIAGE)
    act.edit_text(call.world, issue, who, title=call.text_or_none("title"), body=call.text_or_none("body"))
    if call.text("state"):
        act.set_state(call.world, issue, who, call.text("state"), call.text_or_none("state_reason"))
    return ApiAnswer(body=shape.issue(call.world, issue))


@routes.on("POST", "/repos/{owner}/{repo}/issues/{number:int}/comments", WRITE)
def create_comment(call: ApiCall) -> ApiAnswer:
    made = act.add_comment(call.world, call.issue, call.who, call.text("body"))
    return ApiAnswer(status=201, body=shape.comment(call.world, made))


@routes.on("GET", "/repos/{owner}/{repo}/issues/{number:int}/comments", READ)
def list_comments(call: ApiCall) -> ApiAnswer:
    return ApiAnswer(body=[shape.comment(call.world, each) for each in call.issue.comments])


@routes.on("POST", "/repos/{owner}/{repo}/issues/{number:int}/labels", TRIAGE)
def add_issue_labels(call: ApiCall) -> ApiAnswer:
    """The names come under `labels`, or as a bare list."""
    act.add_labels(call.world, call.issue, call.who, call.words("labels") or call.words(""))
    return _labels(call)


def _labels(call: ApiCall) -> ApiAnswer:
    return ApiAnswer(body=[shape.label(call.world, call.repository, each) for each in call.issue.labels])
