"""Accounts, Apps, repositories and what git holds in them, as GitHub's JSON shows them. The names are GitHub's schemas."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from pathlib import Path
from urllib.parse import quote

import yaml

from bot.playground.git import EMPTY_TREE, ZERO, ChangedFile, CommitInfo, GitIdentity
from bot.playground.models import (
    ActingAccount,
    App,
    HostedAccount,
    HostedInstallation,
    HostedRepository,
    RepositoryRole,
    node_id,
)
from bot.playground.world import World

JsonObject = dict[str, object]


@cache
def _known_fields() -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = yaml.safe_load(Path(__file__).with_name("payload_fields.yaml").read_text())
    return found


def fields(kind: str, api: str = "", page: str = "") -> JsonObject:
    """The fields of payload_fields.yaml for this kind of object, at its address in the API and that of its page."""
    bases = {"+": api, "@": page}

    def value_of(value: object) -> object:
        is_address = isinstance(value, str) and value[:1] in bases and value
        return bases[value[0]] + value[1:] if is_address and isinstance(value, str) else value

    return {name: value_of(value) for name, value in _known_fields()[kind].items()}


def when(moment: datetime) -> str:
    """A time as GitHub writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def when_or_null(moment: datetime | None) -> str | None:
    return when(moment) if moment else None


# Accounts.


def user(world: World, account: HostedAccount) -> JsonObject:
    """simple-user."""
    page = f"apps/{account.app_slug}" if account.app_slug else account.login
    return {
        "login": account.login,
        "id": account.id,
        "node_id": account.node_id,
        "avatar_url": f"{world.base_url}/avatars/u/{account.id}?v=4",
        "type": account.type,
        **fields("user", f"{world.base_url}/users/{quote(account.login)}", f"{world.base_url}/{page}"),
    }


def user_or_null(world: World, account: HostedAccount | None) -> JsonObject | None:
    return user(world, account) if account else None


def organization(world: World, account: HostedAccount) -> JsonObject:
    """organization-simple, as webhooks carry it."""
    return {
        "login": account.login,
        "id": account.id,
        "node_id": account.node_id,
        "avatar_url": f"{world.base_url}/avatars/u/{account.id}?v=4",
        **fields("organization", f"{world.base_url}/orgs/{account.login}"),
    }


# Apps, installations, tokens and deliveries.


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


def installation(world: World, made: HostedInstallation) -> JsonObject:
    home = world.base_url
    return {
        "id": made.id,
        "client_id": made.app.client_id,
        "account": user(world, made.account),
        "repositories_url": f"{home}/installation/repositories",
        "app_id": made.app.id,
        "app_slug": made.app.slug,
        "target_id": made.account.id,
        "target_type": made.account.type,
        "permissions": dict(made.app.permissions),
        "events": list(made.app.events),
        "created_at": when(made.created_at),
        "updated_at": when(made.created_at),
        **fields("installation", f"{home}/app/installations/{made.id}", f"{home}/settings/installations/{made.id}"),
    }


# Repositories and roles.


def api(world: World, repository: HostedRepository) -> str:
    """The repository's address in the API."""
    return f"{world.base_url}/repos/{repository.full_name}"


def web(world: World, repository: HostedRepository) -> str:
    """The repository's page."""
    return f"{world.base_url}/{repository.full_name}"


def permissions(role: RepositoryRole) -> JsonObject:
    """A role as the five switches that GitHub shows."""
    switches = {"admin": "ADMIN", "maintain": "MAINTAIN", "push": "WRITE", "triage": "TRIAGE", "pull": "READ"}
    return {name: role >= RepositoryRole[needed] for name, needed in switches.items()}


def repository_stub(made: HostedRepository) -> JsonObject:
    """The five fields that an installation event carries."""
    names = {"id": made.id, "node_id": made.node_id, "name": made.name, "full_name": made.full_name}
    return {**names, "private": made.private}


def repository(world: World, made: HostedRepository) -> JsonObject:
    """repository, as other objects and webhooks carry it."""
    forks = sum(1 for each in world.repositories.values() if each.parent is made)
    still_open = sum(1 for issue in made.issues.values() if issue.state == "open")
    host = world.base_url.removeprefix("http://")
    return {
        **repository_stub(made),
        "owner": user(world, made.owner),
        "description": made.description or None,
        "fork": made.parent is not None,
        **fields("repository", api(world, made), web(world, made)),
        "git_url": f"git://{host}/{made.full_name}.git",
        "ssh_url": f"git@{host.split(':')[0]}:{made.full_name}.git",
        "forks_count": forks,
        "forks": forks,
        "open_issues_count": still_open,
        "open_issues": still_open,
        "visibility": "private" if made.private else "public",
        "default_branch": made.default_branch,
        "created_at": when(made.created_at),
        "updated_at": when(made.pushed_at),
        "pushed_at": when(made.pushed_at),
    }


# What git holds.


def _account_of(world: World, identity: GitIdentity) -> HostedAccount | None:
    """The account that a commit's e-mail address belongs to."""
    return next((each for each in world.users.values() if each.git_identity.email == identity.email), None)


def _signature(identity: GitIdentity, at: datetime) -> JsonObject:
    return {"name": identity.name, "email": identity.email, "date": when(at)}


def commit(world: World, made: HostedRepository, info: CommitInfo) -> JsonObject:
    """commit, without its files."""
    home, page = f"{api(world, made)}/commits", f"{web(world, made)}/commit"
    return {
        "sha": info.sha,
        "node_id": f"C_{node_id('', made.id)[1:]}{info.sha[:12]}",
        "commit": {
            "author": _signature(info.author, info.authored_at),
            "committer": _signature(info.committer, info.committed_at),
            "message": info.message,
            "tree": {"sha": info.tree, "url": f"{api(world, made)}/git/trees/{info.tree}"},
            "url": f"{api(world, made)}/git/commits/{info.sha}",
            "comment_count": 0,
            "verification": fields("verification"),
        },
        **fields("commit", f"{home}/{info.sha}", f"{page}/{info.sha}"),
        "author": user_or_null(world, _account_of(world, info.author)),
        "committer": user_or_null(world, _account_of(world, info.committer)),
        "parents": [{"sha": sha, "url": f"{home}/{sha}", "html_url": f"{page}/{sha}"} for sha in info.parents],
    }


def file_change(world: World, made: HostedRepository, change: ChangedFile, head: str) -> JsonObject:
    """diff-entry."""
    page = web(world, made)
    optional = {"previous_filename": change.previous, "patch": change.patch}
    return {
        "sha": change.sha,
        "filename": change.path,
        "status": change.status,
        "additions": change.additions,
        "deletions": change.deletions,
        "changes": change.additions + change.deletions,
        "blob_url": f"{page}/blob/{head}/{change.path}",
        "raw_url": f"{page}/raw/{head}/{change.path}",
        "contents_url": f"{api(world, made)}/contents/{change.path}?ref={head}",
        **{name: value for name, value in optional.items() if value},
    }


def push(world: World, where: HostedRepository, who: ActingAccount, ref: str, before: str, after: str) -> JsonObject:
    """What a push event has beside its sender. At most 2,048 commits, as on GitHub."""
    created, deleted = before == ZERO, after == ZERO
    base = before if not created else where.git.branch(where.default_branch)
    after = after if deleted else where.git.resolve(after) or after
    new = [] if deleted or base == after else where.git.log(base, after, 2048)
    owner = {**user(world, where.owner), "name": where.owner.login, "email": where.owner.git_identity.email}
    extra = {
        "created_at": int(where.created_at.timestamp()),
        "pushed_at": int(where.pushed_at.timestamp()),
        "owner": owner,
        "stargazers": 0,
        "master_branch": where.default_branch,
        "url": web(world, where),
    }
    return {
        "ref": ref,
        "before": before,
        "after": after,
        "created": created,
        "deleted": deleted,
        "forced": not created and not deleted and not where.git.is_ancestor(before, after),
        "base_ref": None,
        "compare": f"{web(world, where)}/compare/{before[:12]}...{after[:12]}",
        "commits": [_push_commit(world, where, info) for info in new],
        "head_commit": None if deleted else _push_commit(world, where, where.git.commit(after)),
        "repository": {**repository(world, where), **extra},
        "pusher": {"name": who.user.login, "email": who.user.git_identity.email},
    }


def _push_commit(world: World, where: HostedRepository, info: CommitInfo) -> JsonObject:
    changes = where.git.changes(info.parents[0] if info.parents else EMPTY_TREE, info.sha)

    def paths(*kinds: str) -> list[str]:
        return [each.path for each in changes if each.status in kinds]

    return {
        "id": info.sha,
        "tree_id": info.tree,
        "distinct": True,
        "message": info.message,
        "timestamp": info.committed_at.isoformat(),
        "url": f"{web(world, where)}/commit/{info.sha}",
        "author": _push_identity(world, info.author),
        "committer": _push_identity(world, info.committer),
        "added": paths("added", "copied"),
        "removed": paths("removed"),
        "modified": paths("modified", "renamed", "changed"),
    }


def _push_identity(world: World, identity: GitIdentity) -> JsonObject:
    known = _account_of(world, identity)
    return {"name": identity.name, "email": identity.email, **({"username": known.login} if known else {})}
