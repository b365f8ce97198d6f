"""Accounts, Apps and installations."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import quote

from bot.playground.accounts import App, Installation, Role, Token, User
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


def user(world: World, account: User) -> JsonObject:
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


def user_or_null(world: World, account: User | None) -> JsonObject | None:
    return user(world, account) if account else None


def profile(world: World, account: User) -> JsonObject:
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


def own_profile(world: World, account: User) -> JsonObject:
    """private-user: what a person sees of themselves."""
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


def organization(world: World, account: User) -> JsonObject:
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


def installation(world: World, made: Installation) -> JsonObject:
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


def token(made: Token) -> JsonObject:
    """installation-token, without its repositories."""
    return {
        "token": made.value,
        "expires_at": when_or_null(made.expires_at),
        "permissions": dict(made.permissions),
        "repository_selection": "selected",
    }


def permissions(role: Role) -> JsonObject:
    """A role as the five switches that GitHub shows."""
    return {
        "admin": role >= Role.ADMIN,
        "maintain": role >= Role.MAINTAIN,
        "push": role >= Role.WRITE,
        "triage": role >= Role.TRIAGE,
        "pull": role >= Role.READ,
    }


def collaborator_permission(world: World, account: User, role: Role) -> JsonObject:
    """repository-collaborator-permission: the old word (maintain is write, triage is read) beside the role's name."""
    old = {Role.MAINTAIN: Role.WRITE, Role.TRIAGE: Role.READ}.get(role, role)
    shown = {**user(world, account), "permissions": permissions(role), "role_name": role.word}
    return {"permission": old.word, "role_name": role.word, "user": shown}
