"""A person at the playground: signs in with a personal token, reads, and pushes with real git."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlsplit

from bot.playground.git import git
from bot.playground.server import Playground


class Denied(Exception):
    """The playground said no. The text is its status and message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A comment as a person reads it. Path and line are those of a review comment; line None is outdated."""

    id: int
    author: str
    body: str
    path: str = ""
    start_line: int | None = None
    line: int | None = None
    reply_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A pull request as a person reads it."""

    number: int
    author: str
    title: str
    body: str
    state: str
    merged: bool
    draft: bool
    head_ref: str
    head_sha: str
    head_repository: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    id: int
    name: str
    conclusion: str | None
    title: str
    summary: str
    annotations: int


class Person:
    """One account. Repositories are named `owner/name`, issues and pull requests by number."""

    def __init__(self, playground: Playground, login: str) -> None:
        self.login = login
        self._url = playground.url
        self._token = playground.token_for(login)
        account = self.request("GET", "/user")
        self._author = (str(account["name"]), f"{account['id']}+{login}@users.noreply.github.com")

    def request(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401 - JSON's edge
        """Any request to the API; what it answers, parsed. Raises Denied for an error."""
        parts = urlsplit(self._url)
        assert parts.hostname is not None
        connection = HTTPConnection(parts.hostname, parts.port, timeout=60)
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/vnd.github+json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        parsed = json.loads(text) if text else None
        if answer.status >= 400:
            raise Denied(f"{answer.status} {parsed['message'] if parsed else answer.reason}")
        return parsed

    def graphql(self, query: str, variables: Mapping[str, object]) -> Any:  # noqa: ANN401 - JSON's edge
        answer = self.request("POST", "/graphql", {"query": query, "variables": dict(variables)})
        if "errors" in answer:
            raise Denied(answer["errors"][0]["message"])
        return answer["data"]

    def push(
        self,
        repository: str,
        branch: str,
        files: Mapping[str, str | bytes | None],
        message: str,
        *,
        start: str = "main",
        force: bool = False,
    ) -> str:
        """Clone, commit these files (None deletes) and push with real git; the commit's SHA.

        `branch` grows where it stands; a new one, or a forced one, grows from `start`.
        """
        with tempfile.TemporaryDirectory() as scratch:
            checkout = Path(scratch) / "checkout"
            self._git("clone", "--quiet", f"{self._url}/{repository}.git", str(checkout))
            known = self._git("-C", str(checkout), "branch", "--remotes", "--list", f"origin/{branch}").strip()
            grown = f"origin/{branch}" if known and not force else f"origin/{start}"
            self._git("-C", str(checkout), "checkout", "--quiet", "-B", branch, grown)
            for path, content in files.items():
                _write(checkout / path, content)
            self._git("-C", str(checkout), "add", "--all")
            self._git("-C", str(checkout), "commit", "--quiet", "--allow-empty", "--message", message)
            flags = ["--force"] if force else []
            self._git("-C", str(checkout), "push", "--quiet", *flags, "origin", f"HEAD:refs/heads/{branch}")
            return self._git("-C", str(checkout), "rev-parse", "HEAD").decode().strip()

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
        with tempfile.TemporaryDirectory() as scratch:
            checkout = Path(scratch) / "checkout"
            self._git("clone", "--quiet", f"{self._url}/{repository}.git", str(checkout))
            self._git("-C", str(checkout), "checkout", "--quiet", branch)
            for path, content in files.items():
                _write(checkout / path, content)
            self._git("-C", str(checkout), "add", "--all")
            for command in commands:
                self._git("-C", str(checkout), *command)
            self._git("-C", str(checkout), "push", "--quiet", "--force", "origin", f"HEAD:refs/heads/{branch}")
            return self._git("-C", str(checkout), "rev-parse", "HEAD").decode().strip()

    def _git(self, *arguments: str) -> bytes:
        name, email = self._author
        secret = base64.b64encode(f"x-access-token:{self._token}".encode()).decode()
        env = {
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": email,
            "GIT_COMMITTER_NAME": name,
            "GIT_COMMITTER_EMAIL": email,
        }
        return git("-c", f"http.extraHeader=Authorization: Basic {secret}", *arguments, env=env)

    def pull(self, repository: str, number: int) -> Opened:
        return _opened(self.request("GET", f"/repos/{repository}/pulls/{number}"))

    def pulls(self, repository: str, state: str = "open") -> list[Opened]:
        """Oldest first."""
        path = f"/repos/{repository}/pulls?state={state}&direction=asc&per_page=100"
        return [_opened(each) for each in self.request("GET", path)]

    def comments(self, repository: str, number: int) -> list[Said]:
        """The conversation of an issue or pull request."""
        return [
            _said(each) for each in self.request("GET", f"/repos/{repository}/issues/{number}/comments?per_page=100")
        ]

    def review_comments(self, repository: str, number: int) -> list[Said]:
        return [
            _said(each) for each in self.request("GET", f"/repos/{repository}/pulls/{number}/comments?per_page=100")
        ]

    def review_comment(self, repository: str, comment_id: int) -> Said:
        return _said(self.request("GET", f"/repos/{repository}/pulls/comments/{comment_id}"))

    def reviews(self, repository: str, number: int) -> list[Said]:
        """Their summaries."""
        return [_said(each) for each in self.request("GET", f"/repos/{repository}/pulls/{number}/reviews?per_page=100")]

    def checks(self, repository: str, sha: str) -> list[Checked]:
        found = self.request("GET", f"/repos/{repository}/commits/{sha}/check-runs?filter=all&per_page=100")
        return [_checked(each) for each in found["check_runs"]]

    def read(self, repository: str, path: str, ref: str) -> str:
        """A file's text."""
        found = self.request("GET", f"/repos/{repository}/contents/{quote(path)}?ref={quote(ref)}")
        return base64.b64decode(found["content"]).decode()


def _write(path: Path, content: str | bytes | None) -> None:
    if content is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def _said(body: Mapping[str, Any]) -> Said:
    return Said(
        id=body["id"],
        author=body["user"]["login"],
        body=body["body"],
        path=body.get("path", ""),
        start_line=body.get("start_line"),
        line=body.get("line"),
        reply_to=body.get("in_reply_to_id"),
    )


def _opened(body: Mapping[str, Any]) -> Opened:
    return Opened(
        number=body["number"],
        author=body["user"]["login"],
        title=body["title"],
        body=body["body"] or "",
        state=body["state"],
        merged=body["merged_at"] is not None,
        draft=body["draft"],
        head_ref=body["head"]["ref"],
        head_sha=body["head"]["sha"],
        head_repository=body["head"]["repo"]["full_name"],
    )


def _checked(body: Mapping[str, Any]) -> Checked:
    output = body["output"]
    return Checked(
        id=body["id"],
        name=body["name"],
        conclusion=body["conclusion"],
        title=output["title"] or "",
        summary=output["summary"] or "",
        annotations=output["annotations_count"],
    )
