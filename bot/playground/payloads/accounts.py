"""Accounts, Apps, installations and repositories."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import quote

from bot.playground.models import AccessToken, App, HostedAccount, HostedInstallation, HostedRepository, RepositoryRole
from bot.playground.world import World

JsonObject = dict[str, object]

_USER_LINKS = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}


def when(moment: datetime) -> str:
    """A time as GitHub writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def when_or_null(moment: datetime | None) -> str | None:
    return when(moment) if moment else None


def user(world: World, account: HostedAccount) -> JsonObject:
    """simple-user."""
    api = f"{world.base_url}/users/{quote(account.login)}"
    page = f"apps/{account.app_slug}" if account.app_slug else account.login
    return {
        "login": account.login,
        "id": account.id,
        "node_id": account.node_id,
        "avatar_url": f"{world.base_url}/avatars/u/{account.id}?v=4",
        "gravatar_id": "",
        "url": api,
        "html_url": f"{world.base_url}/{page}",
        **{key: api + tail for key, tail in _USER_LINKS.items()},
        "type": account.type,
        "user_view_type": "public",
        "site_admin": False,
    }


def user_or_null(world: World, account: HostedAccount | None) -> JsonObject | None:
    return user(world, account) if account else None


def profile(world: World, account: HostedAccount) -> JsonObject:
    """public-user."""
    owned = sum(1 for each in world.repositories.values() if each.owner is account and not each.private)
    return {
        **user(world, account),
        "name": account.name,
        "company": None,
        "blog": "",
        "location": None,
        "email": None,
        "hireable": None,
        "bio": None,
        "twitter_username": None,
        "public_repos": owned,
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": when(account.created_at),
        "updated_at": when(account.created_at),
    }


def own_profile(world: World, account: HostedAccount) -> JsonObject:
    """private-user: what users see of their own account."""
    owned = sum(1 for each in world.repositories.values() if each.owner is account and each.private)
    return {
        **profile(world, account),
        "private_gists": 0,
        "total_private_repos": owned,
        "owned_private_repos": owned,
        "disk_usage": 0,
        "collaborators": 0,
        "two_factor_authentication": True,
    }


def organization(world: World, account: HostedAccount) -> JsonObject:
    """organization-simple, as webhooks carry it."""
    api = f"{world.base_url}/orgs/{account.login}"
    return {
        "login": account.login,
        "id": account.id,
        "node_id": account.node_id,
        "url": api,
        "repos_url": f"{api}/repos",
        "events_url": f"{api}/events",
        "hooks_url": f"{api}/hooks",
        "issues_url": f"{api}/issues",
        "members_url": f"{api}/members{{/member}}",
        "public_members_url": f"{api}/public_members{{/member}}",
        "avatar_url": f"{world.base_url}/avatars/u/{account.id}?v=4",
        "description": "",
    }


def app(world: World, made: App) -> JsonObject:
    """integration."""
    return {
        "id": made.id,
        "client_id": made.client_id,
        "slug": made.slug,
        "node_id": made.node_id,
        "owner": user(world, made.owner),
        "name": made.name,
        "description": "",
        "external_url": made.webhook_url or world.base_url,
        "html_url": f"{world.base_url}/apps/{made.slug}",
        "created_at": when(made.created_at),
        "updated_at": when(made.created_at),
        "permissions": dict(made.permissions),
        "events": list(made.events),
    }


def app_or_null(world: World, made: App | None) -> JsonObject | None:
    return app(world, made) if made else None


def own_app(world: World, made: App) -> JsonObject:
    """integration, as the App itself sees it."""
    installed = sum(1 for each in world.installations.values() if each.app is made)
    return {**app(world, made), "installations_count": installed}


def installation(world: World, made: HostedInstallation) -> JsonObject:
    return {
        "id": made.id,
        "client_id": made.app.client_id,
        "account": user(world, made.account),
        "repository_selection": "selected",
        "access_tokens_url": f"{world.base_url}/app/installations/{made.id}/access_tokens",
        "repositories_url": f"{world.base_url}/installation/repositories",
        "html_url": f"{world.base_url}/settings/installations/{made.id}",
        "app_id": made.app.id,
        "app_slug": made.app.slug,
        "target_id": made.account.id,
        "target_type": made.account.type,
        "permissions": dict(made.app.permissions),
        "events": list(made.app.events),
        "created_at": when(made.created_at),
        "updated_at": when(made.created_at),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": None,
        "suspended_at": None,
    }


def token(made: AccessToken) -> JsonObject:
    """installation-token, without its repositories."""
    return {
        "token": made.value,
        "expires_at": when_or_null(made.expires_at),
        "permissions": dict(made.permissions),
        "repository_selection": "selected",
    }


def permissions(role: RepositoryRole) -> JsonObject:
    """A role as the five switches that GitHub shows."""
    return {
        "admin": role >= RepositoryRole.ADMIN,
        "maintain": role >= RepositoryRole.MAINTAIN,
        "push": role >= RepositoryRole.WRITE,
        "triage": role >= RepositoryRole.TRIAGE,
        "pull": role >= RepositoryRole.READ,
    }


def collaborator_permission(world: World, account: HostedAccount, role: RepositoryRole) -> JsonObject:
    """repository-collaborator-permission: the old word (maintain is write, triage is read) beside the role's name."""
    old = {RepositoryRole.MAINTAIN: RepositoryRole.WRITE, RepositoryRole.TRIAGE: RepositoryRole.READ}.get(role, role)
    shown = {**user(world, account), "permissions": permissions(role), "role_name": role.word}
    return {"permission": old.word, "role_name": role.word, "user": shown}


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


def api(world: World, repository: HostedRepository) -> str:
    """The repository's address in the API."""
    return f"{world.base_url}/repos/{repository.full_name}"


def web(world: World, repository: HostedRepository) -> str:
    """The repository's page."""
    return f"{world.base_url}/{repository.full_name}"


def repository(world: World, made: HostedRepository) -> JsonObject:
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


def _switches(made: HostedRepository) -> JsonObject:
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


def full_repository(world: World, made: HostedRepository, role: RepositoryRole) -> JsonObject:
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


def stub(made: HostedRepository) -> JsonObject:
    """The five facts that an installation event carries."""
    return {
        "id": made.id,
        "node_id": made.node_id,
        "name": made.name,
        "full_name": made.full_name,
        "private": made.private,
    }
