"""Opening, updating and merging pull requests."""

from __future__ import annotations

import re

from bot.playground.errors import ApiError, FieldError, invalid
from bot.playground.git import ZERO, GitIdentity
from bot.playground.models import ActingAccount, HostedIssue, HostedPull, HostedRepository
from bot.playground.operations.anchors import carry_over
from bot.playground.operations.events import announce
from bot.playground.operations.issues import check_body, next_number, set_state, tell
from bot.playground.payloads.git_objects import push
from bot.playground.payloads.pulls import pull_of
from bot.playground.world import World

WEB_FLOW = GitIdentity(name="GitHub", email="noreply@github.com")
_CLOSING = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)", re.IGNORECASE)


def open_pull(
    world: World,
    where: HostedRepository,
    who: ActingAccount,
    *,
    title: str,
    body: str | None,
    source: HostedRepository,
    head: str,
    base: str,
    draft: bool,
) -> HostedIssue:
    """A pull request from branch `head` of `source` (a fork, or the repository itself)."""
    base_sha, head_sha = _tips(where, source, head, base)
    _refuse_duplicate(where, source, head, base)
    if source.git.path != where.git.path:
        where.git.fetch_from(source.git, head_sha, f"refs/pull/{next_number(where)}/head")
    if where.git.count(base_sha, head_sha) == 0:
        raise invalid(FieldError(resource="PullRequest", message=f"No commits between {base} and {head}"))
    now = world.now()
    made = HostedIssue(
        id=world.next_id("issue"),
        number=next_number(where),
        repository=where,
        author=who.user,
        title=title,
        body=check_body("PullRequest", body) if body is not None else None,
        created_at=now,
        updated_at=now,
        via=who.via,
    )
    made.pull = HostedPull(
        id=world.next_id("issue"),
        head_repository=source,
        head_ref=head,
        head_sha=head_sha,
        base_ref=base,
        base_sha=base_sha,
        draft=draft,
    )
    where.issues[made.number] = made
    where.git.set_ref(f"refs/pull/{made.number}/head", head_sha)
    tell(world, made, who, "opened")
    return made


def _tips(where: HostedRepository, source: HostedRepository, head: str, base: str) -> tuple[str, str]:
    """The commits of both branches."""
    base_sha, head_sha = where.git.branch(base), source.git.branch(head)
    if base_sha is None:
        raise invalid(FieldError(resource="PullRequest", field="base", code="invalid"))
    if head_sha is None:
        raise invalid(FieldError(resource="PullRequest", field="head", code="invalid"))
    return base_sha, head_sha


def _refuse_duplicate(where: HostedRepository, source: HostedRepository, head: str, base: str) -> None:
    for issue in where.issues.values():
        pull = issue.pull
        if (
            pull
            and issue.state == "open"
            and (pull.head_repository, pull.head_ref, pull.base_ref) == (source, head, base)
        ):
            message = f"A pull request already exists for {source.owner.login}:{head}."
            raise invalid(FieldError(resource="PullRequest", message=message))


def mark_ready(world: World, issue: HostedIssue, who: ActingAccount) -> None:
    if pull_of(issue).draft:
        pull_of(issue).draft = False
        issue.updated_at = world.now()
        tell(world, issue, who, "ready_for_review")


def merge(world: World, issue: HostedIssue, who: ActingAccount, *, title: str, message: str, expected: str) -> str:
    """Merge as GitHub does; the new commit's SHA. `expected` is empty, or what the head must still be."""
    pull, bare = pull_of(issue), issue.repository.git
    if issue.state == "closed" or pull.draft:
        raise ApiError(405, "Pull Request is still a draft" if pull.draft else "Pull Request is not mergeable")
    if expected and expected != pull.head_sha:
        raise ApiError(409, "Head branch was modified. Review and try the merge again.")
    base = bare.branch(pull.base_ref)
    tree = bare.merged_tree(base, pull.head_sha) if base else None
    if base is None or tree is None:
        raise ApiError(405, "Pull Request is not mergeable")
    label = f"{pull.head_repository.owner.login}/{pull.head_ref}"
    subject = title or f"Merge pull request #{issue.number} from {label}"
    text = f"{subject}\n\n{message or issue.title}".rstrip()
    made = bare.commit_tree(tree, [base, pull.head_sha], text, who.user.git_identity, WEB_FLOW)
    bare.set_ref(f"refs/heads/{pull.base_ref}", made, base)
    _close_merged(world, issue, who, made)
    pushed(world, issue.repository, who, f"refs/heads/{pull.base_ref}", base, made)
    return made


def _close_merged(world: World, issue: HostedIssue, who: ActingAccount, sha: str) -> None:
    pull, now = pull_of(issue), world.now()
    pull.merged_at, pull.merged_by, pull.merge_sha = now, who.user, sha
    issue.state, issue.closed_at, issue.closed_by, issue.updated_at = "closed", now, who.user, now
    tell(world, issue, who, "closed")
    if pull.base_ref == issue.repository.default_branch:
        close_named(world, issue.repository, who, f"{issue.title}\n{issue.body or ''}")


def close_named(world: World, where: HostedRepository, who: ActingAccount, text: str) -> None:
    """Close the open issues that a merged text says it closes ("Fixes #3")."""
    for number in _CLOSING.findall(text):
        named = where.issues.get(int(number))
        if named and named.pull is None:
            set_state(world, named, who, "closed")


def pushed(world: World, where: HostedRepository, who: ActingAccount, ref: str, before: str, after: str) -> None:
    """A ref has moved: tell of the push, and bring the pull requests that it touches up to date."""
    where.pushed_at = world.now()
    announce(world, where, who.user, "push", None, **push(world, where, who, ref, before, after))
    if not ref.startswith("refs/heads/"):
        return
    branch = ref.removeprefix("refs/heads/")
    for issue in world.open_pulls(where, branch):
        _follow_head(world, issue, who, after)
    for issue in list(where.issues.values()):
        if issue.pull and issue.state == "open" and issue.pull.base_ref == branch and after != ZERO:
            _follow_base(world, issue, who, after)


def _follow_head(world: World, issue: HostedIssue, who: ActingAccount, after: str) -> None:
    pull, where = pull_of(issue), issue.repository
    if after == ZERO:
        now = world.now()
        issue.state, issue.closed_at, issue.closed_by, issue.updated_at = "closed", now, who.user, now
        tell(world, issue, who, "closed")
        return
    before, pull.head_sha = pull.head_sha, after
    where.git.fetch_from(pull.head_repository.git, after, f"refs/pull/{issue.number}/head")
    pull.base_sha = where.git.branch(pull.base_ref) or pull.base_sha
    issue.updated_at = world.now()
    carry_over(issue)
    tell(world, issue, who, "synchronize", before=before, after=after)


def _follow_base(world: World, issue: HostedIssue, who: ActingAccount, after: str) -> None:
    """A pull request whose commits arrived on its base by a push is merged."""
    pull = pull_of(issue)
    if issue.repository.git.is_ancestor(pull.head_sha, after):
        _close_merged(world, issue, who, after)
