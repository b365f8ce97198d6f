"""What an answer of GitHub's means for the job that got it."""

from __future__ import annotations

import pytest

from workers.errors import ApprenticeError, CannotRun, Forbidden, Limited, NoAccess, TokenRefused, Unavailable
from workers.github.client import translation

DATE = {"date": "Wed, 25 Nov 2026 14:00:00 GMT"}
SECONDARY = "You have exceeded a secondary rate limit."
NO_MORE = {"x-ratelimit-remaining": "0"}
AT_RESET = NO_MORE | DATE | {"x-ratelimit-reset": "1795615500"}  # five minutes later


@pytest.mark.parametrize(
    ("status", "body", "headers", "kind", "seconds"),
    [
        (401, {"message": "Bad credentials"}, {}, TokenRefused, 0),
        (401, None, {}, TokenRefused, 0),
        (403, {"message": "Resource not accessible by integration"}, {}, Forbidden, None),
        (403, {"message": "Resource not accessible"}, {"x-ratelimit-remaining": "9"}, Forbidden, None),
        (403, {"message": "Repository was archived so is read-only."}, {}, NoAccess, None),
        (403, {"message": SECONDARY}, {"retry-after": "30"}, Limited, 30),
        (403, {"message": SECONDARY}, {}, Limited, 60),
        (403, {"message": "API rate limit exceeded for installation ID 7."}, AT_RESET, Limited, 301),
        (403, {"message": "API rate limit exceeded"}, NO_MORE | {"x-ratelimit-reset": "soon"}, Limited, 60),
        (403, {"message": "API rate limit exceeded"}, AT_RESET | {"x-ratelimit-reset": "9999999999"}, Limited, 3600),
        (403, {"message": "This installation has been suspended"}, {}, Limited, 3600),
        (404, {"message": "Not Found"}, {}, CannotRun, None),
        (404, {"message": "Integration not found"}, {}, TokenRefused, 0),
        (410, {"message": "This issue was deleted"}, {}, NoAccess, None),
        (422, {"message": "Validation Failed", "errors": [{"resource": "PullRequest"}]}, {}, CannotRun, None),
        (422, {"message": "Unprocessable", "errors": ["line must be part of the diff"]}, {}, CannotRun, None),
        (429, "slow down", {}, Limited, 60),
        (429, {}, {"retry-after": "Wed, 25 Nov 2026 15:00:00 GMT"}, Limited, 60),
        (502, {"data": "<html>"}, {}, Unavailable, 0),
        (503, None, {"retry-after": "120"}, Unavailable, 120),
        (200, {"message": SECONDARY}, {}, Limited, 60),
        (400, {"errors": [{"type": "RATE_LIMITED", "message": "API limit"}]}, AT_RESET, Limited, 301),
        (400, {"data": None, "errors": [{"message": "Something went wrong"}]}, {}, Unavailable, 0),
        (400, {"data": None, "errors": [{"type": "FORBIDDEN", "message": "no"}]}, {}, CannotRun, None),
    ],
)
def test_answers(
    status: int, body: object, headers: dict[str, str], kind: type[ApprenticeError], seconds: float | None
) -> None:
    """Limits, outages and refused tokens are told from what is final, with the time that GitHub asks to wait."""
    found = translation(status, body, headers, "commenting")
    assert type(found) is kind
    assert (found.seconds if isinstance(found, Unavailable) else None) == seconds
    assert "commenting" in str(found)


@pytest.mark.parametrize(
    ("message", "suspect"),
    [
        ("'Expiration time' claim ('exp') is too far in the future", "clock"),
        ("'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued", "clock"),
        ("A JSON web token could not be decoded", "private key"),
        ("Bad credentials", "private key"),
    ],
)
def test_what_a_refused_signature_is_due_to(message: str, suspect: str) -> None:
    """Claims of a signature are times: a clock that is wrong is not looked for in the key."""
    assert str(translation(401, {"message": message}, {}, "minting")).endswith(suspect)
