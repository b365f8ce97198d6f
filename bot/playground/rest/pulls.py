"""Pull requests: open, list, edit, files, commits, merge."""

from __future__ import annotations

from bot.playground.auth import Needs
from bot.playground.errors import FieldError, forbidden_user, invalid, missing
from bot.playground.models import HostedIssue, HostedRepository, RepositoryRole
from bot.playground.operations import pulls as act
from bot.playground.payloads import git_objects
from bot.playground.payloads import pulls as shape
from bot.playground.payloads.pulls import pull_of
from bot.playground.rest.calls import ApiAnswer, ApiCall, Routes

routes = Routes()
READ = Needs(permissions=("pull_requests",))
WRITE = Needs(permissions=("pull_requests",), level="write")
MERGE = Needs(permissions=("contents",), level="write", role=RepositoryRole.WRITE)


@routes.on("POST", "/repos/{owner}/{repo}/pulls", WRITE)
def create_pull(call: ApiCall) -> ApiAnswer:
    for name in ("title", "head", "base"):
        if not call.text(name).strip():
            raise missing("PullRequest", name)
    source, head = _source(call, call.text("head"))
    made = act.open_pull(
        call.world,
        call.repository,
        call.who,
        title=call.text("title"),
        body=call.text_or_none("body"),
        source=source,
        head=head,
        base=call.text("base"),
        draft=call.flag("draft"),
    )
    return ApiAnswer(status=201, body=shape.full_pull(call.world, made))


def _source(call: ApiCall, head: str) -> tuple[HostedRepository, str]:
    """The repository and branch that `branch` or `owner:branch` names; a user must have the right to push there."""
    where, token = call.repository, call.caller.token
    login, colon, branch = head.rpartition(":")
    source = where
    if colon and login.lower() != where.owner.login.lower():
        family = (where, where.parent)
        found = [each for each in call.world.repositories.values() if each.parent in family and each.parent]
        source = next((each for each in found if each.owner.login.lower() == login.lower()), where)
        if source is where:
            raise invalid(FieldError(resource="PullRequest", field="head", code="invalid"))
    if token and not token.installation and call.world.role(token.user, source) < RepositoryRole.WRITE:
        raise forbidden_user()
    return source, branch


@routes.on("GET", "/repos/{owner}/{repo}/pulls", READ)
def list_pulls(call: ApiCall) -> ApiAnswer:
    found = [issue for issue in reversed(call.repository.issues.values()) if issue.pull and _wanted(call, issue)]
    if call.query.get("direction") == "asc":
        found.reverse()
    return ApiAnswer(body=[shape.simple_pull(call.world, each) for each in found])


def _wanted(call: ApiCall, issue: HostedIssue) -> bool:
    """Whether the list's filters let it through. A head without an owner filters nothing, as on GitHub."""
    pull, head = pull_of(issue), call.query.get("head", "")
    label = f"{pull.head_repository.owner.login}:{pull.head_ref}"
    return (
        call.query.get("state", "open") in ("all", issue.state)
        and (":" not in head or head.lower() == label.lower())
        and call.query.get("base", pull.base_ref) == pull.base_ref
    )


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}", READ)
def get_pull(call: ApiCall) -> ApiAnswer:
    return ApiAnswer(body=shape.full_pull(call.world, call.pull))


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}/files", READ)
def list_files(call: ApiCall) -> ApiAnswer:
    pull, bare = pull_of(call.pull), call.repository.git
    start = bare.merge_base(pull.base_sha, pull.head_sha) or pull.base_sha
    changes = bare.changes(start, pull.head_sha)
    return ApiAnswer(
        body=[git_objects.file_change(call.world, call.repository, each, pull.head_sha) for each in changes]
    )


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}/commits", READ)
def list_commits(call: ApiCall) -> ApiAnswer:
    pull, where = pull_of(call.pull), call.repository
    infos = where.git.log(pull.base_sha, pull.head_sha)
    return ApiAnswer(body=[git_objects.commit(call.world, where, info) for info in infos])


@routes.on("PUT", "/repos/{owner}/{repo}/pulls/{number:int}/merge", MERGE)
def merge_pull(call: ApiCall) -> ApiAnswer:
    if call.text("merge_method", "merge") != "merge":
        raise invalid(FieldError(resource="PullRequest", field="merge_method", code="invalid"))
    sha = act.merge(
        call.world,
        call.pull,
        call.who,
        title=call.text("commit_title"),
        message=call.text("commit_message"),
        expected=call.text("sha"),
    )
    return ApiAnswer(body={"sha": sha, "merged": True, "message": "Pull Request successfully merged"})
