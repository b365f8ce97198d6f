"""A scripted maintainer: does through HTTP and git what users do on GitHub's pages."""

from __future__ import annotations

import base64
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bot.playground import loopback
from bot.playground.git import GitIdentity, git
from bot.playground.server import Playground

_SUGGESTION = re.compile(r"(`{3,}|~{3,})suggestion")
_THREADS = """query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 100) { nodes { id comments(first: 100) { nodes { fullDatabaseId } } } }
  } }
}"""
_MARK_READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
_RESOLVE = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }"


class RequestDenied(Exception):
    """The playground refused a request. The text is its status and message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownComment:
    """A comment as the client reads it. Path and line are those of a review comment; line None is outdated."""

    id: int
    author: str
    body: str
    path: str = ""
    start_line: int | None = None
    line: int | None = None
    reply_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPull:
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
class ShownCheck:
    id: int
    name: str
    conclusion: str | None
    title: str
    summary: str
    annotations: int


class Maintainer:
    """One account that reads, writes and pushes. Repositories are `owner/name`, issues and pull requests numbers."""

    def __init__(self, playground: Playground, login: str) -> None:
        self.login = login
        self._url = playground.url
        self._token = playground.token_for(login)
        account = self.request("GET", f"/users/{quote(login)}")
        self._author = GitIdentity(name=str(account["name"]), email=f"{account['id']}+{login}@users.noreply.github.com")

    def request(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401 - JSON's edge
        """Any request to the API; the parsed answer. Raises RequestDenied for an error."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/vnd.github+json"}
        answer = loopback.request(method, self._url + path, json=body, headers=headers, timeout=60)
        parsed = answer.json() if answer.content else None
        if answer.is_error:
            raise RequestDenied(f"{answer.status_code} {parsed['message'] if parsed else answer.reason_phrase}")
        return parsed

    def graphql(self, query: str, variables: Mapping[str, object]) -> Any:  # noqa: ANN401 - JSON's edge
        answer = self.request("POST", "/graphql", {"query": query, "variables": dict(variables)})
        if "errors" in answer:
            raise RequestDenied(answer["errors"][0]["message"])
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

        An existing branch grows at its head; a new one, or a forced one, starts at `start`.
        """
        with self._checkout(repository) as run:
            known = run("branch", "--remotes", "--list", f"origin/{branch}").strip()
            run("checkout", "--quiet", "-B", branch, f"origin/{branch}" if known and not force else f"origin/{start}")
            run.write(files)
            run("commit", "--quiet", "--allow-empty", "--message", message)
            return run.push(branch, force=force)

    @contextmanager
    def _checkout(self, repository: str) -> Iterator[_Checkout]:
        """A clone that goes with the context; git acts with the account's name and token."""
        secret = base64.b64encode(f"x-access-token:{self._token}".encode()).decode()
        with tempfile.TemporaryDirectory() as scratch:
            made = _Checkout(Path(scratch), f"http.extraHeader=Authorization: Basic {secret}", self._author)
            made("clone", "--quiet", f"{self._url}/{repository}.git", ".")
            yield made

    def pull(self, repository: str, number: int) -> ShownPull:
        return _pull(self.request("GET", f"/repos/{repository}/pulls/{number}"))

    def pulls(self, repository: str, state: str = "open") -> list[ShownPull]:
        """Oldest first."""
        path = f"/repos/{repository}/pulls?state={state}&direction=asc&per_page=100"
        return [_pull(each) for each in self.request("GET", path)]

    def comments(self, repository: str, number: int) -> list[ShownComment]:
        """The conversation of an issue or pull request."""
        found = self.request("GET", f"/repos/{repository}/issues/{number}/comments?per_page=100")
        return [shown_comment(each) for each in found]

    def review_comments(self, repository: str, number: int) -> list[ShownComment]:
        found = self.request("GET", f"/repos/{repository}/pulls/{number}/comments?per_page=100")
        return [shown_comment(each) for each in found]

    def checks(self, repository: str, sha: str) -> list[ShownCheck]:
        found = self.request("GET", f"/repos/{repository}/commits/{sha}/check-runs?filter=all&per_page=100")
        return [_check(each) for each in found["check_runs"]]

    def read(self, repository: str, path: str, ref: str) -> str:
        found = self.request("GET", f"/repos/{repository}/contents/{quote(path)}?ref={quote(ref)}")
        return base64.b64decode(found["content"]).decode()

    def open_issue(self, repository: str, title: str, body: str = "", labels: Sequence[str] = ()) -> int:
        """Its number."""
        made = self.request(
            "POST", f"/repos/{repository}/issues", {"title": title, "body": body, "labels": list(labels)}
        )
        return int(made["number"])

    def reply(self, repository: str, number: int, comment_id: int, body: str) -> int:
        """Answer a review comment; the answer's id."""
        made = self.request("POST", f"/repos/{repository}/pulls/{number}/comments/{comment_id}/replies", {"body": body})
        return int(made["id"])

    def react(self, repository: str, comment_id: int, content: str) -> int:
        """React to a review comment (+1, -1, heart, …); the reaction's id."""
        path = f"/repos/{repository}/pulls/comments/{comment_id}/reactions"
        return int(self.request("POST", path, {"content": content})["id"])

    def resolve(self, repository: str, number: int, comment_id: int) -> None:
        """Resolve the thread that this review comment is in."""
        self.graphql(_RESOLVE, {"id": self.thread(repository, number, comment_id)})

    def thread(self, repository: str, number: int, comment_id: int) -> str:
        """The node id of the thread that this review comment is in."""
        owner, name = repository.split("/")
        found = self.graphql(_THREADS, {"owner": owner, "name": name, "number": number})
        for thread in found["repository"]["pullRequest"]["reviewThreads"]["nodes"]:
            if any(int(each["fullDatabaseId"]) == comment_id for each in thread["comments"]["nodes"]):
                return str(thread["id"])
        raise RequestDenied(f"no thread has comment {comment_id}")

    def open_pull(
        self, repository: str, *, head: str, title: str, body: str = "", base: str = "main", draft: bool = False
    ) -> int:
        """From a pushed branch (`owner:branch` for a fork's); its number."""
        wanted = {"head": head, "base": base, "title": title, "body": body, "draft": draft}
        return int(self.request("POST", f"/repos/{repository}/pulls", wanted)["number"])

    def merge(self, repository: str, number: int) -> str:
        """Merge it, marking a draft as ready first; the merge commit's SHA."""
        if self.pull(repository, number).draft:
            self.mark_ready(repository, number)
        return str(self.request("PUT", f"/repos/{repository}/pulls/{number}/merge", {})["sha"])

    def mark_ready(self, repository: str, number: int) -> None:
        node = self.request("GET", f"/repos/{repository}/pulls/{number}")["node_id"]
        self.graphql(_MARK_READY, {"id": node})

    def apply_suggestions(self, repository: str, number: int, *comment_ids: int) -> str:
        """Press the button "Commit suggestion" (or commit several at once); the commit's SHA.

        As on GitHub: the suggester becomes co-author, outdated comments are refused, the threads get resolved.
        """
        pull = self.pull(repository, number)
        chosen = [each for each in self.review_comments(repository, number) if each.id in comment_ids]
        files = self._suggested(pull, chosen)
        subject = f"Update {chosen[0].path}" if len(chosen) == 1 else "Apply suggestions from code review"
        authors = {each.author: self.request("GET", f"/users/{quote(each.author)}")["id"] for each in chosen}
        trailers = [
            f"Co-authored-by: {login} <{number_}+{login}@users.noreply.github.com>"
            for login, number_ in authors.items()
        ]
        sha = self.push(pull.head_repository, pull.head_ref, files, "\n".join([subject, "", *trailers]))
        for each in chosen:
            self.resolve(repository, number, each.id)
        return sha

    def _suggested(self, pull: ShownPull, chosen: Sequence[ShownComment]) -> dict[str, str | bytes | None]:
        """The files with every suggestion in place; from the bottom up, so that lines keep their numbers."""
        files: dict[str, list[str]] = {}
        for each in sorted(chosen, key=lambda comment: comment.line or 0, reverse=True):
            found = _suggestion(each.body.replace("\r\n", "\n"))
            if found is None:
                raise RequestDenied(f"comment {each.id} has no suggestion")
            if each.line is None:
                raise RequestDenied("Outdated suggestions cannot be applied.")
            if each.path not in files:
                files[each.path] = self.read(pull.head_repository, each.path, pull.head_sha).splitlines(keepends=True)
            first = (each.start_line or each.line) - 1
            files[each.path][first : each.line] = found
        return {path: "".join(lines) for path, lines in files.items()}


def _suggestion(body: str) -> list[str] | None:
    """The lines of the first suggestion in a comment; None without one."""
    lines = iter(body.splitlines(keepends=True))
    opens = next(filter(None, map(_SUGGESTION.match, lines)), None)
    found = list(lines)
    closes = next((at for at, line in enumerate(found) if opens and line.rstrip() == opens[1]), None)
    return None if closes is None else found[:closes]


class _Checkout:
    """A clone; calling it runs git there."""

    def __init__(self, path: Path, header: str, who: GitIdentity) -> None:
        self._path, self._header = path, header
        self._env = who.environment("AUTHOR") | who.environment("COMMITTER")

    def __call__(self, *arguments: str) -> str:
        return git("-C", str(self._path), "-c", self._header, *arguments, env=self._env).decode()

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Write and stage these files; None deletes."""
        for name, content in files.items():
            path = self._path / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        self("add", "--all")

    def push(self, branch: str, *, force: bool) -> str:
        """The pushed commit's SHA."""
        self("push", "--quiet", *(["--force"] if force else []), "origin", f"HEAD:refs/heads/{branch}")
        return self("rev-parse", "HEAD").strip()


def shown_comment(body: Mapping[str, Any]) -> ShownComment:
    return ShownComment(
        id=body["id"],
        author=body["user"]["login"],
        body=body["body"],
        path=body.get("path", ""),
        start_line=body.get("start_line"),
        line=body.get("line"),
        reply_to=body.get("in_reply_to_id"),
    )


def _pull(body: Mapping[str, Any]) -> ShownPull:
    return ShownPull(
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


def _check(body: Mapping[str, Any]) -> ShownCheck:
    output = body["output"]
    return ShownCheck(
        id=body["id"],
        name=body["name"],
        conclusion=body["conclusion"],
        title=output["title"] or "",
        summary=output["summary"] or "",
        annotations=output["annotations_count"],
    )
