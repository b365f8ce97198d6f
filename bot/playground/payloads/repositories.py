"""Repositories."""

from __future__ import annotations

from bot.playground.accounts import Role
from bot.playground.nouns import Repository
from bot.playground.payloads.people import JsonObject, permissions, user, when
from bot.playground.world import World

_LINKS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}


def api(world: World, repository: Repository) -> str:
    """The repository's address in the API."""
    return f"{world.base_url}/repos/{repository.full_name}"


def web(world: World, repository: Repository) -> str:
    """The repository's address for people."""
    return f"{world.base_url}/{repository.full_name}"


def repository(world: World, made: Repository) -> JsonObject:
    """repository, as other objects and webhooks carry it."""
    forks = sum(1 for each in world.repositories.values() if each.parent is made)
    still_open = sum(1 for issue in made.issues.values() if issue.state == "open")
    return {
        "id": made.id,
        "node_id": made.node_id,
        "name": made.name,
        "full_name": made.full_name,
        "private": made.private,
        "owner": user(world, made.owner),
        "html_url": web(world, made),
        "description": made.description or None,
        "fork": made.parent is not None,
        "url": api(world, made),
        **{key: api(world, made) + tail for key, tail in _LINKS.items()},
        "git_url": f"git://{world.base_url.removeprefix('http://')}/{made.full_name}.git",
        "ssh_url": f"git@{world.base_url.removeprefix('http://').split(':')[0]}:{made.full_name}.git",
        "clone_url": f"{web(world, made)}.git",
        "svn_url": web(world, made),
        "mirror_url": None,
        "homepage": None,
        "language": "Python",
        "size": 0,
        "stargazers_count": 0,
        "watchers_count": 0,
        "watchers": 0,
        "forks_count": forks,
        "forks": forks,
        "open_issues_count": still_open,
        "open_issues": still_open,
        **_switches(made),
        "default_branch": made.default_branch,
        "created_at": when(made.created_at),
        "updated_at": when(made.pushed_at),
        "pushed_at": when(made.pushed_at),
    }


def _switches(made: Repository) -> JsonObject:
    return {
        "has_issues": True,
        "has_projects": False,
        "has_wiki": False,
        "has_pages": False,
        "has_downloads": True,
        "has_discussions": False,
        "archived": False,
        "disabled": False,
        "license": None,
        "allow_forking": True,
        "is_template": False,
        "web_commit_signoff_required": False,
        "topics": [],
        "visibility": "private" if made.private else "public",
    }


def full_repository(world: World, made: Repository, role: Role) -> JsonObject:
    """full-repository, as this role sees it."""
    parent = {"parent": repository(world, made.parent), "source": repository(world, made.parent)} if made.parent else {}
    return {
        **repository(world, made),
        **parent,
        "permissions": permissions(role),
        "allow_rebase_merge": True,
        "allow_squash_merge": True,
        "allow_merge_commit": True,
        "allow_auto_merge": False,
        "delete_branch_on_merge": False,
        "allow_update_branch": False,
        "subscribers_count": 0,
        "network_count": 0,
    }


def stub(made: Repository) -> JsonObject:
    """The five facts that an installation event carries."""
    return {
        "id": made.id,
        "node_id": made.node_id,
        "name": made.name,
        "full_name": made.full_name,
        "private": made.private,
    }
