"""Routes of the playground that neither the product nor the demo calls: what PyGithub, Octokit, Probot and tests use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import Struct
from msgspec.structs import asdict

from bot.playground.api import ApiCall, Routes
from bot.playground.auth import Needs, check
from bot.playground.checks import announce_check, check_run_of
from bot.playground.errors import ApiError, forbidden_user, invalid, not_found, unprocessable
from bot.playground.git import ZERO
from bot.playground.issues import (
    EITHER,
    CommentBody,
    IssueBody,
    announce_comment,
    announce_issue,
    announce_labels,
    checked_text,
    labels_named,
    must_own,
    reactions_of,
    set_state,
)
from bot.playground.models import (
    ActingAccount,
    HostedInstallation,
    HostedIssue,
    HostedRepository,
    RepositoryRole,
)
from bot.playground.payloads import (
    JsonObject,
    api,
    check_run_event,
    comment,
    full_pull,
    installation,
    issue,
    label,
    repository,
    review_comment,
    shown,
    user,
    web,
    when,
)
from bot.playground.pulls import pushed
from bot.playground.repositories import (
    AS_APP,
    METADATA,
    calling_app,
    full_repository,
    get_repository,
)
from bot.playground.reviews import (
    COMMENT,
    DraftComment,
    add_review,
    anchor_of,
    announce_review,
    begin_thread,
    comments_of,
    reply_to,
)
from bot.playground.webhooks import announce, announce_installation
from bot.playground.world import World

routes = Routes()
CONTENTS = Needs(permissions=("contents",))
CONVERSATION = Needs(permissions=EITHER)
PULLS = Needs(permissions=("pull_requests",))
CHECKS = Needs(permissions=("checks",))
WRITE = Needs(permissions=EITHER, level="write")
WRITE_PULLS = Needs(permissions=("pull_requests",), level="write")
TRIAGE = Needs(permissions=EITHER, level="write", role=RepositoryRole.TRIAGE)
PUSH = Needs(permissions=("contents",), level="write", role=RepositoryRole.WRITE)
RERUN = Needs(permissions=("checks",), level="write", role=RepositoryRole.WRITE)


# Users, Apps and installations.


@routes.on("GET", "/user")
def get_own_profile(call: ApiCall) -> JsonObject:
    token = call.caller.token
    if token is None:
        raise ApiError(401, "Requires authentication")
    if token.installation:
        raise ApiError(403, "Resource not accessible by integration")
    public = {**user(call.world, token.user), **shown(call.world, "profile", token.user)}
    return {**public, **shown(call.world, "own_profile", token.user)}


@routes.on("GET", "/app/installations", AS_APP)
def list_installations(call: ApiCall) -> list[JsonObject]:
    mine = [each for each in call.world.installations.values() if each.app is calling_app(call)]
    return [installation(call.world, each) for each in mine]


@routes.on("GET", "/installation/repositories")
def list_repositories_of_token(call: ApiCall) -> JsonObject:
    token = call.caller.token
    if token is None or token.installation is None:
        raise ApiError(403, "Resource not accessible by integration")
    found = [call.world.repositories[number] for number in sorted(token.repository_ids)]
    return {"total_count": len(found), "repositories": [repository(call.world, each) for each in found]}


@routes.on("GET", "{repository}/installation", AS_APP)
def get_repository_installation(call: ApiCall) -> JsonObject:
    for each in call.world.installations_on(call.repository):
        if each.app is calling_app(call):
            return installation(call.world, each)
    raise not_found()


@routes.on("GET", "/user/{account_id:int}")
def get_user_by_id(call: ApiCall) -> JsonObject:
    account = call.world.users.get(int(call.path["account_id"]))
    if account is None:
        raise not_found()
    return {**user(call.world, account), **shown(call.world, "profile", account)}


# Repositories, refs and commits.


@routes.on("GET", "/repositories/{repository_id:int}")
def get_repository_by_id(call: ApiCall) -> JsonObject:
    found = call.world.repositories.get(int(call.path["repository_id"]))
    if found is None:
        raise not_found()
    check(call.world, call.caller, found, METADATA)
    named = {"owner": found.owner.login, "repo": found.name}
    return get_repository(replace(call, path=named))


@routes.on("POST", "{repository}/forks", Needs(permissions=("administration",), level="write"), status=202)
def create_fork(call: ApiCall) -> JsonObject:
    where = call.repository
    made = call.world.add_repository(call.who.user, where.name, private=where.private, parent=where)
    made.git.run("fetch", "--quiet", str(where.git.path), "refs/heads/*:refs/heads/*")
    return full_repository(call.world, made, RepositoryRole.ADMIN)


@routes.on("GET", "{repository}/branches", CONTENTS)
def list_branches(call: ApiCall) -> list[JsonObject]:
    heads = {ref: sha for ref, sha in call.repository.git.refs().items() if ref.startswith("refs/heads/")}
    home = f"{api(call.world, call.repository)}/commits"
    return [
        {"name": ref.removeprefix("refs/heads/"), "commit": {"sha": sha, "url": f"{home}/{sha}"}, "protected": False}
        for ref, sha in heads.items()
    ]


@routes.on("GET", "{repository}/git/ref/{ref:path}", CONTENTS)
def get_ref(call: ApiCall) -> JsonObject:
    where, ref = call.repository, f"refs/{call.path['ref']}"
    sha = where.git.refs().get(ref)
    if sha is None:
        raise not_found()
    home = f"{api(call.world, where)}/git"
    target = {"type": "commit", "sha": sha, "url": f"{home}/commits/{sha}"}
    return {"ref": ref, "node_id": f"{where.node_id}:{ref}", "url": f"{home}/{ref}", "object": target}


@routes.on("DELETE", "{repository}/git/refs/{ref:path}", PUSH, status=204)
def delete_ref(call: ApiCall) -> None:
    where, ref = call.repository, f"refs/{call.path['ref']}"
    if ref not in where.git.refs():
        raise unprocessable("Reference does not exist")
    where.git.run("update-ref", "-d", ref)
    pushed(call.world, where, call.who, ref, ZERO)


# Issues and the conversation.


class _EditedIssue(IssueBody):
    state: str | None = None
    state_reason: str | None = None


def _edit_text(world: World, made: HostedIssue, who: ActingAccount, wanted: _EditedIssue) -> None:
    """Change title or body (None leaves it); the event carries the text from before."""
    before: JsonObject = {}
    if wanted.title is not None and wanted.title != made.title:
        before["title"] = {"from": made.title}
        made.title = wanted.title
    if wanted.body is not None and wanted.body != made.body:
        before["body"] = {"from": made.body or ""}
        made.body = checked_text("Issue", wanted.body)
    if before:
        made.updated_at = world.now()
        announce_issue(world, made, who, "edited", changes=before)


@routes.on("GET", "{repository}/issues", CONVERSATION)
def list_issues(call: ApiCall) -> list[JsonObject]:
    state, creator = call.query.get("state", "open"), call.query.get("creator")
    names = {name for name in call.query.get("labels", "").split(",") if name}
    return [
        issue(call.world, made)
        for made in reversed(call.repository.issues.values())
        if state in ("all", made.state)
        and names <= {label.name for label in made.labels}
        and creator in (None, made.author.login)
    ]


@routes.on("PATCH", "{repository}/issues/{number:int}", WRITE)
def edit_issue(call: ApiCall) -> JsonObject:
    made, wanted = call.issue, call.read(_EditedIssue)
    must_own(call, made.author, RepositoryRole.TRIAGE)
    _edit_text(call.world, made, call.who, wanted)
    if wanted.state:
        set_state(call.world, made, call.who, wanted.state, wanted.state_reason)
    return issue(call.world, made)


class _EditedPull(Struct):
    base: str


@routes.on("PATCH", "{repository}/pulls/{number:int}", WRITE_PULLS)
def edit_pull(call: ApiCall) -> JsonObject:
    """Give a pull request another base branch, as its author may."""
    made, base, where = call.pull, call.read(_EditedPull).base, call.repository
    must_own(call, made.author)
    sha = where.git.branch(base)
    if sha is None:
        raise invalid("PullRequest", "base", "invalid")
    before: JsonObject = {"base": {"ref": {"from": made.base_ref}, "sha": {"from": made.base_sha}}}
    made.base_ref, made.base_sha, made.updated_at = base, sha, call.world.now()
    announce_issue(call.world, made, call.who, "edited", changes=before)
    return full_pull(call.world, made)


@routes.on("POST", "{repository}/issues/{number:int}/labels", TRIAGE)
def add_issue_labels(call: ApiCall) -> list[JsonObject]:
    made, where = call.issue, call.repository
    wanted = labels_named(call.world, where, call.read(IssueBody).labels)
    added = [each for each in wanted if each not in made.labels]
    made.labels += added
    announce_labels(call.world, made, call.who, added)
    return [label(call.world, where, each) for each in made.labels]


@routes.on("PATCH", "{repository}/issues/comments/{comment_id:int}", WRITE)
def edit_comment(call: ApiCall) -> JsonObject:
    made = call.world.comment(call.repository, int(call.path["comment_id"]))
    must_own(call, made.author)
    before = made.body
    made.body = checked_text("IssueComment", call.read(CommentBody).body, required=True)
    made.updated_at = call.world.now()
    announce_comment(call.world, made, call.who, "edited", changes={"body": {"from": before}})
    return comment(call.world, made)


def _delete_reaction(call: ApiCall) -> None:
    wanted = int(call.path["reaction_id"])
    found = next((each for each in reactions_of(call) if each.id == wanted), None)
    if found is None:
        raise not_found()
    if found.user is not call.who.user:
        raise forbidden_user()
    reactions_of(call).remove(found)


for _target, _permissions in (
    ("issues/{number:int}", EITHER),
    ("issues/comments/{comment_id:int}", EITHER),
    ("pulls/comments/{review_comment_id:int}", ("pull_requests",)),
):
    _write = Needs(permissions=_permissions, level="write")
    routes.on("DELETE", f"{{repository}}/{_target}/reactions/{{reaction_id:int}}", _write, status=204)(_delete_reaction)


# Pull requests, reviews and checks.


class _ReviewCommentBody(DraftComment):
    commit_id: str | None = None
    in_reply_to: int | None = None


@routes.on("POST", "{repository}/pulls/{number:int}/comments", WRITE_PULLS, status=201)
def create_comment(call: ApiCall) -> JsonObject:
    """A new thread in a review of its own, or an answer where `in_reply_to` names a comment."""
    wanted = call.read(_ReviewCommentBody)
    if wanted.in_reply_to is not None:
        return reply_to(call, wanted.in_reply_to, wanted.body)
    if not wanted.commit_id:
        raise invalid(COMMENT, "commit_id", "missing_field")
    anchor = anchor_of(call.pull, wanted.commit_id, wanted)
    made = add_review(call.world, call.pull, call.who, wanted.commit_id, "", "COMMENTED")
    added = begin_thread(call.world, made, wanted.body or "", anchor)
    announce_review(call.world, made, call.who, [added])
    return review_comment(call.world, added)


@routes.on("GET", "{repository}/pulls/comments/{comment_id:int}", PULLS)
def get_review_comment(call: ApiCall) -> JsonObject:
    return review_comment(call.world, call.world.review_comment(call.repository, int(call.path["comment_id"])))


@routes.on("GET", "{repository}/pulls/comments", PULLS)
def list_repository_comments(call: ApiCall) -> list[JsonObject]:
    found = comments_of(call.repository.pulls())
    if call.query.get("sort") and call.query.get("direction") == "desc":
        found.reverse()
    return [review_comment(call.world, each) for each in found]


@routes.on("GET", "{repository}/check-runs/{check_run_id:int}/annotations", CHECKS)
def list_annotations(call: ApiCall) -> list[JsonObject]:
    made = check_run_of(call)
    home = f"{web(call.world, made.repository)}/blob/{made.head_sha}"
    unset = dict.fromkeys(("raw_details", "start_column", "end_column"))
    return [{**asdict(each), **unset, "blob_href": f"{home}/{each.path}"} for each in made.annotations]


@routes.on("POST", "{repository}/check-runs/{check_run_id:int}/rerequest", RERUN, status=201)
def rerequest_check_run(call: ApiCall) -> JsonObject:
    """What the button "Re-run" does: nothing changes until the App answers the webhook."""
    announce_check(call.world, check_run_of(call), call.who, "rerequested")
    return {}


@routes.on("POST", "{repository}/check-suites/{suite_id:int}/rerequest", RERUN, status=201)
def rerequest_check_suite(call: ApiCall) -> JsonObject:
    """What the button "Re-run all checks" does."""
    world, where = call.world, call.repository
    made = [each for each in where.check_runs if each.suite_id == int(call.path["suite_id"])]
    if not made:
        raise not_found()
    last, head = check_run_event(world, made[-1])["check_suite"], where.git.commit(made[-1].head_sha)
    assert isinstance(last, dict)
    commit = {
        "id": head.sha,
        "tree_id": head.tree,
        "message": head.message,
        "timestamp": when(head.authored_at),
        "author": {"name": head.author.name, "email": head.author.email},
        "committer": {"name": head.committer.name, "email": head.committer.email},
    }
    suite = {
        **last,
        "latest_check_runs_count": len(made),
        "check_runs_url": f"{last['url']}/check-runs",
        "head_commit": commit,
    }
    announce(world, where, call.who.user, "check_suite", "rerequested", check_suite=suite)
    return {}


# Webhooks.


def announce_repositories(
    world: World,
    made: HostedInstallation,
    added: Sequence[HostedRepository] = (),
    removed: Sequence[HostedRepository] = (),
) -> None:
    """The `installation_repositories` event for added or removed repositories."""
    stubs, gone = ([shown(world, "repository_stub", each) for each in some] for some in (added, removed))
    parts = {"repository_selection": "selected", "repositories_added": stubs, "repositories_removed": gone}
    action = "removed" if removed else "added"
    announce_installation(world, made, "installation_repositories", action, **parts)
