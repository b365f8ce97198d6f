"""The request log, and hooks by which a test delays, fails or watches the n-th request of a kind."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.playground.api import PlaygroundRequest, PlaygroundResponse
from bot.playground.errors import DOCS


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRequest:
    """One request in the log. `actor` is a login, `app:<slug>` for an App's JWT, or empty."""

    method: str
    path: str
    status: int
    actor: str


Hook = Callable[[PlaygroundRequest], PlaygroundResponse | None]
Observer = Callable[[PlaygroundRequest, PlaygroundResponse], None]


@dataclass(slots=True, kw_only=True)
class _Watch:
    method: str
    pattern: re.Pattern[str]
    hook: Hook
    nth: int
    count: int = 0
    after: bool = False


@dataclass(slots=True)
class Faults:
    """What the server asks before and after each request."""

    log: list[LoggedRequest] = field(default_factory=list)
    observers: list[Observer] = field(default_factory=list)
    _watches: list[_Watch] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, method: str, path: str, hook: Hook, *, nth: int, after: bool) -> None:
        """Call `hook` for the nth request that matches (0: each); `path` is searched in the path as a regex."""
        watch = _Watch(method=method, pattern=re.compile(path), hook=hook, nth=nth, after=after)
        with self._lock:
            self._watches.append(watch)

    def clear(self) -> None:
        """Forget every hook; the log stays."""
        with self._lock:
            self._watches.clear()

    def apply(self, request: PlaygroundRequest, *, after: bool) -> PlaygroundResponse | None:
        """Run the hooks that are due, in the order in which they were set; the first response wins."""
        for hook in self._due(request, after=after):
            response = hook(request)
            if response is not None:
                return response
        return None

    def _due(self, request: PlaygroundRequest, *, after: bool) -> list[Hook]:
        due = []
        with self._lock:
            for watch in self._watches:
                if watch.after is after and watch.method == request.method and watch.pattern.search(request.path):
                    watch.count += 1
                    if watch.nth in (0, watch.count):
                        due.append(watch.hook)
        return due

    def record(self, request: PlaygroundRequest, response: PlaygroundResponse) -> None:
        seen = LoggedRequest(method=request.method, path=request.path, status=response.status, actor=response.actor)
        with self._lock:
            self.log.append(seen)
        for observer in self.observers:
            observer(request, response)


def fail(status: int, message: str = "Server Error", *, retry_after: int | None = None) -> Hook:
    """A hook that answers with an error of GitHub's shape."""
    headers = {"Content-Type": "application/json; charset=utf-8"}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    body = json.dumps({"message": message, "documentation_url": DOCS, "status": str(status)}).encode()
    return lambda _request: PlaygroundResponse(status=status, headers=headers, body=body)


def secondary_limit(retry_after: int = 1) -> Hook:
    """A hook that answers as GitHub does to a client that writes too fast."""
    message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    return fail(403, message, retry_after=retry_after)


def delay(seconds: float) -> Hook:
    """A hook that holds the request up."""

    def hook(_request: PlaygroundRequest) -> None:
        time.sleep(seconds)

    return hook
