"""Whether and when a failed call is made again."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from workers.llm.client import wait_after
from workers.llm.errors import CallFailed, ModelUnavailable

NOW = datetime(2026, 11, 22, 23, 59, 30, tzinfo=UTC)


def wait(retry_after: str = "", *, attempt: int = 1, seed: int = 1) -> float | None:
    """Seconds, or None where the call is given up."""
    failed = CallFailed("busy", charged=False, retry_after=retry_after)
    try:
        return wait_after(failed, attempt=attempt, rng=random.Random(seed), now=NOW)
    except ModelUnavailable:
        return None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        ("1.5", 1.5),
        ("60", 60.0),
        ("61", None),
        ("99999999999999", None),
        ("Mon, 23 Nov 2026 00:00:00 GMT", 30.0),
        ("Mon, 23 Nov 2026 01:00:00 +0100", 30.0),
        ("Sun, 22 Nov 2026 12:00:00 GMT", 0.0),
        ("Mon, 23 Nov 2026 00:10:00 GMT", None),
        ("Mon, 23 Nov 9999 00:10:00 GMT", None),
    ],
)
def test_the_server_is_waited_for_as_it_asks(header: str, seconds: float | None) -> None:
    """In seconds or until a date; longer than a minute is not waited for."""
    assert wait(header) == seconds


@pytest.mark.parametrize(
    "header",
    [
        "",
        "soon",
        "-1",
        "Mon, 99 Nov 2026 00:00:00 GMT",
        "nan",
        "1e9",
        "\u0661.",
        "Mon, 23 Nov 99999999999 00:10:00 GMT",
    ],
)
def test_without_a_word_that_is_understood_waits_grow(header: str) -> None:
    """Twice as long each time, with chances so that workers spread."""
    first, second = wait(header), wait(header, attempt=2)
    assert first is not None
    assert second == 2 * first
    assert 0.5 <= first <= 1.5
    assert wait(header, seed=2) != first


def test_three_tries_are_all() -> None:
    """Whatever the server asks."""
    assert wait(attempt=3) is None
    assert wait("1", attempt=3) is None


def test_giving_up_says_when_to_come_back() -> None:
    """Where the server said it, and only where that was not waited for."""
    for retry_after, attempt, said in (
        ("3600", 1, "busy (tries: 1); the endpoint allows the next call at 2026-11-23 00:59 UTC"),
        ("5", 3, "busy (tries: 3)"),
    ):
        failed = CallFailed("busy", charged=False, retry_after=retry_after)
        with pytest.raises(ModelUnavailable) as given_up:
            wait_after(failed, attempt=attempt, rng=random.Random(1), now=NOW)
        assert str(given_up.value) == said
