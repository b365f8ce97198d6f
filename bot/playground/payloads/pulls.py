"""Pull requests, reviews, review comments and threads."""

from __future__ import annotations

from bot.playground.models import HostedIssue, HostedPull, HostedRepository, HostedReview, HostedThread, ReviewComment
from bot.playground.payloads.accounts import JsonObject, api, repository, user, user_or_null, when, when_or_null
from bot.playground.payloads.issues import association, label, page, rollup
from bot.playground.world import World


def pull_of(made: HostedIssue) -> HostedPull:
    """The pull request's own part; the issue must be one."""
    assert made.pull is not None
    return made.pull


def _links(world: World, made: HostedIssue) -> dict[str, str]:
    home = api(world, made.repository)
    url = f"{home}/pulls/{made.number}"
    return {
        "self": url,
        "html": page(world, made),
        "issue": f"{home}/issues/{made.number}",
        "comments": f"{home}/issues/{made.number}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{home}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{home}/statuses/{pull_of(made).head_sha}",
    }


def _end(world: World, where: HostedRepository, ref: str, sha: str) -> JsonObject:
    return {
        "label": f"{where.owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user(world, where.owner),
        "repo": {**repository(world, where), **_merge_switches()},
    }


def _merge_switches() -> JsonObject:
    return {
        "allow_squash_merge": True,
        "allow_merge_commit": True,
        "allow_rebase_merge": True,
        "allow_auto_merge": False,
        "delete_branch_on_merge": False,
        "allow_update_branch": False,
        "use_squash_pr_title_as_default": False,
        "squash_merge_commit_message": "COMMIT_MESSAGES",
        "squash_merge_commit_title": "COMMIT_OR_PR_TITLE",
        "merge_commit_message": "PR_TITLE",
        "merge_commit_title": "MERGE_MESSAGE",
    }


def simple_pull(world: World, made: HostedIssue) -> JsonObject:
    """pull-request-simple: what lists and review events carry."""
    pull, links = pull_of(made), _links(world, made)
    return {
        "id": pull.id,
        "node_id": pull.node_id,
        "number": made.number,
        "url": links["self"],
        "html_url": links["html"],
        "diff_url": f"{links['html']}.diff",
        "patch_url": f"{links['html']}.patch",
        "issue_url": links["issue"],
        **{f"{name}_url": links[name] for name in links if name not in ("self", "html", "issue")},
        "state": made.state,
        "locked": False,
        "active_lock_reason": None,
        "title": made.title,
        "body": made.body,
        "user": user(world, made.author),
        "author_association": association(made.author, made.repository),
        "labels": [label(world, made.repository, each) for each in made.labels],
        "milestone": None,
        "assignee": user(world, made.assignees[0]) if made.assignees else None,
        "assignees": [user(world, each) for each in made.assignees],
        "requested_reviewers": [],
        "requested_teams": [],
        "created_at": when(made.created_at),
        "updated_at": when(made.updated_at),
        "closed_at": when_or_null(made.closed_at),
        "merged_at": when_or_null(pull.merged_at),
        "merge_commit_sha": pull.merge_sha,
        "head": _end(world, pull.head_repository, pull.head_ref, pull.head_sha),
        "base": _end(world, made.repository, pull.base_ref, pull.base_sha),
        "_links": {name: {"href": url} for name, url in links.items()},
        "auto_merge": None,
        "draft": pull.draft,
    }


def full_pull(world: World, made: HostedIssue) -> JsonObject:
    """pull-request, with what takes git to find out."""
    pull, bare = pull_of(made), made.repository.git
    start = bare.merge_base(pull.base_sha, pull.head_sha) or pull.base_sha
    files = bare.changes(start, pull.head_sha)
    mergeable = None if made.state == "closed" else bare.merged_tree(pull.base_sha, pull.head_sha) is not None
    state = "unknown" if mergeable is None else "draft" if pull.draft else "clean" if mergeable else "dirty"
    return {
        **simple_pull(world, made),
        "merged": pull.merged_at is not None,
        "mergeable": mergeable,
        "rebaseable": mergeable,
        "mergeable_state": state,
        "merged_by": user_or_null(world, pull.merged_by),
        "comments": len(made.comments),
        "review_comments": sum(len(thread.comments) for thread in pull.threads),
        "maintainer_can_modify": pull.head_repository is not made.repository,
        "commits": bare.count(start, pull.head_sha),
        "additions": sum(each.additions for each in files),
        "deletions": sum(each.deletions for each in files),
        "changed_files": len(files),
    }


def review(world: World, made: HostedReview) -> JsonObject:
    """pull-request-review."""
    shown = f"{page(world, made.issue)}#pullrequestreview-{made.id}"
    url = f"{api(world, made.issue.repository)}/pulls/{made.issue.number}"
    return {
        "id": made.id,
        "node_id": made.node_id,
        "user": user(world, made.author),
        "body": made.body,
        "state": made.state,
        "html_url": shown,
        "pull_request_url": url,
        "author_association": association(made.author, made.issue.repository),
        "_links": {"html": {"href": shown}, "pull_request": {"href": url}},
        "submitted_at": when(made.submitted_at),
        "commit_id": made.sha,
    }


def review_event(world: World, made: HostedReview) -> JsonObject:
    """A review as webhooks carry it: the state in small letters, null for an empty body."""
    return {
        **review(world, made),
        "body": made.body or None,
        "state": made.state.lower(),
        "updated_at": when(made.updated_at),
    }


def review_comment(world: World, made: ReviewComment) -> JsonObject:
    """pull-request-review-comment."""
    issue = made.thread.issue
    home = api(world, issue.repository)
    url = f"{home}/pulls/comments/{made.id}"
    shown = f"{page(world, issue)}#discussion_r{made.id}"
    above = f"{home}/pulls/{issue.number}"
    answered: JsonObject = {"in_reply_to_id": made.reply_to} if made.reply_to else {}
    return {
        "id": made.id,
        "node_id": made.node_id,
        "url": url,
        "html_url": shown,
        "pull_request_url": above,
        "pull_request_review_id": made.review.id,
        "diff_hunk": made.hunk,
        "path": made.path,
        "commit_id": made.sha,
        "original_commit_id": made.original_sha,
        **answered,
        "user": user(world, made.author),
        "body": made.body,
        "created_at": when(made.created_at),
        "updated_at": when(made.updated_at),
        "author_association": association(made.author, issue.repository),
        "_links": {"self": {"href": url}, "html": {"href": shown}, "pull_request": {"href": above}},
        "reactions": rollup(url, made.reactions),
        "start_line": made.start_line,
        "original_start_line": made.original_start_line,
        "start_side": made.side if made.original_start_line is not None else None,
        "line": made.line,
        "original_line": made.original_line,
        "side": made.side,
        "position": made.position,
        "original_position": made.original_position,
        "subject_type": "line",
    }


def review_list_comment(world: World, made: ReviewComment) -> JsonObject:
    """A comment as the list of one review's comments has it: without the lines, only positions."""
    hidden = {"start_line", "original_start_line", "start_side", "line", "original_line", "side", "subject_type"}
    return {key: value for key, value in review_comment(world, made).items() if key not in hidden}


def thread(world: World, made: HostedThread) -> JsonObject:
    """A thread as webhooks carry it."""
    return {"node_id": made.node_id, "comments": [review_comment(world, each) for each in made.comments]}
