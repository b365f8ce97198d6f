"""Issues, the conversation, reactions and labels."""

from __future__ import annotations

import re
from html import escape

from bot.playground.models import (
    REACTIONS,
    HostedAccount,
    HostedComment,
    HostedIssue,
    HostedLabel,
    HostedReaction,
    HostedRepository,
    RepositoryRole,
)
from bot.playground.payloads.accounts import JsonObject, api, app_or_null, user, user_or_null, web, when, when_or_null
from bot.playground.world import World


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


def issue(world: World, made: HostedIssue) -> JsonObject:
    """issue; a pull request's conversation too."""
    repository = made.repository
    url = f"{api(world, repository)}/issues/{made.number}"
    return {
        "id": made.id,
        "node_id": made.node_id,
        "url": url,
        "repository_url": api(world, repository),
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": page(world, made),
        "number": made.number,
        "title": made.title,
        "body": made.body,
        "user": user(world, made.author),
        "author_association": association(made.author, repository),
        "state": made.state,
        "state_reason": made.state_reason,
        "labels": [label(world, repository, each) for each in made.labels],
        "assignee": user(world, made.assignees[0]) if made.assignees else None,
        "assignees": [user(world, each) for each in made.assignees],
        "milestone": None,
        "locked": False,
        "active_lock_reason": None,
        "comments": len(made.comments),
        "created_at": when(made.created_at),
        "updated_at": when(made.updated_at),
        "closed_at": when_or_null(made.closed_at),
        "closed_by": user_or_null(world, made.closed_by),
        "performed_via_github_app": app_or_null(world, made.via),
        "reactions": rollup(url, made.reactions),
        **_pull_part(world, made),
    }


_PICTURE = re.compile(r"!\[([^\]]*)\]\((\S+?)\)")


def rendered(made: HostedIssue) -> JsonObject:
    """What the media type `full` adds. Of Markdown only pictures are rendered."""
    text = made.body or ""
    parts = (f'<img src="{escape(url)}" alt="{escape(name)}">' for name, url in _PICTURE.findall(text))
    return {"body_html": f"<p>{escape(_PICTURE.sub('', text))}{''.join(parts)}</p>", "body_text": text}


def issue_event(world: World, made: HostedIssue) -> JsonObject:
    """An issue as webhooks carry it: they do not say who closed it."""
    return {key: value for key, value in issue(world, made).items() if key != "closed_by"}


def page(world: World, made: HostedIssue) -> str:
    """The address of its page."""
    return f"{web(world, made.repository)}/{'pull' if made.pull else 'issues'}/{made.number}"


def _pull_part(world: World, made: HostedIssue) -> JsonObject:
    if made.pull is None:
        return {}
    shown = page(world, made)
    links = {
        "url": f"{api(world, made.repository)}/pulls/{made.number}",
        "html_url": shown,
        "diff_url": f"{shown}.diff",
        "patch_url": f"{shown}.patch",
        "merged_at": when_or_null(made.pull.merged_at),
    }
    return {"draft": made.pull.draft, "pull_request": links}


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
