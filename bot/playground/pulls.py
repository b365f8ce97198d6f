"""Pull requests and the refs that move them: open, list, files, commits, merge, push."""

import re

from msgspec import Struct

from bot.playground.api import ApiCall, Routes
from bot.playground.auth import Needs
from bot.playground.errors import ApiError, forbidden_user, invalid, unprocessable
from bot.playground.git import ZERO, GitIdentity
from bot.playground.issues import announce_issue, checked_text, set_state
from bot.playground.models import ActingAccount, HostedPull, HostedRepository, RepositoryRole
from bot.playground.payloads import JsonObject, full_pull, simple_pull
from bot.playground.reviews import READ, WRITE, carry_over
from bot.playground.world import World

WEB_FLOW = GitIdentity(name="GitHub", email="noreply@github.com")
_CLOSING = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)", re.IGNORECASE)
routes = Routes()
PUSH = Needs(permissions=("contents",), level="write", role=RepositoryRole.WRITE)


class _PullBody(Struct):
    title: str = ""
    head: str = ""
    base: str = ""
    body: str | None = None
    draft: bool | None = None


# Opening.


@routes.on("POST", "{repository}/pulls", WRITE, status=201)
def create_pull(call: ApiCall) -> JsonObject:
    """A pull request from a branch of this repository, or of a fork (`owner:branch`)."""
    world, repo, wanted, now = call.world, call.repository, call.read(_PullBody), call.world.now()
    for name in ("title", "head", "base"):
        if not getattr(wanted, name).strip():
            raise invalid("PullRequest", name, "missing_field")
    if wanted.draft and not repo.drafts:
        raise unprocessable("Draft pull requests are not supported in this repository.")
    source, head = _source(call, wanted.head)
    base_sha, head_sha = _tips(repo, source, head, wanted.base)
    number = repo.next_number()
    if source is not repo:
        repo.git.fetch_from(source.git, head_sha, f"refs/pull/{number}/head")
    if repo.git.count(base_sha, head_sha) == 0:
        raise invalid("PullRequest", message=f"No commits between {wanted.base} and {head}")
    made = HostedPull(
        id=world.next_id(),
        pull_id=world.next_id(),
        number=number,
        repository=repo,
        author=call.who.user,
        title=wanted.title,
        body=None if wanted.body is None else checked_text("PullRequest", wanted.body),
        created_at=now,
        updated_at=now,
        via=call.who.via,
        head_repository=source,
        head_ref=head,
        head_sha=head_sha,
        base_ref=wanted.base,
        base_sha=base_sha,
        draft=wanted.draft or False,
    )
    repo.issues[number] = made
    repo.git.set_ref(f"refs/pull/{number}/head", head_sha)
    announce_issue(world, made, call.who, "opened")
    return full_pull(world, made)


def _source(call: ApiCall, head: str) -> tuple[HostedRepository, str]:
    """The repository and branch that `branch` or `owner:branch` names; a user must have the right to push there."""
    repo, token = call.repository, call.caller.token
    login, colon, branch = head.rpartition(":")
    source = repo
    if colon and login.lower() != repo.owner.login.lower():
        family = (repo, repo.parent)
        found = [each for each in call.world.repositories.values() if each.parent in family and each.parent]
        source = next((each for each in found if each.owner.login.lower() == login.lower()), repo)
        if source is repo:
            raise invalid("PullRequest", "head", "invalid")
    if token and not token.installation and call.world.role(token.user, source) < RepositoryRole.WRITE:
        raise forbidden_user()
    return source, branch


def _tips(repo: HostedRepository, source: HostedRepository, head: str, base: str) -> tuple[str, str]:
    """The commits of both branches, between which there is no open pull request yet."""
    base_sha, head_sha = repo.git.branch(base), source.git.branch(head)
    if base_sha is None:
        raise invalid("PullRequest", "base", "invalid")
    if head_sha is None:
        raise invalid("PullRequest", "head", "invalid")
    for pull in repo.pulls():
        if pull.state == "open" and (pull.head_repository, pull.head_ref, pull.base_ref) == (source, head, base):
            message = f"A pull request already exists for {source.owner.login}:{head}."
            raise invalid("PullRequest", message=message)
    return base_sha, head_sha


def mark_ready(world: World, pull: HostedPull, who: ActingAccount) -> None:
    if pull.draft:
        pull.draft = False
        pull.updated_at = world.now()
        announce_issue(world, pull, who, "ready_for_review")


# Reading.


@routes.on("GET", "{repository}/pulls", READ)
def list_pulls(call: ApiCall) -> list[JsonObject]:
    found = [pull for pull in reversed(call.repository.pulls()) if _wanted(call, pull)]
    if call.query.get("direction") == "asc":
        found.reverse()
    return [simple_pull(call.world, each) for each in found]


def _wanted(call: ApiCall, pull: HostedPull) -> bool:
    """Whether the list's filters let it through. A head without an owner filters nothing, as on GitHub."""
    head = call.query.get("head", "")
    label = f"{pull.head_repository.owner.login}:{pull.head_ref}"
    state = call.query.get("state", "open")
    return state in ("all", pull.state) and (":" not in head or head.lower() == label.lower())


@routes.on("GET", "{repository}/pulls/{number:int}", READ)
def get_pull(call: ApiCall) -> JsonObject:
    return full_pull(call.world, call.pull)


# Merging.


@routes.on("PUT", "{repository}/pulls/{number:int}/merge", PUSH)
def merge_pull(call: ApiCall) -> JsonObject:
    """Merge by a commit with two parents."""
    pull, bare = call.pull, call.repository.git
    if pull.state == "closed" or pull.draft:
        raise ApiError(405, "Pull Request is still a draft" if pull.draft else "Pull Request is not mergeable")
    base = bare.branch(pull.base_ref)
    tree = bare.merged_tree(base, pull.head_sha) if base else None
    if base is None or tree is None:
        raise ApiError(405, "Pull Request is not mergeable")
    label = f"{pull.head_repository.owner.login}/{pull.head_ref}"
    text = f"Merge pull request #{pull.number} from {label}\n\n{pull.title}"
    sha = bare.commit_tree(tree, [base, pull.head_sha], text, call.who.user.git_identity, WEB_FLOW)
    bare.set_ref(f"refs/heads/{pull.base_ref}", sha, base)
    _close_merged(call.world, pull, call.who, sha)
    pushed(call.world, call.repository, call.who, f"refs/heads/{pull.base_ref}", sha)
    return {"sha": sha, "merged": True, "message": "Pull Request successfully merged"}


def _close_merged(world: World, pull: HostedPull, who: ActingAccount, sha: str) -> None:
    """Close it as merged, and the open issues that its text names ("Fixes #3")."""
    pull.merged_at, pull.merged_by, pull.merge_sha = world.now(), who.user, sha
    set_state(world, pull, who, "closed")
    if pull.base_ref == pull.repository.default_branch:
        for number in _CLOSING.findall(f"{pull.title}\n{pull.body or ''}"):
            named = pull.repository.issues.get(int(number))
            if named and not isinstance(named, HostedPull):
                set_state(world, named, who, "closed")


# Refs.


def pushed(world: World, repo: HostedRepository, who: ActingAccount, ref: str, after: str) -> None:
    """A ref has moved: update the pull requests that it touches."""
    repo.pushed_at = world.now()
    if not ref.startswith("refs/heads/"):
        return
    branch = ref.removeprefix("refs/heads/")
    still_open = [pull for pull in world.pulls() if pull.state == "open"]
    for pull in still_open:
        if pull.head_repository is repo and pull.head_ref == branch:
            _follow_head(world, pull, who, after)
    for pull in still_open:
        merged = pull.repository is repo and pull.base_ref == branch and pull.state == "open" and after != ZERO
        if merged and repo.git.is_ancestor(pull.head_sha, after):  # its commits arrived on the base by a push
            _close_merged(world, pull, who, after)


def _follow_head(world: World, pull: HostedPull, who: ActingAccount, after: str) -> None:
    if after == ZERO:
        set_state(world, pull, who, "closed")
        return
    repo = pull.repository
    before, pull.head_sha = pull.head_sha, after
    repo.git.fetch_from(pull.head_repository.git, after, f"refs/pull/{pull.number}/head")
    pull.base_sha = repo.git.branch(pull.base_ref) or pull.base_sha
    pull.updated_at = world.now()
    carry_over(pull)
    announce_issue(world, pull, who, "synchronize", before=before, after=after)
