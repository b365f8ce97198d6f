"""The playground for tests: with faults on demand, a request log, and a maintainer who can do everything."""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from bot.playground import client, server
from bot.playground.api import PlaygroundRequest, PlaygroundResponse
from bot.playground.errors import ApiError
from bot.playground.models import ActingAccount, App, HostedInstallation
from bot.playground.pulls import pushed
from tests.playground_routes import announce_repositories, routes
from workers.github.minting import minting
from workers.settings import MintSettings

Content = str | bytes | None
Hook = Callable[[PlaygroundRequest], PlaygroundResponse | None]
Observer = Callable[[PlaygroundRequest, PlaygroundResponse], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRequest:
    """One request in the log. `actor` is a login, `app:<slug>` for an App's JWT, or empty."""

    method: str
    path: str
    status: int
    actor: str


@dataclass(slots=True, kw_only=True)
class _Watch:
    """A hook for the nth request (0: each) of a method whose path matches."""

    method: str
    pattern: re.Pattern[str]
    hook: Hook
    nth: int
    after: bool
    count: int = 0

    def is_due(self, request: PlaygroundRequest) -> bool:
        """Count a request that matches; whether it is the one to watch."""
        if self.method != request.method or not self.pattern.search(request.path):
            return False
        self.count += 1
        return self.nth in (0, self.count)


@dataclass(slots=True)
class _Faults:
    """The request log, and the hooks by which a test delays, fails or watches requests."""

    log: list[LoggedRequest] = field(default_factory=list)
    observers: list[Observer] = field(default_factory=list)
    watches: list[_Watch] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def apply(self, request: PlaygroundRequest, *, after: bool) -> PlaygroundResponse | None:
        """Run the hooks that are due, in the order in which they were set, to the first response."""
        with self.lock:
            due = [watch.hook for watch in self.watches if watch.after is after and watch.is_due(request)]
        return next((response for hook in due if (response := hook(request)) is not None), None)

    def record(self, request: PlaygroundRequest, response: PlaygroundResponse) -> None:
        seen = LoggedRequest(method=request.method, path=request.path, status=response.status, actor=response.actor)
        with self.lock:
            self.log.append(seen)
        for observer in self.observers:
            observer(request, response)


def fail(status: int, message: str = "Server Error", *, retry_after: int | None = None) -> Hook:
    """A hook that answers with an error of GitHub's shape."""
    headers = {"Content-Type": "application/json; charset=utf-8"}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    body = json.dumps(ApiError(status, message).json()).encode()
    return lambda _request: PlaygroundResponse(status=status, headers=headers, body=body)


def secondary_limit(retry_after: int = 1) -> Hook:
    """A hook that answers as GitHub does to a client that writes too fast."""
    message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    return fail(403, message, retry_after=retry_after)


def delay(seconds: float) -> Hook:
    """A hook that delays the request."""
    return lambda _request: time.sleep(seconds)


class Playground(server.Playground):
    """A playground whose requests tests can delay, fail and watch."""

    def __init__(self) -> None:
        super().__init__(routes.table)
        self._faults = _Faults()
        self._attachments: dict[str, bytes] = {}

    @property
    def requests(self) -> Sequence[LoggedRequest]:
        """Every request so far, in the order of their answers."""
        return tuple(self._faults.log)

    def before(self, method: str, path: str, hook: Hook, *, nth: int = 1) -> None:
        """Call `hook` before the nth request whose path matches the regex (0: each); its response replaces ours."""
        self._watch(method, path, hook, nth, after=False)

    def after(self, method: str, path: str, hook: Hook, *, nth: int = 1) -> None:
        """The same, once the request has had its effect and before it is answered."""
        self._watch(method, path, hook, nth, after=True)

    def _watch(self, method: str, path: str, hook: Hook, nth: int, *, after: bool) -> None:
        watch = _Watch(method=method, pattern=re.compile(path), hook=hook, nth=nth, after=after)
        with self._faults.lock:
            self._faults.watches.append(watch)

    def observe(self, observer: Observer) -> None:
        """Show every request and its answer to `observer`, in the server's threads."""
        self._faults.observers.append(observer)

    def undisturbed(self) -> None:
        """Forget every hook; the log stays."""
        with self._faults.lock:
            self._faults.watches.clear()

    def answer(self, request: PlaygroundRequest) -> PlaygroundResponse:
        answer = self._faults.apply(request, after=False)
        if answer is None:
            answer = self._attachment(request) or super().answer(request)
            answer = self._faults.apply(request, after=True) or answer
        self._faults.record(request, answer)
        return answer

    def _attachment(self, request: PlaygroundRequest) -> PlaygroundResponse | None:
        found = self._attachments.get(request.path)
        return None if found is None else PlaygroundResponse(status=200, headers={}, body=found)

    def attach(self, content: bytes) -> str:
        """Upload a file as users do in a comment's field; its address."""
        path = f"/user-attachments/assets/{uuid.uuid4()}"
        self._attachments[path] = content
        return f"{self.url}{path}"

    def commit(
        self, full_name: str, files: Mapping[str, Content], message: str, *, login: str, branch: str = "main"
    ) -> str:
        """Commit to a branch (made from the default branch when new) as a push by `login`; the SHA. None deletes a file."""
        with self.world.lock:
            where, who = self.world.repository(*full_name.split("/")), self.world.user(login)
            parent = where.git.branch(branch) or where.git.branch(where.default_branch)
            sha = where.git.edit(parent, server.as_bytes(files), message, who.git_identity, who.git_identity)
            where.git.set_ref(f"refs/heads/{branch}", sha)
            pushed(self.world, where, ActingAccount(user=who), f"refs/heads/{branch}", sha)
            return sha

    def install(self, app: App, *full_names: str) -> HostedInstallation:
        """Install the App on repositories of one account, or add them to its installation there."""
        with self.world.lock:
            chosen = [self.world.repository(*name.split("/")) for name in full_names]
            owner = chosen[0].owner
            for known in self.world.installations.values():
                if known.app is app and known.account is owner:
                    known.repository_ids |= {each.id for each in chosen}
                    announce_repositories(self.world, known, chosen)
                    return known
            return super().install(app, *full_names)

    def rename(self, full_name: str, new: str) -> None:
        """Rename a repository, or transfer it to the account in its new name. Its number stays."""
        with self.world.lock:
            where, (login, name) = self.world.repository(*full_name.split("/")), new.split("/")
            where.owner, where.name = self.world.user(login), name

    def delete(self, full_name: str) -> None:
        """Delete a repository. Its number is never given again."""
        with self.world.lock:
            gone = self.world.repository(*full_name.split("/"))
            del self.world.repositories[gone.id]
            for each in self.world.installations.values():
                each.repository_ids.discard(gone.id)

    def remove(self, installation: HostedInstallation, full_name: str) -> None:
        """Take one repository out of an installation."""
        with self.world.lock:
            gone = self.world.repository(*full_name.split("/"))
            installation.repository_ids.discard(gone.id)
            announce_repositories(self.world, installation, removed=[gone])

    def rename_user(self, login: str, new: str) -> None:
        with self.world.lock:
            self.world.user(login).login = new

    def uninstall(self, installation: HostedInstallation) -> None:
        """Its tokens die at once."""
        with self.world.lock:
            del self.world.installations[installation.id]
            server.announce_installed(self.world, installation, "deleted")

    def unsuspend(self, installation: HostedInstallation) -> None:
        """Its tokens are given again."""
        with self.world.lock:
            server.announce_installed(self.world, installation, "unsuspend")


class Maintainer(client.Maintainer):
    """The scripted maintainer, who can also do what only tests need."""

    def rework(
        self,
        repository: str,
        branch: str,
        *commands: Sequence[str],
        files: Mapping[str, str | bytes | None] = MappingProxyType({}),
    ) -> str:
        """Clone, write these files, run git commands on the branch (rebase, revert, merge, …) and push it with force.

        Returns the commit's SHA. The files are staged before the first command.
        """
        with self._checkout(repository) as run:
            run("checkout", "--quiet", branch)
            run.write(files)
            for command in commands:
                run(*command)
            return run.push(branch, force=True)

    def reviews(self, repository: str, number: int) -> list[client.ShownComment]:
        """The summaries of the reviews."""
        return [
            client.shown_comment(each)
            for each in self.request("GET", f"/repos/{repository}/pulls/{number}/reviews?per_page=100")
        ]

    def comment(self, repository: str, number: int, body: str) -> int:
        """Its id."""
        return int(self.request("POST", f"/repos/{repository}/issues/{number}/comments", {"body": body})["id"])

    def review(self, repository: str, number: int, body: str, event: str = "COMMENT") -> int:
        """Its id. `event` is COMMENT, APPROVE or REQUEST_CHANGES."""
        made = self.request("POST", f"/repos/{repository}/pulls/{number}/reviews", {"body": body, "event": event})
        return int(made["id"])

    def comment_on_line(self, repository: str, number: int, path: str, line: int, body: str) -> int:
        """Its id."""
        sha = self.pull(repository, number).head_sha
        where = {"commit_id": sha, "path": path, "line": line, "side": "RIGHT", "body": body}
        return int(self.request("POST", f"/repos/{repository}/pulls/{number}/comments", where)["id"])

    def label(self, repository: str, number: int, *names: str) -> None:
        self.request("POST", f"/repos/{repository}/issues/{number}/labels", {"labels": list(names)})

    # Reacting and resolving.

    def unreact(self, repository: str, comment_id: int, reaction_id: int) -> None:
        """Take a reaction to a review comment back."""
        self.request("DELETE", f"/repos/{repository}/pulls/comments/{comment_id}/reactions/{reaction_id}")

    def unresolve(self, repository: str, number: int, comment_id: int) -> None:
        mutation = "mutation($id: ID!) { unresolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }"
        self.graphql(mutation, {"id": self.thread(repository, number, comment_id)})

    def rerun(self, repository: str, check_id: int) -> None:
        """Press "Re-run" on a check."""
        self.request("POST", f"/repos/{repository}/check-runs/{check_id}/rerequest")

    def rerun_all(self, repository: str, sha: str) -> None:
        """Press "Re-run all checks" on a commit."""
        found = self.request("GET", f"/repos/{repository}/commits/{sha}/check-runs")["check_runs"]
        self.request("POST", f"/repos/{repository}/check-suites/{found[0]['check_suite']['id']}/rerequest")

    # Pull requests.

    def retarget(self, repository: str, number: int, base: str) -> None:
        """Choose another base branch."""
        self.request("PATCH", f"/repos/{repository}/pulls/{number}", {"base": base})

    def close(self, repository: str, number: int) -> None:
        """An issue or a pull request."""
        self.request("PATCH", f"/repos/{repository}/issues/{number}", {"state": "closed"})

    def reopen(self, repository: str, number: int) -> None:
        self.request("PATCH", f"/repos/{repository}/issues/{number}", {"state": "open"})

    def fork(self, repository: str) -> str:
        """The fork's full name."""
        return str(self.request("POST", f"/repos/{repository}/forks", {})["full_name"])

    def delete_branch(self, repository: str, branch: str) -> None:
        self.request("DELETE", f"/repos/{repository}/git/refs/heads/{quote(branch)}")


@contextmanager
def minting_for(app: App, playground: Playground, home: Path) -> Iterator[None]:
    """The minting process of an App, in threads, where a worker with this home looks for it; the key is in `app.pem`."""
    key = home / "app.pem"
    key.touch(mode=0o600)
    key.write_text(app.private_key)
    with minting(MintSettings(home=home, github_url=playground.url, app_id=app.id, private_key_file=key)):
        yield
