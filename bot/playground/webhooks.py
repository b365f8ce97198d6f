"""Webhooks: which Apps get an event, and the delivery: signed, once, never repeated by itself, as on GitHub."""

import hashlib
import hmac
import json
import time
import uuid
from concurrent.futures import Future, ThreadPoolExecutor

import httpx

from bot.playground import loopback
from bot.playground.models import (
    App,
    HostedAccount,
    HostedInstallation,
    HostedRepository,
    Webhook,
    WebhookDelivery,
    node_id,
)
from bot.playground.payloads import JsonObject, installation, repository, shown, user
from bot.playground.world import World

TIMEOUT = 10.0
ZEN = "Speak like a human."


def announce(
    world: World, repo: HostedRepository, sender: HostedAccount, event: str, action: str | None, **parts: object
) -> None:
    """Queue the webhook for every App that is installed on the repository and subscribed to this event."""
    subscribed = [each for each in world.installations_on(repo) if event in each.app.events]
    if not subscribed:
        return
    shared: JsonObject = {**({"action": action} if action else {}), **parts}
    shared.setdefault("repository", repository(world, repo))
    shared["sender"] = user(world, sender)
    for each in subscribed:
        source = {"id": each.id, "node_id": node_id("MDIzOk", each.id)}
        _queue(world, each.app, event, {**shared, "installation": source}, each.id, repo.id)


def announce_installation(world: World, made: HostedInstallation, event: str, action: str, **parts: object) -> None:
    """An event about an installation, `installation` or `installation_repositories`, which every App gets."""
    shown = {"action": action, "installation": installation(world, made), **parts}
    _queue(world, made.app, event, {**shown, "requester": None, "sender": user(world, made.account)}, made.id)


def ping(world: World, app: App) -> None:
    """The `ping` that a new webhook gets."""
    config = {"content_type": "json", "insecure_ssl": "0", "secret": "********", "url": app.webhook_url}
    deliveries = f"{world.base_url}/app/hook/deliveries"
    hook = shown(world, "hook", app, config=config, deliveries_url=deliveries)
    _queue(world, app, "ping", {"zen": ZEN, "hook_id": app.hook_id, "hook": hook})


def _queue(
    world: World,
    app: App,
    event: str,
    body: JsonObject,
    installation_id: int | None = None,
    repository_id: int | None = None,
) -> None:
    action = body.get("action")
    notice = Webhook(
        guid=str(uuid.uuid4()),
        app=app,
        event=event,
        action=str(action) if action else None,
        body=json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode(),
        installation_id=installation_id,
        repository_id=repository_id,
    )
    world.send(notice)


def headers_of(notice: Webhook) -> dict[str, str]:
    """What GitHub sends beside the body."""
    app = notice.app
    hook = hashlib.sha1(app.slug.encode(), usedforsecurity=False).hexdigest()[:7]
    signature = hmac.new(app.webhook_secret.encode(), notice.body, "sha256").hexdigest()
    return {
        "Accept": "*/*",
        "Content-Type": "application/json",
        "User-Agent": f"GitHub-Hookshot/{hook}",
        "X-GitHub-Delivery": notice.guid,
        "X-GitHub-Event": notice.event,
        "X-GitHub-Hook-ID": str(app.hook_id),
        "X-GitHub-Hook-Installation-Target-ID": str(app.id),
        "X-GitHub-Hook-Installation-Target-Type": "integration",
        **({"X-Hub-Signature-256": f"sha256={signature}"} if app.webhook_secret else {}),
    }


class WebhookSender:
    """Delivers the world's webhooks in their order, in a thread of its own."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="playground-webhooks")
        self._sent: list[Future[None]] = []
        world.send = lambda notice: self._sent.append(self._thread.submit(self._deliver, notice))

    def stop(self) -> None:
        """Deliver what is waiting, then end."""
        self._thread.shutdown()

    def drain(self, timeout: float) -> None:
        """Wait until every webhook queued so far has been tried; raises TimeoutError."""
        for each in tuple(self._sent):
            each.result(timeout)

    def _deliver(self, notice: Webhook) -> None:
        began, at = time.monotonic(), self._world.now()
        status, code = _post(notice.app.webhook_url, headers_of(notice), notice.body)
        delivery = WebhookDelivery(
            id=self._world.next_id(),
            notice=notice,
            delivered_at=at,
            duration=round(time.monotonic() - began, 2),
            status=status,
            status_code=code,
        )
        with self._world.lock:
            self._world.deliveries.append(delivery)


def _post(url: str, headers: dict[str, str], body: bytes) -> tuple[str, int]:
    """The result in GitHub's words, and the status of the answer: 0 without an address."""
    if not url:
        return "no webhook url", 0
    try:
        answer = loopback.request("POST", url, headers=headers, content=body, timeout=TIMEOUT)
    except httpx.TimeoutException:
        return "timed out", 504
    except httpx.HTTPError:
        return "failed to connect to host", 502
    return "OK" if answer.is_success else f"Invalid HTTP Response: {answer.status_code}", answer.status_code
