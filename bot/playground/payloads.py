"""Accounts, Apps, repositories and what git holds in them, as GitHub's JSON shows them. The names are GitHub's schemas."""

from datetime import datetime
from functools import cache
from operator import attrgetter
from pathlib import Path
from urllib.parse import quote

import yaml

from bot.playground.git import CommitInfo, GitIdentity
from bot.playground.models import (
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


def shown(world: World, kind: str, made: object, api: str = "", page: str = "", /, **computed: object) -> JsonObject:
    """The fields of payload_fields.yaml for this kind of object, at its address in the API and that of its page."""

    def value_of(value: object) -> object:
        match value:
            case str() if value.startswith("="):
                return json_of(world, attrgetter(value[1:])(made))
            case str() if value.startswith("+"):
                return api + value[1:]
            case str() if value.startswith("@"):
                return page + value[1:]
            case _:
                return value

    return {name: value_of(value) for name, value in _known_fields()[kind].items()} | computed


def json_of(world: World, value: object) -> object:
    """An attribute's value as GitHub shows it."""
    match value:
        case datetime():
            return when(value)
        case HostedAccount():
            return user(world, value)
        case App():
            return app(world, value)
        case list() | tuple():
            return [json_of(world, each) for each in value]
        case _:
            return value


def when(moment: datetime) -> str:
    """A time as GitHub writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def user(world: World, account: HostedAccount) -> JsonObject:
    """simple-user."""
    home, page = world.base_url, f"apps/{account.app_slug}" if account.app_slug else account.login
    return shown(world, "user", account, f"{home}/users/{quote(account.login)}", f"{home}/{page}")


def app(world: World, made: App) -> JsonObject:
    """integration."""
    return shown(world, "app", made, "", f"{world.base_url}/apps/{made.slug}")


def installation(world: World, made: HostedInstallation) -> JsonObject:
    home = world.base_url
    api, page = f"{home}/app/installations/{made.id}", f"{home}/settings/installations/{made.id}"
    return shown(world, "installation", made, api, page, repositories_url=f"{home}/installation/repositories")


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


def repository(world: World, made: HostedRepository) -> JsonObject:
    """repository, as other objects and webhooks carry it."""
    computed = {"fork": made.parent is not None, "visibility": "private" if made.private else "public"}
    return shown(world, "repository", made, api(world, made), web(world, made), **computed)


# What git holds.


def _signature(identity: GitIdentity, at: datetime) -> JsonObject:
    return {"name": identity.name, "email": identity.email, "date": when(at)}


def commit(world: World, made: HostedRepository, info: CommitInfo) -> JsonObject:
    """commit, without its files."""
    home, page = f"{api(world, made)}/commits", f"{web(world, made)}/commit"
    identified = {
        "author": _signature(info.author, info.authored_at),
        "committer": _signature(info.committer, info.committed_at),
        "message": info.message,
        "tree": {"sha": info.tree, "url": f"{api(world, made)}/git/trees/{info.tree}"},
        "url": f"{api(world, made)}/git/commits/{info.sha}",
        "comment_count": 0,
        "verification": shown(world, "verification", info),
    }
    computed = {
        "node_id": f"C_{node_id('', made.id)[1:]}{info.sha[:12]}",
        "commit": identified,
        "parents": [{"sha": sha, "url": f"{home}/{sha}", "html_url": f"{page}/{sha}"} for sha in info.parents],
    }
    return shown(world, "commit", info, f"{home}/{info.sha}", f"{page}/{info.sha}", **computed)
