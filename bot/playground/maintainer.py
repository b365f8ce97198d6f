"""A scripted maintainer: does through HTTP and git what people do on GitHub's pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from bot.playground.person import Denied, Opened, Person, Said

_SUGGESTION = re.compile(
    r"^(?P<fence>`{3,}|~{3,})suggestion[^\n]*\n(?P<code>(?:.*\n)*?)(?P=fence)[ \t]*$", re.MULTILINE
)
_THREADS = """query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 100, after: $after) {
      nodes { id comments(first: 100) { nodes { fullDatabaseId } } } pageInfo { hasNextPage endCursor }
    }
  } }
}"""
_SETTLE = "mutation($id: ID!) { %sReviewThread(input: {threadId: $id}) { thread { isResolved } } }"


class Maintainer(Person):
    """A person who acts. Repositories are named `owner/name`, issues and pull requests by number."""

    # Saying.

    def open_issue(self, repository: str, title: str, body: str = "", labels: Sequence[str] = ()) -> int:
        """Its number."""
        made = self.request(
            "POST", f"/repos/{repository}/issues", {"title": title, "body": body, "labels": list(labels)}
        )
        return int(made["number"])

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

    def reply(self, repository: str, number: int, comment_id: int, body: str) -> int:
        """Answer a review comment; the answer's id."""
        made = self.request("POST", f"/repos/{repository}/pulls/{number}/comments/{comment_id}/replies", {"body": body})
        return int(made["id"])

    def label(self, repository: str, number: int, *names: str) -> None:
        self.request("POST", f"/repos/{repository}/issues/{number}/labels", {"labels": list(names)})

    # Reacting and settling.

    def react(self, repository: str, comment_id: int, content: str) -> int:
        """React to a review comment (+1, -1, heart, …); the reaction's id."""
        return self._react(f"/repos/{repository}/pulls/comments/{comment_id}", content)

    def react_to_issue_comment(self, repository: str, comment_id: int, content: str) -> int:
        return self._react(f"/repos/{repository}/issues/comments/{comment_id}", content)

    def _react(self, target: str, content: str) -> int:
        return int(self.request("POST", f"{target}/reactions", {"content": content})["id"])

    def unreact(self, repository: str, comment_id: int, reaction_id: int) -> None:
        """Take a reaction to a review comment back."""
        self.request("DELETE", f"/repos/{repository}/pulls/comments/{comment_id}/reactions/{reaction_id}")

    def unreact_to_issue_comment(self, repository: str, comment_id: int, reaction_id: int) -> None:
        self.request("DELETE", f"/repos/{repository}/issues/comments/{comment_id}/reactions/{reaction_id}")

    def resolve(self, repository: str, number: int, comment_id: int) -> None:
        """Resolve the thread that this review comment is in."""
        self.graphql(_SETTLE % "resolve", {"id": self._thread(repository, number, comment_id)})

    def unresolve(self, repository: str, number: int, comment_id: int) -> None:
        self.graphql(_SETTLE % "unresolve", {"id": self._thread(repository, number, comment_id)})

    def _thread(self, repository: str, number: int, comment_id: int) -> str:
        owner, name = repository.split("/")
        after = None
        while True:
            variables = {"owner": owner, "name": name, "number": number, "after": after}
            page = self.graphql(_THREADS, variables)["repository"]["pullRequest"]["reviewThreads"]
            for thread in page["nodes"]:
                if any(int(each["fullDatabaseId"]) == comment_id for each in thread["comments"]["nodes"]):
                    return str(thread["id"])
            if not page["pageInfo"]["hasNextPage"]:
                raise Denied(f"no thread has comment {comment_id}")
            after = page["pageInfo"]["endCursor"]

    def rerun(self, repository: str, check_id: int) -> None:
        """Press "Re-run" on a check."""
        self.request("POST", f"/repos/{repository}/check-runs/{check_id}/rerequest")

    # Pull requests.

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
        """Take a pull request out of draft."""
        node = self.request("GET", f"/repos/{repository}/pulls/{number}")["node_id"]
        mutation = (
            "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
        )
        self.graphql(mutation, {"id": node})

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

    def apply_suggestions(self, repository: str, number: int, *comment_ids: int) -> str:
        """Press the button "Commit suggestion" (or commit several at once); the commit's SHA.

        As on GitHub: the suggester becomes co-author, outdated comments are refused, the threads get resolved.
        """
        pull = self.pull(repository, number)
        chosen = [self.review_comment(repository, each) for each in comment_ids]
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

    def _suggested(self, pull: Opened, chosen: Sequence[Said]) -> dict[str, str | bytes | None]:
        """The files as they are with every suggestion in place; from the bottom up, so that lines keep their numbers."""
        files: dict[str, list[str]] = {}
        for each in sorted(chosen, key=lambda said: said.line or 0, reverse=True):
            found = _SUGGESTION.search(each.body.replace("\r\n", "\n"))
            if found is None:
                raise Denied(f"comment {each.id} has no suggestion")
            if each.line is None:
                raise Denied("Outdated suggestions cannot be applied.")
            if each.path not in files:
                files[each.path] = self.read(pull.head_repository, each.path, pull.head_sha).splitlines(keepends=True)
            first = (each.start_line or each.line) - 1
            files[each.path][first : each.line] = found["code"].splitlines(keepends=True)
        return {path: "".join(lines) for path, lines in files.items()}
