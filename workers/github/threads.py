"""Review threads, which only the GraphQL API can find and resolve."""

from __future__ import annotations

from typing import Any

from github.Requester import Requester

from workers.errors import CannotRun
from workers.github.auth import translated
from workers.ports import ReviewThread

THREADS = """
query Threads($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { id isResolved resolvedBy { login } comments(first: 1) { nodes { fullDatabaseId author { login } } } }
      }
    }
  }
}
"""
RESOLVE = """
mutation Resolve($input: ResolveReviewThreadInput!) {
  resolveReviewThread(input: $input) { thread { id isResolved } }
}
"""
REOPEN = """
mutation Reopen($input: UnresolveReviewThreadInput!) {
  unresolveReviewThread(input: $input) { thread { id isResolved } }
}
"""


class Threads:
    """The review threads of one repository's pull requests."""

    def __init__(self, requester: Requester, full_name: str) -> None:
        self._requester = requester
        self._owner, self._name = full_name.split("/")

    def of_comment(self, number: int, comment_id: int) -> ReviewThread | None:
        """The thread with this first comment."""
        after: str | None = None
        while True:
            page = self._page(number, after)
            for thread in page["nodes"]:
                for comment in thread["comments"]["nodes"]:
                    if int(comment["fullDatabaseId"]) == comment_id:
                        return _thread(thread, comment["author"])
            if not page["pageInfo"]["hasNextPage"]:
                return None
            after = page["pageInfo"]["endCursor"]

    def resolve(self, thread_id: str) -> None:
        self._query(RESOLVE, {"input": {"threadId": thread_id}})

    def reopen(self, thread_id: str) -> None:
        self._query(REOPEN, {"input": {"threadId": thread_id}})

    def _page(self, number: int, after: str | None) -> dict[str, Any]:
        variables = {"owner": self._owner, "name": self._name, "number": number, "after": after}
        threads: dict[str, Any] = self._query(THREADS, variables)["repository"]["pullRequest"]["reviewThreads"]
        return threads

    def _query(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        with translated("asking for review threads"):
            _, answer = self._requester.graphql_query(query, variables)
        if answer.get("errors"):  # GraphQL reports its errors with status 200
            raise CannotRun(f"GitHub's GraphQL API refused: {answer['errors'][0].get('message', 'no reason given')}")
        data: dict[str, Any] = answer["data"]
        return data


def _thread(node: dict[str, Any], author: dict[str, str] | None) -> ReviewThread:
    """A thread that an App resolved may have no `resolvedBy`; the App's login has a suffix in some fields only."""
    by = node["resolvedBy"]
    own = by is None or (author is not None and _bare(by["login"]) == _bare(author["login"]))
    return ReviewThread(id=node["id"], resolved=node["isResolved"], by_author=node["isResolved"] and own)


def _bare(login: str) -> str:
    return login.removesuffix("[bot]").casefold()
