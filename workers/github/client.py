"""Clients of PyGithub that send no write twice and count each answer, and what an answer means that is no success."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import requests.exceptions
from github import Auth, BadAttributeException, Github, GithubException, GithubIntegration
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, RequestsResponse
from urllib3.util import Retry

from memory.measures import GITHUB_ANSWERS, GITHUB_REMAINING
from workers.errors import CannotRun, Forbidden, Limited, NoAccess, TokenRefused, Unavailable
from workers.ports import SECONDS_BETWEEN_WRITES

API_VERSION = "2022-11-28"
USER_AGENT = "apprentice"
TIMEOUT_SECONDS = 30
READS_ONLY = frozenset({"GET", "HEAD"})

NOT_REACHED = "none"
"""The status of an answer that did not come."""


class _CountedRetry(Retry):
    """Counts every answer, also one that is repeated: urllib3 asks this of each."""

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:  # urllib3's signature
        GITHUB_ANSWERS.add(status=str(status_code))
        return super().is_retry(method, status_code, has_retry_after)


def _retry_of_reads() -> _CountedRetry:
    """Repeats reads for some seconds. PyGithub's own repeats POST on a 5xx, which doubles comments, and sleeps through limits.

    After the last attempt its answer counts, which says how long to wait.
    """
    return _CountedRetry(
        total=4,
        backoff_factor=0.5,
        allowed_methods=READS_ONLY,
        status_forcelist=range(500, 600),
        respect_retry_after_header=False,
        raise_on_status=False,
    )


def client(
    base_url: str, token: str, installation_id: int, seconds_between_writes: float = SECONDS_BETWEEN_WRITES
) -> Github:
    made = Github(
        auth=Auth.Token(token),
        base_url=base_url,
        user_agent=USER_AGENT,
        timeout=TIMEOUT_SECONDS,
        retry=_retry_of_reads(),
        seconds_between_requests=0,  # reads need no pause
        seconds_between_writes=seconds_between_writes,
        api_version=API_VERSION,
        lazy=True,
    )
    _note_limits(made, installation_id)
    return made


def integration(base_url: str, app_id: int, private_key: str) -> GithubIntegration:
    """A client that acts as the App itself: it can mint tokens and nothing else."""
    return GithubIntegration(
        auth=Auth.AppAuth(app_id, private_key),
        base_url=base_url,
        user_agent=USER_AGENT,
        timeout=TIMEOUT_SECONDS,
        retry=_retry_of_reads(),
        seconds_between_requests=0,
        api_version=API_VERSION,
    )


def _note_limits(github: Github, installation_id: int) -> None:
    """Note what each answer says of the installation's limit."""

    encrypted = github.requester.base_url.startswith("https:")

    class NotingConnection(HTTPSRequestsConnectionClass if encrypted else HTTPRequestsConnectionClass):  # type: ignore[misc]  # either
        def getresponse(self) -> RequestsResponse:
            answer: RequestsResponse = super().getresponse()
            headers: Mapping[str, str] = answer.headers
            remaining, reset = headers.get("x-ratelimit-remaining", ""), headers.get("x-ratelimit-reset", "")
            if remaining.isdecimal() and reset.isdecimal():
                until = min(datetime.fromtimestamp(int(reset), UTC), datetime.now(UTC) + timedelta(hours=1))
                resource = headers.get("x-ratelimit-resource", "core")
                GITHUB_REMAINING.set(int(remaining), until=until, installation=str(installation_id), resource=resource)
            return answer

    # PyGithub's injectConnectionClasses is for all clients of a process, and opens a connection for each request.
    github.requester._Requester__connectionClass = NotingConnection  # type: ignore[attr-defined]  # it has no other door


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Translate every failure of GitHub's into ours: what may pass is Unavailable, the rest is final."""
    try:
        yield
    except GithubException as error:
        raise translation(error.status, error.data, error.headers or {}, doing) from error
    except requests.exceptions.RequestException as error:
        GITHUB_ANSWERS.add(status=NOT_REACHED)
        raise Unavailable(f"GitHub could not be reached while {doing}: {type(error).__name__}") from error
    except (json.JSONDecodeError, UnicodeDecodeError, BadAttributeException) as error:
        raise Unavailable(f"GitHub's answer could not be read while {doing}: {type(error).__name__}") from error


def translation(status: int, answer: object, headers: Mapping[str, str], doing: str) -> Unavailable | CannotRun:
    """What an answer that is no success means. GraphQL tells of limits and failures in answers with status 200."""
    body = answer if isinstance(answer, dict) else {}
    errors = [each for each in body.get("errors", ()) if isinstance(each, dict)]
    message = str(body.get("message") or next((each.get("message") for each in errors), ""))
    if status == 401:
        suspect = "this machine's clock" if "claim" in message else "the App's id and private key"  # claims are times
        return TokenRefused(f"GitHub answered 401 {message!r} while {doing}; check {suspect}")
    if status == 404 and message == "Integration not found":
        return TokenRefused(f"GitHub knows no App with our id while {doing}; check APPRENTICE_APP_ID")
    if status == 403 and "suspended" in message:
        return Limited(f"the App's installation is suspended, as GitHub says while {doing}", seconds=LONGEST_RESET)
    if _is_limit(status, message, errors, headers):
        return Limited(f"GitHub limits us while {doing}: {message}", seconds=_asked_to_wait(headers))
    of_graphql = errors if "message" not in body else []
    failed = of_graphql and not any(each.get("type") for each in of_graphql)  # what it refuses it gives a type
    if status >= 500 or failed:
        return Unavailable(f"GitHub answered {status} while {doing}", seconds=_retry_after(headers))
    if status == 403 and "archived" in message:
        return NoAccess(f"the repository is archived, so GitHub takes nothing while {doing}")
    kind = {403: Forbidden, 410: NoAccess}.get(status, CannotRun)
    return kind(f"GitHub answered {status} {message!r} while {doing}; check the App's permissions")


LONGEST_RESET = 3600.0
"""GitHub's limits are reset within an hour."""

DEFAULT_WAIT = 60.0
"""The seconds that GitHub asks to wait where its answer does not say."""


def _is_limit(status: int, message: str, errors: Sequence[Mapping[str, Any]], headers: Mapping[str, str]) -> bool:
    named = any(each.get("type") == "RATE_LIMITED" for each in errors)
    refused = status in (403, 429) and ("retry-after" in headers or headers.get("x-ratelimit-remaining") == "0")
    return status == 429 or named or refused or "rate limit" in message.lower()


def _asked_to_wait(headers: Mapping[str, str]) -> float:
    """Seconds until the limit is over; the clock of the answer counts, where there is one."""
    if seconds := _retry_after(headers):
        return seconds
    reset = headers.get("x-ratelimit-reset", "")
    if headers.get("x-ratelimit-remaining") != "0" or not reset.isdecimal():
        return DEFAULT_WAIT
    now = parsedate_to_datetime(headers["date"]).timestamp() if "date" in headers else time.time()
    return min(max(float(reset) - now, 0.0) + 1.0, LONGEST_RESET)


def _retry_after(headers: Mapping[str, str]) -> float:
    asked = headers.get("retry-after", "")
    return min(float(asked), 24 * LONGEST_RESET) if asked.isdecimal() else 0.0
