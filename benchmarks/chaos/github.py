"""The stand-in for GitHub with faults: a share of its answers, outages, revoked tokens, and webhooks for several web processes."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
from msgspec.structs import replace

from bot.playground.api import PlaygroundRequest, PlaygroundResponse
from bot.playground.issues import set_state
from bot.playground.models import ActingAccount, HostedPull, Webhook, WebhookDelivery
from bot.playground.pulls import pushed
from bot.playground.server import Playground, as_bytes
from bot.playground.webhooks import headers_of

PRODUCT = re.compile(r"apprentice|git/")
HELD_SECONDS = 32.0
"""Longer than the product waits for an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultShares:
    """Of the product's requests: those answered 5xx, half of them after their effect.

    Of the writes among these, `late` have their effect up to `latest` seconds after the answer, and `held` are answered
    after our time-out.
    """

    failing: float = 0.1
    late: float = 0.2
    held: float = 0.02
    latest: float = 60.0


class ChaoticGitHub(Playground):
    """A playground that fails. What users do never does, and happens in the thread that made this."""

    def __init__(self, webhooks: Sequence[str], faults: FaultShares, rng: random.Random) -> None:
        super().__init__()
        self._urls, self._faults, self._rng = list(webhooks), faults, rng
        self._client = httpx.Client(
            timeout=10.0, trust_env=False, limits=httpx.Limits(max_connections=16, max_keepalive_connections=0)
        )
        self._posts = ThreadPoolExecutor(8, thread_name_prefix="webhooks")
        self._users = threading.get_ident()
        self._tokens: dict[str, str] = {}
        self._counting = threading.Lock()
        self._late = list[threading.Timer]()
        self.counts = Counter[str]()
        self.sent: dict[str, Webhook] = {}
        self.accepted: set[str] = set()
        self.late_checks: set[str] = set()
        self.away = False
        self.on_time = False
        self.world.send = self._send

    # Users.

    def act(self, login: str, method: str, path: str, **body: object) -> Any:  # noqa: ANN401 - JSON's edge
        """What a user does on GitHub's pages."""
        token = self._tokens.get(login) or self._tokens.setdefault(login, self.token_for(login))
        headers = {"authorization": f"Bearer {token}"}
        asked = PlaygroundRequest(method=method, path=path, query="", headers=headers, body=json.dumps(body).encode())
        answer = super().answer(asked)
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.body[:300]!r}"
        return json.loads(answer.body) if answer.body else None

    def commit(self, full_name: str, login: str, branch: str, files: Mapping[str, str]) -> str:
        """Push a commit to a branch, which is made of the default branch when new."""
        with self.world.lock:
            where, who = self.world.repository(*full_name.split("/")), self.world.user(login)
            parent = where.git.branch(branch) or where.git.branch(where.default_branch)
            sha = where.git.edit(parent, as_bytes(files), "Work", who.git_identity, who.git_identity)
            where.git.set_ref(f"refs/heads/{branch}", sha)
            pushed(self.world, where, ActingAccount(user=who), f"refs/heads/{branch}", sha)
            return sha

    def close(self, pull: HostedPull, login: str) -> None:
        """Close it without a merge."""
        with self.world.lock:
            set_state(self.world, pull, ActingAccount(user=self.world.user(login)), "closed")

    # Faults.

    def answer(self, request: PlaygroundRequest) -> PlaygroundResponse:
        """The product's requests fail by lot; a user's do not come here."""
        if not PRODUCT.match(request.headers.get("user-agent", "")):
            return super().answer(request)
        self._count("requests")
        if self.away:
            return self._failure("in an outage", 503)
        write = request.method != "GET" and not request.path.endswith("/git-upload-pack")
        draw, kind = self._rng.random(), self._rng.random()
        if draw < self._faults.failing / 2:
            return self._failure("before the effect", self._rng.choice((500, 502, 503)))
        if draw >= self._faults.failing:
            return super().answer(request)
        if write and not self.on_time and kind < self._faults.late:
            return self._too_late(request, held=kind < self._faults.held)
        super().answer(request)
        return self._failure("after the effect", self._rng.choice((500, 502, 504)))

    def _too_late(self, request: PlaygroundRequest, *, held: bool) -> PlaygroundResponse:
        if request.path.endswith("/check-runs"):
            self.late_checks.add(str(json.loads(request.body).get("external_id")))
        wait = HELD_SECONDS if held else self._rng.uniform(1.0, self._faults.latest)
        timer = threading.Timer(wait, super().answer, [request])
        timer.start()
        self._late.append(timer)
        if held:
            time.sleep(HELD_SECONDS)
        return self._failure("after our time-out" if held else "before a late effect", 504)

    def _failure(self, when: str, status: int) -> PlaygroundResponse:
        self._count(f"5xx {when}")
        headers = {"Content-Type": "application/json; charset=utf-8"}
        return PlaygroundResponse(status=status, headers=headers, body=b'{"message":"Server Error"}')

    def _count(self, what: str) -> None:
        with self._counting:
            self.counts[what] += 1

    def await_late(self) -> None:
        """Wait until everything that was to be late has happened."""
        for timer in tuple(self._late):
            timer.join()

    def revoke_tokens(self) -> None:
        """GitHub takes no token any more that was minted for one repository, whatever it is used for just now."""
        with self.world.lock:
            minted = [each for each in self.world.tokens.values() if each.installation]
            if minted:
                chosen = self._rng.choice(minted).repository_ids
                for token in [each for each in minted if each.repository_ids == chosen]:
                    del self.world.tokens[token.value]
                self._count("repositories whose tokens were revoked")

    def move_log(self, seconds: float) -> None:
        """Make the attempts to deliver webhooks older."""
        with self.world.lock:
            past = timedelta(seconds=seconds)
            self.world.deliveries[:] = [
                replace(each, delivered_at=each.delivered_at - past) for each in self.world.deliveries
            ]

    # Webhooks.

    def _send(self, notice: Webhook) -> None:
        if not notice.app.webhook_url:
            return
        self.sent[notice.guid] = notice
        by_user = threading.get_ident() == self._users
        self._count("redeliveries" if notice.redelivery else "by users" if by_user else "by what Apprentice did")
        twice = by_user and self._rng.random() < 0.02
        for _ in range(2 if twice else 1):
            self._posts.submit(self._post, notice)

    def _post(self, notice: Webhook) -> None:
        """As a balancer does: the other web process gets what one did not accept a connection for, and nothing is repeated."""
        began, at = time.monotonic(), self.world.now()
        first = self._rng.randrange(len(self._urls))
        status, code = "failed to connect to host", 502
        for url in self._urls[first:] + self._urls[:first]:
            try:
                code = self._client.post(url, headers=headers_of(notice), content=notice.body).status_code
                status = "OK"
                break
            except httpx.ConnectError:
                continue
            except httpx.HTTPError:
                break
        with self.world.lock:
            if code == 202:
                self.accepted.add(notice.guid)
            self._count(f"answered {code}")
            self.world.deliveries.append(
                WebhookDelivery(
                    id=self.world.next_id(),
                    notice=notice,
                    delivered_at=at,
                    duration=time.monotonic() - began,
                    status=status,
                    status_code=code,
                )
            )

    def __enter__(self) -> ChaoticGitHub:
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._posts.shutdown()
        self._client.close()
        super().__exit__(*error)
