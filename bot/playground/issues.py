"""Issues, the conversation, labels and reactions: what can be done to them, and the routes that do it."""

from collections.abc import Sequence

from msgspec import Struct

from bot.playground.api import ApiAnswer, ApiCall, Routes
from bot.playground.auth import Needs
from bot.playground.errors import forbidden_user, invalid
from bot.playground.models import (
    REACTIONS,
    ActingAccount,
    HostedAccount,
    HostedComment,
    HostedIssue,
    HostedLabel,
    HostedPull,
    HostedReaction,
    HostedRepository,
    RepositoryRole,
)
from bot.playground.payloads import JsonObject, comment, full_pull, issue, issue_event, label, rendered, shown
from bot.playground.webhooks import announce
from bot.playground.world import World

BODY_LIMIT = 65536
routes = Routes()
EITHER = ("issues", "pull_requests")
READ = Needs(permissions=EITHER)
WRITE = Needs(permissions=EITHER, level="write")
OPEN = Needs(permissions=("issues",), level="write")


class IssueBody(Struct):
    title: str | None = None
    body: str | None = None
    labels: tuple[str, ...] = ()


class CommentBody(Struct):
    body: str = ""


class _ReactionBody(Struct):
    content: str = ""


# What happens to issues, and to the conversations of pull requests.


def checked_text(resource: str, body: str | None, *, required: bool = False) -> str:
    """The text of a body within GitHub's limit; raises ApiError 422."""
    if required and not (body or "").strip():
        raise invalid(resource, "body", "missing_field")
    if len(body or "") > BODY_LIMIT:
        raise invalid(resource, "body", message=f"body is too long (maximum is {BODY_LIMIT} characters)")
    return body or ""


def announce_issue(world: World, made: HostedIssue, who: ActingAccount, action: str, **parts: object) -> None:
    """Announce what happened to an issue, or to a pull request when it is one."""
    if isinstance(made, HostedPull):
        about: JsonObject = {"number": made.number, "pull_request": full_pull(world, made)}
        announce(world, made.repository, who.user, "pull_request", action, **about, **parts)
    else:
        announce(world, made.repository, who.user, "issues", action, issue=issue_event(world, made), **parts)


def set_state(world: World, made: HostedIssue, who: ActingAccount, state: str, reason: str | None = None) -> None:
    """Close or reopen; the same state again is no event."""
    if state not in ("open", "closed"):
        raise invalid("Issue", "state", "invalid")
    if state == made.state:
        return
    closing = state == "closed"
    made.state, made.updated_at = state, world.now()
    made.closed_at = world.now() if closing else None
    made.closed_by = who.user if closing else None
    if not isinstance(made, HostedPull):
        made.state_reason = (reason or "completed") if closing else "reopened"
    announce_issue(world, made, who, "closed" if closing else "reopened")


def labels_named(world: World, repo: HostedRepository, names: Sequence[str]) -> list[HostedLabel]:
    """The repository's labels of these names; missing ones are made, as on GitHub."""
    for name in names:
        if name.lower() not in repo.labels:
            made = HostedLabel(id=world.next_id(), name=name)
            repo.labels[name.lower()] = made
    return [repo.labels[name.lower()] for name in names]


def announce_labels(world: World, made: HostedIssue, who: ActingAccount, added: list[HostedLabel]) -> None:
    for each in added:
        announce_issue(world, made, who, "labeled", label=label(world, made.repository, each))


def announce_comment(world: World, made: HostedComment, who: ActingAccount, action: str, **parts: object) -> None:
    shown = {"issue": issue_event(world, made.issue), "comment": comment(world, made)}
    announce(world, made.issue.repository, who.user, "issue_comment", action, **shown, **parts)


# Issues.


@routes.on("POST", "{repository}/issues", OPEN, status=201)
def create_issue(call: ApiCall) -> JsonObject:
    """As on GitHub, labels from a user without triage are dropped without an error."""
    wanted, repo, who = call.read(IssueBody), call.repository, call.who
    if not (wanted.title or "").strip():
        raise invalid("Issue", "title", "missing_field")
    trusted = call.role() >= RepositoryRole.TRIAGE
    now = call.world.now()
    made = HostedIssue(
        id=call.world.next_id(),
        number=repo.next_number(),
        repository=repo,
        author=who.user,
        title=wanted.title or "",
        body=None if wanted.body is None else checked_text("Issue", wanted.body),
        created_at=now,
        updated_at=now,
        via=who.via,
        labels=labels_named(call.world, repo, wanted.labels) if trusted else [],
    )
    repo.issues[made.number] = made
    announce_issue(call.world, made, who, "opened")
    announce_labels(call.world, made, who, made.labels)
    return issue(call.world, made)


@routes.on("GET", "{repository}/issues/{number:int}", READ)
def get_issue(call: ApiCall) -> JsonObject:
    shown = issue(call.world, call.issue)
    return shown | rendered(call.issue) if "full+json" in call.accept else shown


# The conversation.


@routes.on("POST", "{repository}/issues/{number:int}/comments", WRITE, status=201)
def create_comment(call: ApiCall) -> JsonObject:
    now = call.world.now()
    made = HostedComment(
        id=call.world.next_id(),
        issue=call.issue,
        author=call.who.user,
        body=checked_text("IssueComment", call.read(CommentBody).body, required=True),
        created_at=now,
        updated_at=now,
        via=call.who.via,
    )
    made.issue.comments.append(made)
    made.issue.updated_at = now
    announce_comment(call.world, made, call.who, "created")
    return comment(call.world, made)


@routes.on("GET", "{repository}/issues/{number:int}/comments", READ)
def list_comments(call: ApiCall) -> list[JsonObject]:
    return [comment(call.world, each) for each in call.issue.comments]


@routes.on("DELETE", "{repository}/issues/comments/{comment_id:int}", WRITE, status=204)
def delete_comment(call: ApiCall) -> None:
    gone = call.world.comment(call.repository, int(call.path["comment_id"]))
    must_own(call, gone.author)
    gone.issue.comments.remove(gone)
    announce_comment(call.world, gone, call.who, "deleted")


def must_own(call: ApiCall, author: HostedAccount, role: RepositoryRole = RepositoryRole.WRITE) -> None:
    """Authors change their own text; other users need a role. Raises ApiError 403."""
    if call.who.user is not author and call.role() < role:
        raise forbidden_user()


# Reactions, on issues, comments and review comments. They fire no webhook.


def reactions_of(call: ApiCall) -> list[HostedReaction]:
    if "number" in call.path:
        return call.issue.reactions
    if "comment_id" in call.path:
        return call.world.comment(call.repository, int(call.path["comment_id"])).reactions
    return call.world.review_comment(call.repository, int(call.path["review_comment_id"])).reactions


def _create_reaction(call: ApiCall) -> ApiAnswer:
    """201 for a new one, 200 for one that was there."""
    content = call.read(_ReactionBody).content
    if content not in REACTIONS:
        raise invalid("Reaction", "content", "invalid")
    there, user = reactions_of(call), call.who.user
    known = next((each for each in there if each.user is user and each.content == content), None)
    if known is not None:
        return ApiAnswer(body=shown(call.world, "reaction", known))
    made = HostedReaction(id=call.world.next_id(), user=user, content=content, created_at=call.world.now())
    there.append(made)
    return ApiAnswer(status=201, body=shown(call.world, "reaction", made))


def _list_reactions(call: ApiCall) -> list[JsonObject]:
    return [shown(call.world, "reaction", each) for each in reactions_of(call)]


for _target, _permissions in (
    ("issues/{number:int}", EITHER),
    ("issues/comments/{comment_id:int}", EITHER),
    ("pulls/comments/{review_comment_id:int}", ("pull_requests",)),
):
    _path, _write = f"{{repository}}/{_target}/reactions", Needs(permissions=_permissions, level="write")
    routes.on("POST", _path, _write)(_create_reaction)
    routes.on("GET", _path, Needs(permissions=_permissions))(_list_reactions)
