"""Opening, editing, labelling and commenting."""

from __future__ import annotations

from bot.playground.errors import FieldError, invalid, missing
from bot.playground.models import (
    ActingAccount,
    HostedAccount,
    HostedComment,
    HostedIssue,
    HostedLabel,
    HostedRepository,
)
from bot.playground.operations.events import announce
from bot.playground.payloads import issues as shape
from bot.playground.payloads.accounts import JsonObject
from bot.playground.payloads.pulls import full_pull
from bot.playground.world import World

BODY_LIMIT = 65536
REASONS = ("completed", "not_planned", "duplicate", "reopened")


def check_body(resource: str, body: str) -> str:
    """GitHub's limit on texts; the text with its line ends as GitHub stores them."""
    if len(body) > BODY_LIMIT:
        message = f"body is too long (maximum is {BODY_LIMIT} characters)"
        raise invalid(FieldError(resource=resource, field="body", message=message))
    return body


def next_number(repository: HostedRepository) -> int:
    """Issues and pull requests share one series."""
    return max(repository.issues, default=0) + 1


def open_issue(
    world: World,
    where: HostedRepository,
    who: ActingAccount,
    *,
    title: str,
    body: str | None,
    labels: list[str],
    assignees: list[HostedAccount],
) -> HostedIssue:
    if not title.strip():
        raise missing("Issue", "title")
    now = world.now()
    made = HostedIssue(
        id=world.next_id("issue"),
        number=next_number(where),
        repository=where,
        author=who.user,
        title=title,
        body=check_body("Issue", body) if body is not None else None,
        created_at=now,
        updated_at=now,
        via=who.via,
        labels=[ensure_label(world, where, name) for name in labels],
        assignees=assignees,
    )
    where.issues[made.number] = made
    tell(world, made, who, "opened")
    for each in made.labels:
        tell(world, made, who, "labeled", label=shape.label(world, where, each))
    return made


def tell(world: World, issue: HostedIssue, who: ActingAccount, action: str, **parts: object) -> None:
    """Announce what happened to an issue, or to a pull request when it is one."""
    where = issue.repository
    if issue.pull:
        about: JsonObject = {"number": issue.number, "pull_request": full_pull(world, issue)}
        announce(world, where, who.user, "pull_request", action, **about, **parts)
    else:
        announce(world, where, who.user, "issues", action, issue=shape.issue_event(world, issue), **parts)


def ensure_label(world: World, where: HostedRepository, name: str) -> HostedLabel:
    """The repository's label of this name, made when there is none (as GitHub does)."""
    known = where.labels.get(name.lower())
    if known is None:
        known = HostedLabel(id=world.next_id("label"), name=name, color="ededed", description="")
        where.labels[name.lower()] = known
    return known


def add_labels(world: World, issue: HostedIssue, who: ActingAccount, names: list[str]) -> None:
    for name in names:
        made = ensure_label(world, issue.repository, name)
        if made not in issue.labels:
            issue.labels.append(made)
            tell(world, issue, who, "labeled", label=shape.label(world, issue.repository, made))


def edit_text(world: World, issue: HostedIssue, who: ActingAccount, *, title: str | None, body: str | None) -> None:
    """Change title or body (None leaves it), and tell what it was."""
    before: JsonObject = {}
    if title is not None and title != issue.title:
        before["title"] = {"from": issue.title}
        issue.title = title
    if body is not None and body != issue.body:
        before["body"] = {"from": issue.body or ""}
        issue.body = check_body("Issue", body)
    if before:
        issue.updated_at = world.now()
        tell(world, issue, who, "edited", changes=before)


def set_state(world: World, issue: HostedIssue, who: ActingAccount, state: str, reason: str | None = None) -> None:
    """Close or reopen; the same state again is no event."""
    if state not in ("open", "closed"):
        raise invalid(FieldError(resource="Issue", field="state", code="invalid"))
    if state == issue.state:
        return
    closing = state == "closed"
    issue.state, issue.updated_at = state, world.now()
    issue.closed_at = world.now() if closing else None
    issue.closed_by = who.user if closing else None
    issue.state_reason = None if issue.pull else (reason or "completed") if closing else "reopened"
    tell(world, issue, who, "closed" if closing else "reopened")


def add_comment(world: World, issue: HostedIssue, who: ActingAccount, body: str) -> HostedComment:
    if not body.strip():
        raise missing("IssueComment", "body")
    now = world.now()
    made = HostedComment(
        id=world.next_id("comment"),
        issue=issue,
        author=who.user,
        body=check_body("IssueComment", body),
        created_at=now,
        updated_at=now,
        via=who.via,
    )
    issue.comments.append(made)
    issue.updated_at = now
    world.comments[made.id] = made
    _tell_comment(world, made, who, "created")
    return made


def _tell_comment(world: World, made: HostedComment, who: ActingAccount, action: str, **parts: object) -> None:
    issue = made.issue
    shown = {"issue": shape.issue_event(world, issue), "comment": shape.comment(world, made)}
    announce(world, issue.repository, who.user, "issue_comment", action, **shown, **parts)
