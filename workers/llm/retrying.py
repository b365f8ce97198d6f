"""Whether and when a call that failed is made again. Pure: the clock and the chances are passed in."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from workers.llm.errors import Failure, ModelUnavailable

TRIES = 3
LONGEST_WAIT = 60.0
"""Seconds: a job that waits longer holds up others."""
_FIRST_WAIT = 1.0


def wait_after(failure: Failure, *, attempt: int, rng: random.Random, now: datetime) -> float | None:
    """Seconds to wait after the failure of the `attempt`-th try, counted from 1; None to give up.

    As long as the endpoint asks, else exponentially longer, with jitter so that workers do not come back all at once.
    """
    if attempt >= TRIES:
        return None
    asked = _asked(failure.retry_after, now)
    if asked is None:
        return _FIRST_WAIT * 2.0 ** (attempt - 1) * rng.uniform(0.5, 1.5)
    return asked if asked <= LONGEST_WAIT else None


def given_up(failure: Failure, *, attempt: int, now: datetime) -> ModelUnavailable:
    """The error after the last try, with when to come back where the endpoint says it."""
    asked = _asked(failure.retry_after, now)
    when = ""
    if asked is not None and asked > LONGEST_WAIT:
        when = f"; it asks not to come back before {now.astimezone(UTC) + timedelta(seconds=asked):%Y-%m-%d %H:%M} UTC"
    return ModelUnavailable(f"{failure.said} (tries: {attempt}){when}")


def _asked(header: str, now: datetime) -> float | None:
    """The seconds that a `Retry-After` asks for, in either of its forms (RFC 9110, 10.2.3); None when it asks nothing."""
    if re.fullmatch(r"\s*[0-9]+(\.[0-9]+)?\s*", header):
        return min(float(header), timedelta(days=1).total_seconds())
    try:
        then = parsedate_to_datetime(header)
    except ValueError:
        return None
    seconds = (then if then.tzinfo else then.replace(tzinfo=UTC)) - now
    return max(0.0, min(seconds.total_seconds(), timedelta(days=1).total_seconds()))
