"""Pull requests: open, list, edit, files, commits, merge."""

from __future__ import annotations

from bot.playground.accounts import Role
from bot.playground.acts import issues as issue_act
from bot.playground.acts import pulls as act
from bot.playground.auth import Needs
from bot.playground.nouns import Issue, Repository
from bot.playground.payloads import objects
from bot.playground.payloads import pulls as shape
from bot.playground.payloads.pulls import pull_of
from bot.playground.refusals import Fault, forbidden_user, invalid, missing, not_found
from bot.playground.rest.calls import Answer, Call, Routes
from bot.playground.rest.issues import must_own

routes = Routes()
READ = Needs(permissions=("pull_requests",))
WRITE = Needs(permissions=("pull_requests",), level="write")
MERGE = Needs(permissions=("contents",), level="write", role=Role.WRITE)


@routes.on("POST", "/repos/{owner}/{repo}/pulls", WRITE)
def create_pull(call: Call) -> Answer:
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
        draft=call.flag("draft") or False,
    )
    return Answer(status=201, body=shape.full_pull(call.world, made))


def _source(call: Call, head: str) -> tuple[Repository, str]:
    """The repository and branch that `branch` or `owner:branch` names; people need to be able to push there."""
    where, token = call.repository, call.caller.token
    login, colon, branch = head.rpartition(":")
    source = where
    if colon and login.lower() != where.owner.login.lower():
        family = (where, where.parent)
        found = [each for each in call.world.repositories.values() if each.parent in family and each.parent]
        source = next((each for each in found if each.owner.login.lower() == login.lower()), where)
        if source is where:
            raise invalid(Fault(resource="PullRequest", field="head", code="invalid"))
    if token and not token.installation and call.world.role(token.user, source) < Role.WRITE:
        raise forbidden_user()
    return source, branch


@routes.on("GET", "/repos/{owner}/{repo}/pulls", READ)
def list_pulls(call: Call) -> Answer:
    found = [issue for issue in reversed(call.repository.issues.values()) if issue.pull and _wanted(call, issue)]
    if call.query.get("direction") == "asc":
        found.reverse()
    return Answer(body=[shape.simple_pull(call.world, each) for each in found])


def _wanted(call: Call, issue: Issue) -> bool:
    """Whether the list's filters let it through. A head without an owner filters nothing, as on GitHub."""
    pull, head = pull_of(issue), call.query.get("head", "")
    label = f"{pull.head_repository.owner.login}:{pull.head_ref}"
    return (
        call.query.get("state", "open") in ("all", issue.state)
        and (":" not in head or head.lower() == label.lower())
        and call.query.get("base", pull.base_ref) == pull.base_ref
    )


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}", READ)
def get_pull(call: Call) -> Answer:
    issue = call.pull
    if "diff" in call.accept:
        pull, bare = pull_of(issue), issue.repository.git
        start = bare.merge_base(pull.base_sha, pull.head_sha) or pull.base_sha
        diff = bare.run("diff", "-M", start, pull.head_sha).decode(errors="replace")
        return Answer(body=diff, content_type="application/vnd.github.v3.diff; charset=utf-8")
    return Answer(body=shape.full_pull(call.world, issue))


@routes.on("PATCH", "/repos/{owner}/{repo}/pulls/{number:int}", WRITE)
def edit_pull(call: Call) -> Answer:
    issue, who = call.pull, call.who
    must_own(call, issue.author.id)
    issue_act.edit_text(call.world, issue, who, title=call.text_or_none("title"), body=call.text_or_none("body"))
    if call.text("state"):
        if issue.pull and issue.pull.merged_at:
            fault = Fault(resource="PullRequest", field="state", code="invalid")
            raise invalid(fault)
        issue_act.set_state(call.world, issue, who, call.text("state"))
    return Answer(body=shape.full_pull(call.world, issue))


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}/files", READ)
def list_files(call: Call) -> Answer:
    pull, bare = pull_of(call.pull), call.repository.git
    start = bare.merge_base(pull.base_sha, pull.head_sha) or pull.base_sha
    changes = bare.changes(start, pull.head_sha)
    return Answer(body=[objects.file_change(call.world, call.repository, each, pull.head_sha) for each in changes])


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}/commits", READ)
def list_commits(call: Call) -> Answer:
    pull, where = pull_of(call.pull), call.repository
    infos = where.git.log(pull.base_sha, pull.head_sha)
    return Answer(body=[objects.commit(call.world, where, info) for info in infos])


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}/merge", READ)
def is_merged(call: Call) -> Answer:
    if pull_of(call.pull).merged_at is None:
        raise not_found()
    return Answer(status=204)


@routes.on("PUT", "/repos/{owner}/{repo}/pulls/{number:int}/merge", MERGE)
def merge_pull(call: Call) -> Answer:
    method = call.text("merge_method", "merge")
    if method not in ("merge", "squash"):
        raise invalid(Fault(resource="PullRequest", field="merge_method", code="invalid"))
    sha = act.merge(
        call.world,
        call.pull,
        call.who,
        method=method,
        title=call.text("commit_title"),
        message=call.text("commit_message"),
        expected=call.text("sha"),
    )
    return Answer(body={"sha": sha, "merged": True, "message": "Pull Request successfully merged"})
