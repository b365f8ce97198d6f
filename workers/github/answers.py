"""Counts GitHub's answers, and notes how much of its limit an installation has left."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from github import Github
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, RequestsResponse
from urllib3.util import Retry

from memory.measures import GITHUB_ANSWERS, GITHUB_REMAINING

NOT_REACHED = "none"
"""The status of an answer that did not come."""


class CountedRetry(Retry):
    """Counts every answer, also one that is repeated: urllib3 asks this of each."""

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:  # urllib3's signature
        GITHUB_ANSWERS.add(status=str(status_code))
        return super().is_retry(method, status_code, has_retry_after)


def note_limits(github: Github, installation_id: int) -> None:
    """Note what each answer says of the installation's limit."""

    class Http(HTTPRequestsConnectionClass):
        def getresponse(self) -> RequestsResponse:
            return _noted(super().getresponse(), installation_id)

    class Https(HTTPSRequestsConnectionClass):
        def getresponse(self) -> RequestsResponse:
            return _noted(super().getresponse(), installation_id)

    # PyGithub's injectConnectionClasses is for all clients of a process, and opens a connection for each request.
    chosen = Https if github.requester.base_url.startswith("https:") else Http
    github.requester._Requester__connectionClass = chosen  # type: ignore[attr-defined]  # it has no other door


def _noted(answer: RequestsResponse, installation_id: int) -> RequestsResponse:
    headers: Mapping[str, str] = answer.headers
    remaining, reset = headers.get("x-ratelimit-remaining", ""), headers.get("x-ratelimit-reset", "")
    if remaining.isdecimal() and reset.isdecimal():
        until = min(datetime.fromtimestamp(int(reset), UTC), datetime.now(UTC) + timedelta(hours=1))
        resource = headers.get("x-ratelimit-resource", "core")
        GITHUB_REMAINING.set(int(remaining), until=until, installation=str(installation_id), resource=resource)
    return answer
