"""Issues, pull requests, reviews and check runs, as GitHub's JSON shows them. The names are GitHub's schemas."""

from __future__ import annotations

import re
from html import escape

import msgspec

from bot.playground.models import (
    REACTIONS,
    CheckAnnotation,
    HostedAccount,
    HostedCheckRun,
    HostedComment,
    HostedIssue,
    HostedLabel,
    HostedPull,
    HostedReaction,
    HostedRepository,
    HostedReview,
    HostedThread,
    RepositoryRole,
    ReviewComment,
    node_id,
)
from bot.playground.payloads import (
    JsonObject,
    api,
    app,
    app_or_null,
    fields,
    repository,
    user,
    user_or_null,
    web,
    when,
    when_or_null,
)
from bot.playground.world import World

_PICTURE = re.compile(r"!\[([^\]]*)\]\((\S+?)\)")


# What issues, pull requests and comments share.


def association(author: HostedAccount, repository: HostedRepository) -> str:
    """What the author is to the repository."""
    if author is repository.owner:
        return "OWNER"
    granted = repository.roles.get(author.id, RepositoryRole.NONE)
    if granted is RepositoryRole.NONE:
        return "NONE"
    return "MEMBER" if repository.owner.type == "Organization" else "COLLABORATOR"


def label(world: World, repository: HostedRepository, made: HostedLabel) -> JsonObject:
    return {
        "id": made.id,
        "node_id": made.node_id,
        "url": f"{api(world, repository)}/labels/{made.name}",
        "name": made.name,
        "color": made.color,
        "default": False,
        "description": made.description or None,
    }


def reaction(world: World, made: HostedReaction) -> JsonObject:
    return {
        "id": made.id,
        "node_id": made.node_id,
        "user": user(world, made.user),
        "content": made.content,
        "created_at": when(made.created_at),
    }


def rollup(url: str, reactions: list[HostedReaction]) -> JsonObject:
    """reaction-rollup."""
    counts = {word: sum(1 for each in reactions if each.content == word) for word in REACTIONS}
    return {"url": f"{url}/reactions", "total_count": len(reactions), **counts}


def page(world: World, made: HostedIssue) -> str:
    """The address of its page."""
    return f"{web(world, made.repository)}/{'pull' if isinstance(made, HostedPull) else 'issues'}/{made.number}"


def _conversation(world: World, made: HostedIssue) -> JsonObject:
    """What an issue and a pull request have in common."""
    return {
        "node_id": made.node_id,
        "number": made.number,
        "state": made.state,
        "title": made.title,
        "body": made.body,
        "user": user(world, made.author),
        "author_association": association(made.author, made.repository),
        "labels": [label(world, made.repository, each) for each in made.labels],
        "assignee": user(world, made.assignees[0]) if made.assignees else None,
        "assignees": [user(world, each) for each in made.assignees],
        "created_at": when(made.created_at),
        "updated_at": when(made.updated_at),
        "closed_at": when_or_null(made.closed_at),
    }


# Issues.


def issue(world: World, made: HostedIssue) -> JsonObject:
    """issue; a pull request's conversation too."""
    home = api(world, made.repository)
    url = f"{home}/issues/{made.number}"
    shown: JsonObject = {
        "id": made.id,
        **_conversation(world, made),
        **fields("issue", url, page(world, made)),
        "repository_url": home,
        "state_reason": made.state_reason,
        "comments": len(made.comments),
        "closed_by": user_or_null(world, made.closed_by),
        "performed_via_github_app": app_or_null(world, made.via),
        "reactions": rollup(url, made.reactions),
    }
    if isinstance(made, HostedPull):
        links = fields("pull_links", f"{home}/pulls/{made.number}", page(world, made))
        shown |= {"draft": made.draft, "pull_request": {**links, "merged_at": when_or_null(made.merged_at)}}
    return shown


def rendered(made: HostedIssue) -> JsonObject:
    """What the media type `full` adds. Of Markdown only pictures are rendered."""
    text = made.body or ""
    parts = (f'<img src="{escape(url)}" alt="{escape(name)}">' for name, url in _PICTURE.findall(text))
    return {"body_html": f"<p>{escape(_PICTURE.sub('', text))}{''.join(parts)}</p>", "body_text": text}


def issue_event(world: World, made: HostedIssue) -> JsonObject:
    """An issue as webhooks carry it: they do not name the account that closed it."""
    return {key: value for key, value in issue(world, made).items() if key != "closed_by"}


def comment(world: World, made: HostedComment) -> JsonObject:
    """issue-comment."""
    repository = made.issue.repository
    url = f"{api(world, repository)}/issues/comments/{made.id}"
    return {
        "id": made.id,
        "node_id": made.node_id,
        "url": url,
        "html_url": f"{page(world, made.issue)}#issuecomment-{made.id}",
        "issue_url": f"{api(world, repository)}/issues/{made.issue.number}",
        "user": user(world, made.author),
        "body": made.body,
        "author_association": association(made.author, repository),
        "performed_via_github_app": app_or_null(world, made.via),
        "reactions": rollup(url, made.reactions),
        "created_at": when(made.created_at),
        "updated_at": when(made.updated_at),
    }


# Pull requests.


def _end(world: World, where: HostedRepository, ref: str, sha: str) -> JsonObject:
    return {
        "label": f"{where.owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user(world, where.owner),
        "repo": {**repository(world, where), **fields("pull_end_repository")},
    }


def simple_pull(world: World, made: HostedPull) -> JsonObject:
    """pull-request-simple: what lists and review events carry."""
    home = api(world, made.repository)
    url = f"{home}/pulls/{made.number}"
    links = {
        "issue": f"{home}/issues/{made.number}",
        "comments": f"{home}/issues/{made.number}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{home}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{home}/statuses/{made.head_sha}",
    }
    hrefs = {"self": url, "html": page(world, made), **links}
    return {
        "id": made.pull_id,
        **_conversation(world, made),
        **fields("pull", url, page(world, made)),
        **{f"{name}_url": link for name, link in links.items()},
        "merged_at": when_or_null(made.merged_at),
        "merge_commit_sha": made.merge_sha,
        "head": _end(world, made.head_repository, made.head_ref, made.head_sha),
        "base": _end(world, made.repository, made.base_ref, made.base_sha),
        "_links": {name: {"href": link} for name, link in hrefs.items()},
        "draft": made.draft,
    }


def full_pull(world: World, made: HostedPull) -> JsonObject:
    """pull-request, with what only git knows."""
    bare = made.repository.git
    start = bare.merge_base(made.base_sha, made.head_sha) or made.base_sha
    files = bare.changes(start, made.head_sha)
    mergeable = None if made.state == "closed" else bare.merged_tree(made.base_sha, made.head_sha) is not None
    state = "unknown" if mergeable is None else "draft" if made.draft else "clean" if mergeable else "dirty"
    return {
        **simple_pull(world, made),
        "merged": made.merged_at is not None,
        "mergeable": mergeable,
        "rebaseable": mergeable,
        "mergeable_state": state,
        "merged_by": user_or_null(world, made.merged_by),
        "comments": len(made.comments),
        "review_comments": sum(len(thread.comments) for thread in made.threads),
        "maintainer_can_modify": made.head_repository is not made.repository,
        "commits": bare.count(start, made.head_sha),
        "additions": sum(each.additions for each in files),
        "deletions": sum(each.deletions for each in files),
        "changed_files": len(files),
    }


# Reviews.


def review(world: World, made: HostedReview) -> JsonObject:
    """pull-request-review."""
    shown = f"{page(world, made.pull)}#pullrequestreview-{made.id}"
    url = f"{api(world, made.pull.repository)}/pulls/{made.pull.number}"
    return {
        "id": made.id,
        "node_id": made.node_id,
        "user": user(world, made.author),
        "body": made.body,
        "state": made.state,
        "html_url": shown,
        "pull_request_url": url,
        "author_association": association(made.author, made.pull.repository),
        "_links": {"html": {"href": shown}, "pull_request": {"href": url}},
        "submitted_at": when(made.submitted_at),
        "commit_id": made.sha,
    }


def review_event(world: World, made: HostedReview) -> JsonObject:
    """A review as webhooks carry it: the state in small letters, null for an empty body."""
    changed = {"body": made.body or None, "state": made.state.lower(), "updated_at": when(made.updated_at)}
    return {**review(world, made), **changed}


def review_comment(world: World, made: ReviewComment) -> JsonObject:
    """pull-request-review-comment."""
    pull, original = made.thread.pull, made.original
    url = f"{api(world, pull.repository)}/pulls/comments/{made.id}"
    above = f"{api(world, pull.repository)}/pulls/{pull.number}"
    shown = f"{page(world, pull)}#discussion_r{made.id}"
    answered: JsonObject = {"in_reply_to_id": made.reply_to} if made.reply_to else {}
    return {
        "id": made.id,
        "node_id": made.node_id,
        "url": url,
        "html_url": shown,
        "pull_request_url": above,
        "pull_request_review_id": made.review.id,
        "diff_hunk": original.hunk,
        "path": original.path,
        "commit_id": made.sha,
        "original_commit_id": made.original_sha,
        **answered,
        "user": user(world, made.author),
        "body": made.body,
        "created_at": when(made.created_at),
        "updated_at": when(made.updated_at),
        "author_association": association(made.author, pull.repository),
        "_links": {"self": {"href": url}, "html": {"href": shown}, "pull_request": {"href": above}},
        "reactions": rollup(url, made.reactions),
        "start_line": made.start_line,
        "original_start_line": original.start_line,
        "start_side": original.side if original.start_line is not None else None,
        "line": made.line,
        "original_line": original.line,
        "side": original.side,
        "position": made.position,
        "original_position": original.position,
        "subject_type": "line",
    }


def thread(world: World, made: HostedThread) -> JsonObject:
    """A thread as webhooks carry it."""
    return {"node_id": made.node_id, "comments": [review_comment(world, each) for each in made.comments]}


# Check runs.


def check_run(world: World, made: HostedCheckRun) -> JsonObject:
    url = f"{api(world, made.repository)}/check-runs/{made.id}"
    return {
        "id": made.id,
        "node_id": made.node_id,
        "head_sha": made.head_sha,
        "external_id": made.external_id,
        "url": url,
        "html_url": f"{web(world, made.repository)}/runs/{made.id}",
        "details_url": made.details_url,
        "status": made.status,
        "conclusion": made.conclusion,
        "started_at": when(made.started_at),
        "completed_at": when_or_null(made.completed_at),
        "output": {
            "title": made.title,
            "summary": made.summary,
            "text": made.text,
            "annotations_count": len(made.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "name": made.name,
        "check_suite": {"id": made.suite_id},
        "app": app(world, made.app),
        "pull_requests": _checked_pulls(world, made),
    }


def check_run_event(world: World, made: HostedCheckRun) -> JsonObject:
    """A check run as webhooks carry it: with its suite."""
    suite = {
        "id": made.suite_id,
        "node_id": node_id("CS", made.suite_id),
        "head_branch": None,
        "head_sha": made.head_sha,
        "status": made.status,
        "conclusion": made.conclusion,
        "url": f"{api(world, made.repository)}/check-suites/{made.suite_id}",
        "before": None,
        "after": None,
        "pull_requests": _checked_pulls(world, made),
        "app": app(world, made.app),
        "created_at": when(made.started_at),
        "updated_at": when(made.completed_at or made.started_at),
    }
    return {**check_run(world, made), "check_suite": suite}


def annotation(world: World, run: HostedCheckRun, made: CheckAnnotation) -> JsonObject:
    link = f"{web(world, run.repository)}/blob/{run.head_sha}/{made.path}"
    return {**msgspec.structs.asdict(made), "blob_href": link}


def _checked_pulls(world: World, made: HostedCheckRun) -> list[JsonObject]:
    """Open pull requests of this repository whose head is the checked commit."""

    def end(where: HostedRepository, ref: str, sha: str) -> JsonObject:
        return {"ref": ref, "sha": sha, "repo": {"id": where.id, "url": api(world, where), "name": where.name}}

    return [
        {
            "id": pull.pull_id,
            "number": pull.number,
            "url": f"{api(world, pull.repository)}/pulls/{pull.number}",
            "head": end(pull.head_repository, pull.head_ref, pull.head_sha),
            "base": end(pull.repository, pull.base_ref, pull.base_sha),
        }
        for pull in made.repository.pulls()
        if pull.state == "open" and pull.head_sha == made.head_sha
    ]
