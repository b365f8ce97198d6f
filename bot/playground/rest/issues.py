"""Issues, comments on issues and pull requests, labels."""

from __future__ import annotations

from bot.playground.accounts import Role
from bot.playground.acts import issues as act
from bot.playground.auth import Needs
from bot.playground.nouns import Comment, Issue, Label
from bot.playground.payloads import issues as shape
from bot.playground.refusals import forbidden_user, not_found
from bot.playground.rest.calls import Answer, Call, Routes

routes = Routes()
EITHER = ("issues", "pull_requests")
READ = Needs(permissions=EITHER)
WRITE = Needs(permissions=EITHER, level="write")
TRIAGE = Needs(permissions=EITHER, level="write", role=Role.TRIAGE)
OPEN = Needs(permissions=("issues",), level="write")


def must_own(call: Call, author_id: int, role: Role = Role.WRITE) -> None:
    """People change what they wrote; for other people's it takes a role."""
    if call.who.user.id != author_id and call.role() < role:
        raise forbidden_user()


@routes.on("POST", "/repos/{owner}/{repo}/issues", OPEN)
def create_issue(call: Call) -> Answer:
    """Labels and assignees of somebody without triage are dropped in silence, as GitHub does."""
    trusted = call.role() >= Role.TRIAGE
    made = act.open_issue(
        call.world,
        call.repository,
        call.who,
        title=call.text("title"),
        body=call.text_or_none("body"),
        labels=call.words("labels") if trusted else [],
        assignees=[call.world.user(login) for login in call.words("assignees")] if trusted else [],
    )
    return Answer(status=201, body=shape.issue(call.world, made))


@routes.on("GET", "/repos/{owner}/{repo}/issues", READ)
def list_issues(call: Call) -> Answer:
    state, wanted = call.query.get("state", "open"), call.query.get("labels", "")
    names = {name for name in wanted.split(",") if name}
    found = [
        issue
        for issue in reversed(call.repository.issues.values())
        if state in ("all", issue.state) and names <= {label.name for label in issue.labels}
    ]
    creator = call.query.get("creator")
    return Answer(body=[shape.issue(call.world, each) for each in found if creator in (None, each.author.login)])


@routes.on("GET", "/repos/{owner}/{repo}/issues/{number:int}", READ)
def get_issue(call: Call) -> Answer:
    shown = shape.issue(call.world, call.issue)
    return Answer(body=shown | shape.rendered(call.issue) if "full+json" in call.accept else shown)


@routes.on("PATCH", "/repos/{owner}/{repo}/issues/{number:int}", WRITE)
def edit_issue(call: Call) -> Answer:
    issue, who = call.issue, call.who
    must_own(call, issue.author.id, Role.TRIAGE)
    act.edit_text(call.world, issue, who, title=call.text_or_none("title"), body=call.text_or_none("body"))
    if "labels" in call.body:
        _set_labels(call, issue, call.words("labels"))
    if call.text("state"):
        act.set_state(call.world, issue, who, call.text("state"), call.text_or_none("state_reason"))
    return Answer(body=shape.issue(call.world, issue))


def _set_labels(call: Call, issue: Issue, names: list[str]) -> None:
    wanted = {name.lower() for name in names}
    act.remove_labels(call.world, issue, call.who, [each for each in issue.labels if each.name.lower() not in wanted])
    act.add_labels(call.world, issue, call.who, names)


@routes.on("POST", "/repos/{owner}/{repo}/issues/{number:int}/comments", WRITE)
def create_comment(call: Call) -> Answer:
    made = act.add_comment(call.world, call.issue, call.who, call.text("body"))
    return Answer(status=201, body=shape.comment(call.world, made))


@routes.on("GET", "/repos/{owner}/{repo}/issues/{number:int}/comments", READ)
def list_comments(call: Call) -> Answer:
    return Answer(body=[shape.comment(call.world, each) for each in call.issue.comments])


@routes.on("GET", "/repos/{owner}/{repo}/issues/comments", READ)
def list_repository_comments(call: Call) -> Answer:
    found = [each for issue in call.repository.issues.values() for each in issue.comments]
    return Answer(body=[shape.comment(call.world, each) for each in sorted(found, key=lambda each: each.id)])


def _comment(call: Call) -> Comment:
    return call.world.comment(call.repository, int(call.path["comment_id"]))


@routes.on("GET", "/repos/{owner}/{repo}/issues/comments/{comment_id:int}", READ)
def get_comment(call: Call) -> Answer:
    return Answer(body=shape.comment(call.world, _comment(call)))


@routes.on("PATCH", "/repos/{owner}/{repo}/issues/comments/{comment_id:int}", WRITE)
def edit_comment(call: Call) -> Answer:
    made = _comment(call)
    must_own(call, made.author.id)
    act.edit_comment(call.world, made, call.who, call.text("body"))
    return Answer(body=shape.comment(call.world, made))


@routes.on("DELETE", "/repos/{owner}/{repo}/issues/comments/{comment_id:int}", WRITE)
def delete_comment(call: Call) -> Answer:
    made = _comment(call)
    must_own(call, made.author.id)
    act.delete_comment(call.world, made, call.who)
    return Answer(status=204)


@routes.on("GET", "/repos/{owner}/{repo}/labels", READ)
def list_labels(call: Call) -> Answer:
    return Answer(body=[shape.label(call.world, call.repository, each) for each in call.repository.labels.values()])


@routes.on("POST", "/repos/{owner}/{repo}/labels", TRIAGE)
def create_label(call: Call) -> Answer:
    color, description = call.text("color", "ededed"), call.text("description")
    made = act.create_label(call.world, call.repository, call.text("name"), color, description)
    return Answer(status=201, body=shape.label(call.world, call.repository, made))


@routes.on("GET", "/repos/{owner}/{repo}/labels/{name}", READ)
def get_label(call: Call) -> Answer:
    made = call.repository.labels.get(call.path["name"].lower())
    if made is None:
        raise not_found()
    return Answer(body=shape.label(call.world, call.repository, made))


@routes.on("GET", "/repos/{owner}/{repo}/issues/{number:int}/labels", READ)
def list_issue_labels(call: Call) -> Answer:
    return _labels(call)


@routes.on("POST", "/repos/{owner}/{repo}/issues/{number:int}/labels", TRIAGE)
def add_issue_labels(call: Call) -> Answer:
    """The names come under `labels`, or as a bare list."""
    act.add_labels(call.world, call.issue, call.who, call.words("labels") or call.words(""))
    return _labels(call)


@routes.on("PUT", "/repos/{owner}/{repo}/issues/{number:int}/labels", TRIAGE)
def set_issue_labels(call: Call) -> Answer:
    _set_labels(call, call.issue, call.words("labels") or call.words(""))
    return _labels(call)


@routes.on("DELETE", "/repos/{owner}/{repo}/issues/{number:int}/labels/{name}", TRIAGE)
def remove_issue_label(call: Call) -> Answer:
    gone: list[Label] = [each for each in call.issue.labels if each.name.lower() == call.path["name"].lower()]
    if not gone:
        raise not_found()
    act.remove_labels(call.world, call.issue, call.who, gone)
    return _labels(call)


def _labels(call: Call) -> Answer:
    return Answer(body=[shape.label(call.world, call.repository, each) for each in call.issue.labels])
