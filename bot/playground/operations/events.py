"""Webhooks: who hears of what."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping

from bot.playground.models import App, HostedAccount, HostedInstallation, HostedRepository, Webhook, node_id
from bot.playground.payloads.accounts import JsonObject, installation, organization, repository, stub, user
from bot.playground.world import World

ZEN = "Speak like a human."


def announce(
    world: World, where: HostedRepository, sender: HostedAccount, event: str, action: str | None, **parts: object
) -> None:
    """Queue the webhook for every App that is installed on the repository and listens to this event."""
    listening = [each for each in world.installations_on(where) if event in each.app.events]
    if not listening:
        return
    shared: JsonObject = {**({"action": action} if action else {}), **parts}
    shared.setdefault("repository", repository(world, where))
    if where.owner.type == "Organization":
        shared["organization"] = organization(world, where.owner)
    shared["sender"] = user(world, sender)
    for each in listening:
        source = {"id": each.id, "node_id": node_id("MDIzOk", each.id)}
        _queue(world, each.app, event, action, {**shared, "installation": source}, each.id, where.id)


def announce_installation(world: World, made: HostedInstallation, action: str, sender: HostedAccount) -> None:
    """The `installation` event, which every App gets."""
    covered = [stub(world.repositories[number]) for number in sorted(made.repository_ids)]
    body = {
        "action": action,
        "installation": installation(world, made),
        "repositories": covered,
        "requester": None,
        "sender": user(world, sender),
    }
    _queue(world, made.app, "installation", action, body, made.id, None)


def announce_installation_change(
    world: World,
    made: HostedInstallation,
    sender: HostedAccount,
    added: list[HostedRepository],
    removed: list[HostedRepository],
) -> None:
    """The `installation_repositories` event."""
    action = "added" if added else "removed"
    body = {
        "action": action,
        "installation": installation(world, made),
        "repository_selection": "selected",
        "repositories_added": [stub(each) for each in added],
        "repositories_removed": [stub(each) for each in removed],
        "requester": None,
        "sender": user(world, sender),
    }
    _queue(world, made.app, "installation_repositories", action, body, made.id, None)


def ping(world: World, app: App) -> None:
    """The `ping` that a new webhook gets."""
    config = {"content_type": "json", "insecure_ssl": "0", "secret": "********", "url": app.webhook_url}
    stamp = app.created_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    hook = {
        "type": "App",
        "id": app.hook_id,
        "name": "web",
        "active": True,
        "events": list(app.events),
        "config": config,
        "updated_at": stamp,
        "created_at": stamp,
        "app_id": app.id,
        "deliveries_url": f"{world.base_url}/app/hook/deliveries",
    }
    _queue(world, app, "ping", None, {"zen": ZEN, "hook_id": app.hook_id, "hook": hook}, None, None)


def _queue(
    world: World,
    app: App,
    event: str,
    action: str | None,
    body: Mapping[str, object],
    installation_id: int | None,
    repository_id: int | None,
) -> None:
    notice = Webhook(
        guid=str(uuid.uuid4()),
        app=app,
        event=event,
        action=action,
        body=json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode(),
        installation_id=installation_id,
        repository_id=repository_id,
    )
    world.outbox.put(notice)
