"""Payloads become small values; nothing is rejected for its shape."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.events import KNOWN, Ignored, PingEvent, PullEvent, parse
from workers.errors import BadInput

Payload = Callable[..., bytes]


@pytest.mark.parametrize("event", sorted(KNOWN))
def test_every_event_is_read(event: str, payload: Payload) -> None:
    """There is a sample of every event we know, and it is read, with all the fields that we do not know."""
    assert not isinstance(parse(event, payload(event, {"brand_new_field": {"deep": [1]}})), Ignored)


@pytest.mark.parametrize(
    ("event", "action"),
    [("issues", "closed"), ("issue_comment", "deleted"), ("pull_request", "labeled"), ("check_run", "completed")],
)
def test_other_actions_are_ignored(event: str, action: str, payload: Payload) -> None:
    """An action that we do not act on is ignored with its name, whatever the rest looks like."""
    assert parse(event, payload(event, {"action": action})) == Ignored(
        reason=f"{event}.{action} is not an action that we act on"
    )


@pytest.mark.parametrize("event", ["star", "push"])
def test_unknown_event(event: str) -> None:
    """An event that we do not know is ignored with its name."""
    assert parse(event, b"{}") == Ignored(reason=f"event '{event}' is not one that we act on")


@pytest.mark.parametrize("event", ["star", "issues", "ping", "push"])
@pytest.mark.parametrize("raw", [b"", b"{", b"nonsense", b'{"action": "opened", "issue": {"number": "x"}', b"\xff\xfe"])
def test_not_json(event: str, raw: bytes) -> None:
    """What is not JSON is bad input for known and unknown events alike."""
    with pytest.raises(BadInput, match="not JSON"):
        parse(event, raw)


@pytest.mark.parametrize(
    "raw", [b"[]", b"null", b"{}", b'{"action": "opened"}', b'{"action": "opened", "issue": {"number": "x"}}']
)
def test_unusable_shape_is_ignored(raw: bytes) -> None:
    """JSON of a shape that we cannot use is ignored with what is wrong, never refused."""
    found = parse("issues", raw)
    assert isinstance(found, Ignored)
    assert "cannot be used" in found.reason or "not an action" in found.reason


@pytest.mark.parametrize(("head", "from_fork"), [({}, False), ({"repo": {"id": 78}}, True), ({"repo": None}, True)])
def test_fork(head: dict[str, object], from_fork: bool, payload: Payload) -> None:
    """A head in another repository, or in one that was deleted, is a fork's."""
    event = parse("pull_request", payload("pull_request", {"pull_request": {"head": head}}))
    assert isinstance(event, PullEvent)
    assert event.pull_request.from_fork is from_fork


def test_ping(payload: Payload) -> None:
    """The App's first delivery carries neither repository nor sender, and is read."""
    assert parse("ping", payload("ping")) == PingEvent()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.slow
@given(st.sampled_from(sorted(KNOWN)), values)
def test_any_json(event: str, value: object) -> None:
    """No JSON value makes parsing fail."""
    parse(event, json.dumps(value).encode())
