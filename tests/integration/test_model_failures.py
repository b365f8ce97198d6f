"""What the model's client does when a real HTTP server over loopback misbehaves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from pydantic import SecretStr

from memory.store import Store, open_store
from tests.integration.toy_model import (
    ASK,
    KEY,
    NOW,
    Turn,
    hangs,
    pieces,
    raw,
    refuses,
    says,
    serving,
    speak,
)
from workers.llm.endpoint import Endpoint
from workers.llm.errors import ContextOverflow, ModelUnavailable


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'memory.db'}") as opened:
        yield opened


def test_a_busy_server_is_asked_again_when_it_says(store: Store) -> None:
    """429 with Retry-After in seconds or as a date, then an answer; what was refused is not charged."""
    in_seven = (NOW + timedelta(seconds=7)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    turns = (
        refuses(429, "slow down", Retry_After="3"),
        refuses(503, "overloaded", Retry_After=in_seven),
        says("Hello."),
    )
    with serving(*turns) as script:
        spoken = speak(store, script)
        assert spoken.client.reply(ASK).text == "Hello."
    assert spoken.waited == [3.0, 7.0]
    assert (spoken.spent().calls, spoken.spent().failed, spoken.spent().prompt) == (3, 2, 10)


def test_a_server_that_wants_to_be_left_alone_is(store: Store) -> None:
    """Longer than a minute is not waited for; the error says when to come back."""
    with serving(refuses(429, "out of credits", Retry_After="7200")) as script:
        spoken = speak(store, script)
        with pytest.raises(ModelUnavailable, match=r"not to come back before 2026-11-23 01:00 UTC"):
            spoken.client.reply(ASK)
    assert (spoken.waited, len(script.seen)) == ([], 1)


@pytest.mark.parametrize(
    ("turn", "said", "charged"),
    [
        (refuses(500, "internal error"), "answered 500: internal error", False),
        (pieces("Hel", finish=""), "broke off", True),
        (raw(b"<html>busy</html>", Content_Type="text/html"), "broke off", True),
        (raw(b'data: {"choices"\n\n', Content_Type="text/event-stream"), "no JSON", True),
        (raw(b'data: {"choices": 7}\n\n', Content_Type="text/event-stream"), "no chat completion", True),
        (raw(b'data: {"error": {"message": "died"}}\n\n', Content_Type="text/event-stream"), "broke off: died", True),
        (raw(b"data: {}", Content_Type="text/event-stream", Content_Length="9999"), "", True),
    ],
)
def test_what_may_pass_is_tried_three_times(store: Store, turn: Turn, said: str, charged: bool) -> None:
    """Then the model is unavailable; a try that may have been charged is accounted at its reservation."""
    with serving(turn) as script:
        spoken = speak(store, script)
        with pytest.raises(ModelUnavailable) as given_up:
            spoken.client.reply(ASK)
    assert said in str(given_up.value)
    assert "\n" not in str(given_up.value)
    assert (len(script.seen), len(spoken.waited)) == (3, 2)
    spent = spoken.spent()
    assert (spent.calls, spent.open, spent.failed, spent.estimated) == (3, 0, *((0, 3) if charged else (3, 0)))
    assert (spent.prompt > 3 * ASK.max_tokens) is charged


@pytest.mark.parametrize(
    "turn", [raw(b"not json"), raw(b"[1, 2]"), raw(b'{"choices": []}'), raw(b"hm", Content_Type="text/plain")]
)
def test_a_body_that_is_no_completion_is_a_failure(store: Store, turn: Turn) -> None:
    """Nothing but a chat completion is taken for one."""
    with serving(turn) as script, pytest.raises(ModelUnavailable, match="no chat completion"):
        speak(store, script, stream=False).client.reply(ASK)
    assert len(script.seen) == 3


def test_a_server_that_sends_no_stream_is_asked_for_none(store: Store) -> None:
    """A body where a stream was asked for costs one try, and the next answer comes whole."""
    whole = says("Hello.")
    with serving(lambda handler, _: whole(handler, {})) as script:
        assert speak(store, script).client.reply(ASK).text == "Hello."
    assert ["stream" in body for body in script.seen] == [True, False]


@pytest.mark.parametrize("stream", [True, False])
def test_silence_is_given_up(store: Store, stream: bool) -> None:
    """A call without an answer ends in time, is accounted at its reservation, and is made again."""
    with serving(hangs, says("Hello.")) as script:
        spoken = speak(store, script, stream=stream, timeout=0.3)
        assert spoken.client.reply(ASK).text == "Hello."
    assert (spoken.spent().calls, spoken.spent().estimated) == (2, 1)


@pytest.mark.parametrize("sign", [b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n', b": still here\n\n"])
def test_a_trickle_is_given_up(store: Store, sign: bytes) -> None:
    """A stream whose pieces, or signs of life, come in time, but not its end, is no way around the time-out."""

    def trickles(handler: BaseHTTPRequestHandler, _: dict[str, object]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        with suppress(OSError):  # until it is hung up on
            while True:
                handler.wfile.write(sign)
                time.sleep(0.05)

    with serving(trickles, says("Hello.")) as script:
        assert speak(store, script, timeout=0.3).client.reply(ASK).text == "Hello."
    assert len(script.seen) == 2


def test_nobody_there_costs_nothing(store: Store) -> None:
    """A refused connection is tried again, said so, and surely not charged."""
    with serving(says("")) as script:
        pass
    spoken = speak(store, script)
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        spoken.client.reply(ASK)
    assert (spoken.spent().failed, spoken.spent().prompt) == (3, 0)


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (400, "context_length_exceeded", "Your input is too long."),
        (400, None, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"),
        (400, None, "'max_tokens' is too large: 9. This model's maximum context length is 4096 tokens, not supported"),
        (400, None, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
        (400, None, "the request exceeds the available context size, try increasing it"),
        (500, None, "Context size has been exceeded."),
        (400, None, "prompt too long; exceeded max context length by 12 tokens"),
    ],
)
def test_a_request_that_is_too_long_is_told_apart(store: Store, status: int, code: str | None, message: str) -> None:
    """As OpenAI, vLLM, llama.cpp and Ollama say it, whole or within a stream; it is not tried again."""
    with serving(refuses(status, message, code=code)) as script:
        spoken = speak(store, script)
        with pytest.raises(ContextOverflow):
            spoken.client.reply(ASK)
    assert len(script.seen) == 1
    assert spoken.spent().failed == 1


@pytest.mark.parametrize(
    ("status", "check"),
    [
        (401, "APPRENTICE_MODEL_API_KEY"),
        (403, "APPRENTICE_MODEL_API_KEY"),
        (404, "APPRENTICE_MODEL,"),
        (400, "answered 400"),
    ],
)
def test_the_key_is_in_no_error(store: Store, status: int, check: str) -> None:
    """A server that repeats our key does not get it shown; the line says what to check."""
    with serving(refuses(status, f"Incorrect API key provided: {KEY}.\nSee our site.")) as script:
        spoken = speak(store, script)
        with pytest.raises(ModelUnavailable) as refused:
            spoken.client.reply(ASK)
    assert check in str(refused.value)
    assert "\n" not in str(refused.value)
    error: BaseException | None = refused.value
    assert error is not None
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert KEY not in f"{error} {error!r} {spoken.endpoint!r} {spoken.client!r}"
    assert len(script.seen) == 1


def test_no_key_is_taken_from_elsewhere(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that another program left in the environment is not sent to our server."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-somebody-elses")
    with serving(says("Hello.")) as script:
        Endpoint(base_url=script.url, api_key=SecretStr(""), model="toy").answer(ASK)
    assert "sk-somebody-elses" not in script.keys[0]
