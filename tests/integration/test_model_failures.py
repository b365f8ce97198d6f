"""What the model's client does when a real HTTP server over loopback misbehaves."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.model_server.script import Script, ScriptedError, Turn
from bot.model_server.server import ModelServer
from memory.store import Store
from tests.databases import migrated_store
from tests.integration.speaking import ASK, KEY, NOW, Speaking, speak
from workers.llm.endpoint import ModelEndpoint
from workers.llm.errors import CallFailed, ContextOverflow, ModelUnavailable

HELLO = b"""data: {"choices": [{"delta": {"content": "Hello."}, "finish_reason": "stop"}]}

data: {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 4}}

data: [DONE]

"""

RawTurn = Callable[[BaseHTTPRequestHandler], None]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with migrated_store(tmp_path / "memory.db") as opened:
        yield opened


def playing(*turns: Turn, **more: object) -> ModelServer:
    """A server that knows these turns."""
    return ModelServer(Script(turns=turns, **more))


def failing(status: int, message: str, *, code: str | None = None, retry_after: float | None = None) -> Turn:
    """A turn that refuses in OpenAI's form."""
    return Turn(error=ScriptedError(status=status, message=message, code=code, retry_after=retry_after))


@contextmanager
def answering_raw(*turns: RawTurn) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """For what the scripted model does not do: a server's URL and what it was asked; the last turn repeats.

    That is an odd content type, a date to come back at, a stream that trickles, and a body where a stream was wanted.
    """
    left, asked = list(turns), []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            (left.pop(0) if len(left) > 1 else left[0])(self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def sending(body: bytes, kind: str, *, status: int = 200, **headers: str) -> RawTurn:
    """A raw turn that sends this."""

    def turn(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content_Type": kind, "Content_Length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return turn


def test_a_busy_server_is_asked_again_when_it_says(store: Store) -> None:
    """429 with Retry-After in seconds or as a date, then an answer; what was refused is not charged."""
    in_seven = (NOW + timedelta(seconds=7)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    busy = b'{"error": {"message": "slow down"}}'
    turns = (
        sending(busy, "application/json", status=429, Retry_After="3"),
        sending(busy, "application/json", status=503, Retry_After=in_seven),
        sending(HELLO, "text/event-stream"),
    )
    with answering_raw(*turns) as (url, _):
        spoken = speak(store, url)
        assert spoken.client.reply(ASK).text == "Hello."
    assert spoken.waited == [3.0, 7.0]
    assert (spoken.spent().calls, spoken.spent().failed, spoken.spent().prompt) == (3, 2, 10)


def test_the_machine_is_not_described(store: Store) -> None:
    """A request names neither the system nor the interpreter: to find the system out, a program would run."""
    seen: list[dict[str, str]] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        seen.append({name.lower(): value for name, value in handler.headers.items()})
        sending(HELLO, "text/event-stream")(handler)

    with answering_raw(answer) as (url, _):
        assert speak(store, url).client.reply(ASK).text == "Hello."
    assert "authorization" in seen[0]
    assert not any(part in name for name in seen[0] for part in ("-os", "-arch", "-runtime", "-lang"))


def test_a_server_that_wants_to_be_left_alone_is(store: Store) -> None:
    """Longer than a minute is not waited for; the error says when to come back."""
    with playing(failing(429, "out of credits", retry_after=7200)) as server:
        spoken = speak(store, server.url)
        with pytest.raises(ModelUnavailable, match=r"allows the next call at 2026-11-23 01:00 UTC"):
            spoken.client.reply(ASK)
    assert (spoken.waited, len(server.requests)) == ([], 1)


@pytest.mark.parametrize(
    ("turn", "said", "charged"),
    [
        (failing(503, "overloaded"), "answered 503: overloaded", False),
        (failing(500, "internal error"), "answered 500: internal error", True),
        (Turn(raw='data: {"choices": [{"delta": {"content": "Hel"}}]}\n\n'), "is incomplete", True),
        (Turn(say="Hello.", cut=2), "", True),
        (Turn(raw='data: {"choices"\n\n'), "no JSON", True),
        (Turn(raw='data: {"choices": 7}\n\n'), "is not a chat completion", True),
        (Turn(raw='data: {"error": {"message": "died"}}\n\n'), "stopped in the middle of its answer: died", True),
    ],
)
def test_what_may_pass_is_tried_three_times(store: Store, turn: Turn, said: str, charged: bool) -> None:
    """Then the model is unavailable; a try that may have been charged is accounted at its reservation."""
    with playing(turn) as server:
        check_three_tries(speak(store, server.url), said, charged=charged)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (sending(b"<html>busy</html>", "text/html"), "is incomplete"),
        (sending(b"data: {}", "text/event-stream", Content_Length="9999"), ""),
    ],
)
def test_a_page_or_half_a_body_may_pass_as_well(store: Store, turn: RawTurn, said: str) -> None:
    """What stands between us and the model may answer for it, or hang up; both may have been charged."""
    with answering_raw(turn) as (url, asked):
        check_three_tries(speak(store, url), said, charged=True)
    assert len(asked) == 3


def check_three_tries(spoken: Speaking, said: str, *, charged: bool) -> None:
    with pytest.raises(ModelUnavailable) as given_up:
        spoken.client.reply(ASK)
    assert said in str(given_up.value)
    assert "\n" not in str(given_up.value)
    assert len(spoken.waited) == 2
    spent = spoken.spent()
    assert (spent.calls, spent.open, spent.failed, spent.estimated) == (3, 0, *((0, 3) if charged else (3, 0)))
    assert (spent.prompt > 3 * ASK.max_tokens) is charged


@pytest.mark.parametrize("body", ["not json", "[1, 2]", '{"choices": []}', '{"a":' * 5_000, "9" * 5_000])
def test_a_body_that_is_no_completion_is_a_failure(store: Store, body: str) -> None:
    """Nothing but a chat completion is taken for one."""
    with playing(Turn(raw=body)) as server, pytest.raises(ModelUnavailable, match="is not a chat completion"):
        speak(store, server.url, stream=False).client.reply(ASK)
    assert len(server.requests) == 3


def test_a_body_that_is_not_even_json_by_its_type_is_a_failure(store: Store) -> None:
    """Plain text is no chat completion either."""
    with (
        answering_raw(sending(b"hm", "text/plain")) as (url, asked),
        pytest.raises(ModelUnavailable, match="is not a chat completion"),
    ):
        speak(store, url, stream=False).client.reply(ASK)
    assert len(asked) == 3


def test_a_server_that_sends_no_stream_is_asked_for_none(store: Store) -> None:
    """A body where a stream was asked for costs one try, and the next answer comes whole."""
    whole = b'{"choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]}'
    with answering_raw(sending(whole, "application/json")) as (url, asked):
        assert speak(store, url).client.reply(ASK).text == "Hello."
    assert ["stream" in body for body in asked] == [True, False]


@pytest.mark.parametrize("stream", [True, False])
def test_silence_is_given_up(store: Store, stream: bool) -> None:
    """A call without an answer ends in time, is accounted at its reservation, and is made again."""
    with playing(Turn(say="too late", delay=5.0, times=1), Turn(say="Hello.")) as server:
        spoken = speak(store, server.url, stream=stream, timeout=0.3)
        assert spoken.client.reply(ASK).text == "Hello."
    assert (spoken.spent().calls, spoken.spent().estimated) == (2, 1)


@pytest.mark.parametrize("sign", [b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n', b": still here\n\n"])
def test_a_trickle_is_given_up(store: Store, sign: bytes) -> None:
    """A stream whose pieces, or signs of life, come in time, but not its end, is no way around the time-out."""

    def trickles(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        with suppress(OSError):  # until it is hung up on
            while True:
                handler.wfile.write(sign)
                time.sleep(0.05)

    with answering_raw(trickles, sending(HELLO, "text/event-stream")) as (url, asked):
        assert speak(store, url, timeout=0.3).client.reply(ASK).text == "Hello."
    assert len(asked) == 2


@pytest.mark.parametrize(("stream", "status"), [(False, 200), (True, 500)])
def test_a_body_that_trickles_is_given_up(store: Store, stream: bool, status: int) -> None:
    """A whole answer, or an error, that a gateway keeps open with blank lines is no way around the time-out either."""

    def trickles(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        with suppress(OSError):  # until it is hung up on
            for _ in range(600):
                handler.wfile.write(b"\n")
                time.sleep(0.05)

    with answering_raw(trickles) as (url, asked):
        check_three_tries(speak(store, url, stream=stream, timeout=0.3), "", charged=True)
    assert len(asked) == 3


@pytest.mark.parametrize("stream", [False, True])
def test_headers_that_trickle_are_given_up(store: Store, stream: bool) -> None:
    """Neither are headers of which every byte comes in time."""

    def trickles(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        with suppress(OSError):  # until it is hung up on
            for _ in range(600):
                handler.wfile.write(b"x")
                time.sleep(0.05)

    with answering_raw(trickles) as (url, asked):
        check_three_tries(speak(store, url, stream=stream, timeout=0.3), "", charged=True)
    assert len(asked) == 3


def test_a_request_that_cannot_be_sent_costs_nothing() -> None:
    """The HTTP client refuses a header of two lines."""
    with (
        answering_raw(sending(HELLO, "text/event-stream")) as (url, asked),
        pytest.raises(CallFailed, match="Illegal header") as failed,
    ):
        ModelEndpoint(base_url=url, api_key=SecretStr("one\ntwo-0123"), model="toy").reply(ASK)
    assert not failed.value.charged
    assert not asked


def test_a_payment_that_is_missing_teaches_nothing(store: Store) -> None:
    """A refusal of another kind may name a feature as well; it is shown, and the next request has the feature."""
    with playing(failing(402, "This request requires more credits, or fewer max_tokens.")) as server:
        spoken = speak(store, server.url)
        with pytest.raises(ModelUnavailable, match="requires more credits"):
            spoken.client.reply(ASK)
    assert len(server.requests) == 1
    assert spoken.endpoint.features.max_tokens


def test_nobody_there_costs_nothing(store: Store) -> None:
    """A refused connection is tried again, said so, and surely not charged."""
    with playing(Turn(say="")) as server:
        pass
    spoken = speak(store, server.url)
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
    with playing(failing(status, message, code=code)) as server:
        spoken = speak(store, server.url)
        with pytest.raises(ContextOverflow):
            spoken.client.reply(ASK)
    assert len(server.requests) == 1
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
    with playing(failing(status, f"Incorrect API key provided: {KEY}.\nSee our site.")) as server:
        spoken = speak(store, server.url)
        with pytest.raises(ModelUnavailable) as refused:
            spoken.client.reply(ASK)
    assert check in str(refused.value)
    assert "\n" not in str(refused.value)
    error: BaseException | None = refused.value
    assert error is not None
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert KEY not in f"{error} {error!r} {spoken.endpoint!r} {spoken.client!r}"
    assert len(server.requests) == 1


def test_no_key_is_taken_from_elsewhere(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that another program left in the environment is not sent to our server."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-somebody-elses")
    with playing(Turn(say="Hello."), key="sk-somebody-elses") as server:
        endpoint = ModelEndpoint(base_url=server.url, api_key=SecretStr(""), model="toy")
        with pytest.raises(ModelUnavailable, match="APPRENTICE_MODEL_API_KEY"):
            endpoint.reply(ASK)
    assert not server.requests
