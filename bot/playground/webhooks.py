"""Delivering webhooks: signed, once, never repeated by themselves, as GitHub does it."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import threading
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from bot.playground.models import Webhook, WebhookDelivery
from bot.playground.world import World

TIMEOUT = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    status: str
    code: int


def signature(secret: str, body: bytes, algorithm: str = "sha256") -> str:
    """The X-Hub-Signature-256 header of a body (X-Hub-Signature with sha1)."""
    return f"{algorithm}={hmac.new(secret.encode(), body, algorithm).hexdigest()}"


def headers_of(notice: Webhook) -> dict[str, str]:
    """What GitHub sends beside the body."""
    app = notice.app
    hook = hashlib.sha1(app.slug.encode(), usedforsecurity=False).hexdigest()[:7]
    signed = {
        "X-Hub-Signature": signature(app.webhook_secret, notice.body, "sha1"),
        "X-Hub-Signature-256": signature(app.webhook_secret, notice.body),
    }
    return {
        "Accept": "*/*",
        "Content-Type": "application/json",
        "User-Agent": f"GitHub-Hookshot/{hook}",
        "X-GitHub-Delivery": notice.guid,
        "X-GitHub-Event": notice.event,
        "X-GitHub-Hook-ID": str(app.hook_id),
        "X-GitHub-Hook-Installation-Target-ID": str(app.id),
        "X-GitHub-Hook-Installation-Target-Type": "integration",
        **(signed if app.webhook_secret else {}),
    }


class WebhookSender:
    """A thread that empties the world's outbox, in order."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._thread = threading.Thread(target=self._work, name="playground-webhooks", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Deliver what is waiting, then end."""
        self._world.outbox.put(None)
        self._thread.join()

    def drain(self, timeout: float) -> None:
        """Wait until every webhook queued so far has been tried; raises TimeoutError."""
        barrier = threading.Event()
        self._world.outbox.put(barrier)
        if not barrier.wait(timeout):
            raise TimeoutError(f"webhooks were still waiting after {timeout} s")

    def _work(self) -> None:
        while (item := self._world.outbox.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
            else:
                self._deliver(item)

    def _deliver(self, notice: Webhook) -> None:
        began, at = time.monotonic(), self._world.now()
        reply = _post(notice.app.webhook_url, headers_of(notice), notice.body)
        delivery = WebhookDelivery(
            id=self._world.next_id("delivery"),
            notice=notice,
            delivered_at=at,
            duration=round(time.monotonic() - began, 2),
            status=reply.status,
            status_code=reply.code,
        )
        with self._world.lock:
            self._world.deliveries.append(delivery)


def _post(url: str, headers: dict[str, str], body: bytes) -> _Reply:
    parts = urlsplit(url)
    if not parts.hostname:
        return _Reply(status="no webhook url", code=0)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=TIMEOUT)
    try:
        connection.request("POST", parts.path or "/", body, headers)
        answer = connection.getresponse()
        answer.read()
    except TimeoutError:
        return _Reply(status="timed out", code=504)
    except (OSError, http.client.HTTPException):
        return _Reply(status="failed to connect to host", code=502)
    finally:
        connection.close()
    good = 200 <= answer.status < 300
    status = "OK" if good else f"Invalid HTTP Response: {answer.status}"
    return _Reply(status=status, code=answer.status)
