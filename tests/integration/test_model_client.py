"""The model's client against a real HTTP server over loopback, and what it does when that misbehaves.

The server here is minimal; it is to be replaced by `bot.model_server` once that stands.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest
from pydantic import SecretStr

from memory.store import Spent, Store, open_store
from workers.llm.client import Client, Tiered, models_of
from workers.llm.costs import Price
from workers.llm.endpoint import Endpoint
from workers.llm.errors import BadReply, BudgetSpent, ContextOverflow, ModelError, ModelUnavailable, Refused
from workers.llm.messages import Ask, Ended, Image, Message, Role, Tier, ToolCall, ToolSpec
from workers.llm.structured import ask_for
from workers.settings import WorkerSettings, load

NOW = datetime(2026, 11, 22, 23, 0, tzinfo=UTC)
KEY = "local-Key-0123456789"
USAGE = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 6}}
READ_FILE = ToolSpec(name="read_file", description="Read a file.", parameters={"type": "object", "properties": {}})
ASK = Ask(
    messages=(Message(role=Role.SYSTEM, text="Be brief."), Message(role=Role.USER, text="Say hello.")), purpose="repair"
)


Turn = Callable[[BaseHTTPRequestHandler, dict[str, object]], None]


# ── The server ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Script:
    """What a server answers, in turn: bodies, or what it does with the request in hand. The last one repeats."""

    turns: list[Turn]
    seen: list[dict[str, object]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    url: str = ""


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    usual = {"Content_Type": "application/json", "Content_Length": str(len(body))}
    for name, value in (usual | headers).items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def says(text: str | None = None, *, finish: str = "stop", **message: object) -> Turn:
    """A turn that answers so, whole or in pieces as it is asked."""

    def turn(handler: BaseHTTPRequestHandler, body: dict[str, object]) -> None:
        if body.get("stream"):
            pieces(text, finish=finish, **message)(handler, body)
            return
        choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        send(handler, 200, json.dumps({"model": "toy-1", "choices": [choice], "usage": USAGE}).encode())

    return turn


def pieces(text: str | None, *, finish: str = "stop", **message: object) -> Turn:
    """A turn that answers as a stream, a character at a time; without `finish` it is cut."""

    def turn(handler: BaseHTTPRequestHandler, body: dict[str, object]) -> None:
        deltas: list[dict[str, object]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": letter} for letter in text or ""]
        deltas += [message] if message else []
        chunks: list[dict[str, object]] = [{"model": "toy-1", "choices": [{"index": 0, "delta": d}]} for d in deltas]
        if finish:
            chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
            chunks += [{"choices": [], "usage": USAGE}] if "stream_options" in body else []
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + (["data: [DONE]\n\n"] if finish else [])
        send(handler, 200, "".join(lines).encode(), Content_Type="text/event-stream")

    return turn


def refuses(status: int, message: str, *, code: str | None = None, **headers: str) -> Turn:
    """A turn that answers with an error in OpenAI's form."""
    body = json.dumps({"error": {"message": message, "code": code, "param": None, "type": "invalid"}}).encode()
    return lambda handler, _: send(handler, status, body, **headers)


def raw(body: bytes, **headers: str) -> Turn:
    """A turn that answers with these bytes."""
    return lambda handler, _: send(handler, 200, body, **headers)


def unless(used: Callable[[dict[str, object]], bool], otherwise: Turn, refusal: Turn) -> Turn:
    """A turn that refuses requests that use something."""
    return lambda handler, body: (refusal if used(body) else otherwise)(handler, body)


def hangs(handler: BaseHTTPRequestHandler, _: dict[str, object]) -> None:
    time.sleep(1.0)


@contextmanager
def serving(*turns: Turn) -> Iterator[Script]:
    script = Script(turns=list(turns))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            script.seen.append(body)
            script.keys.append(self.headers.get("Authorization", ""))
            turn = script.turns.pop(0) if len(script.turns) > 1 else script.turns[0]
            turn(self, body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# ── What is under test ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'memory.db'}") as opened:
        yield opened


@dataclass
class Speaking:
    """A client at a server, and how long it waited between tries."""

    client: Client
    endpoint: Endpoint
    store: Store
    waited: list[float]

    def spent(self) -> Spent:
        (only,) = self.store.calls.summary()
        return only


def speak(store: Store, script: Script, *, stream: bool = True, timeout: float = 20.0) -> Speaking:
    endpoint = Endpoint(
        base_url=script.url, api_key=SecretStr(KEY), model="toy", timeout_seconds=timeout, stream=stream
    )
    waited: list[float] = []
    tier = Tiered(endpoint=endpoint, name="toy", price=Price(prompt=2.0, cached=0.5, completion=10.0))
    client = Client(
        tiers={Tier.STRONG: tier, Tier.WEAK: tier},
        calls=store.calls,
        limits=(),
        task_id="t1",
        repository="o/r",
        clock=lambda: NOW,
        rng=random.Random(1),
        sleep=waited.append,
    )
    return Speaking(client=client, endpoint=endpoint, store=store, waited=waited)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the critic thinks."""

    agrees: bool
    why: str


# ── Replies ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_is_the_same_whole_and_in_pieces(store: Store, stream: bool) -> None:
    """Text, model, usage and price, however they come; the key is sent, and nothing stands before the messages."""
    with serving(says("Hello — hello.")) as script:
        spoken = speak(store, script, stream=stream)
        reply = spoken.client.reply(ASK)
    assert (reply.text, reply.calls, reply.ended, reply.model) == ("Hello — hello.", (), Ended.STOP, "toy-1")
    assert (reply.usage.prompt, reply.usage.cached, reply.usage.completion, reply.usage.estimated) == (10, 6, 4, False)
    assert reply.micros == 4 * 2 + 3 + 40
    assert script.keys == [f"Bearer {KEY}"]
    assert script.seen[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Say hello."},
    ]
    assert (spoken.spent().calls, spoken.spent().prompt, spoken.spent().micros) == (1, 10, 51)


@pytest.mark.parametrize("stream", [True, False])
def test_tools_are_called(store: Store, stream: bool) -> None:
    """The calls of a reply come with their ids and arguments, and go back with the next request."""
    calls = [
        {"index": 0, "id": "a1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": 1}'}},
        {"index": 1, "id": "a2", "type": "function", "function": {"name": "read_file", "arguments": "not json"}},
    ]
    with serving(says(None, finish="tool_calls", tool_calls=calls), says("Done.")) as script:
        client = speak(store, script, stream=stream).client
        ask = replace(ASK, tools=(READ_FILE,))
        reply = client.reply(ask)
        assert reply.ended is Ended.CALLS
        assert [(c.id, c.name, c.arguments) for c in reply.calls] == [
            ("a1", "read_file", '{"path": 1}'),
            ("a2", "read_file", "not json"),
        ]
        answers = [Message(role=Role.TOOL, text="text", call_id=call.id) for call in reply.calls]
        said = Message(role=Role.ASSISTANT, text=reply.text, calls=reply.calls)
        assert client.reply(replace(ask, messages=(*ask.messages, said, *answers))).text == "Done."
    sent = script.seen[1]["messages"]
    assert sent[:2] == script.seen[0]["messages"]
    assert [message.get("tool_call_id") for message in sent[3:]] == ["a1", "a2"]
    assert script.seen[0]["tools"] == script.seen[1]["tools"]


def test_without_tools_the_model_is_told_of_them_in_words(store: Store) -> None:
    """A server that refuses tools is asked again once, and from then on gets and gives them in messages."""
    called = 'Let me look.\n\n```json\n{"tool": "read_file", "arguments": {"path": "a.py"}}\n```'
    answer = iter([says(called), says("It says x.")])
    refusal = refuses(400, "toy:latest does not support tools")
    turn = unless(lambda body: "tools" in body, lambda h, b: next(answer)(h, b), refusal)
    with serving(turn) as script:
        spoken = speak(store, script)
        ask = replace(ASK, tools=(READ_FILE,))
        reply = spoken.client.reply(ask)
        said = Message(role=Role.ASSISTANT, text=reply.text, calls=reply.calls)
        result = Message(role=Role.TOOL, text="x = 1", call_id=reply.calls[0].id)
        last = spoken.client.reply(replace(ask, messages=(*ask.messages, said, result)))
    assert (reply.text, reply.ended) == ("Let me look.", Ended.CALLS)
    assert reply.calls == (ToolCall(id="call_1", name="read_file", arguments='{"path": "a.py"}'),)
    assert last.text == "It says x."
    assert not spoken.endpoint.features.tools
    assert ["tools" in body for body in script.seen] == [True, False, False]
    first, second = (body["messages"] for body in script.seen[1:])
    assert second[:2] == first
    assert "read_file" in first[0]["content"]
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]
    assert second[3]["content"] == "What came of read_file:\nx = 1"
    assert spoken.spent().calls == 2


def test_what_a_server_lacks_is_learned_one_by_one(store: Store) -> None:
    """Names of parameters, temperature, options of streams, pictures and streams themselves are done without."""
    lacking = [
        (
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.",
        ),
        ("temperature", "Unsupported value: 'temperature' does not support 0.0 with this model."),
        ("stream_options", "Unknown parameter: 'stream_options'."),
        ("stream", "streaming is not supported"),
    ]

    def turn(handler: BaseHTTPRequestHandler, body: dict[str, object]) -> None:
        complaint = next((said for name, said in lacking if name in body), None)
        if complaint is None and isinstance(body["messages"][1]["content"], list):
            complaint = "image input is not supported by this model"
        (refuses(400, complaint) if complaint else says("ok"))(handler, body)

    picture = Message(role=Role.USER, text="What is this?", images=(Image(media_type="image/png", content=b"png"),))
    ask = replace(ASK, messages=(ASK.messages[0], picture))
    with serving(turn) as script:
        spoken = speak(store, script)
        assert spoken.client.reply(ask).text == "ok"
        assert spoken.client.reply(ask).text == "ok"
    assert len(script.seen) == 5 + 2
    assert script.seen[0]["messages"][1]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,cG5n"},
    }
    assert set(script.seen[-1]) == {"model", "messages", "max_completion_tokens"}
    assert spoken.spent().calls == 2


def test_a_schema_is_sent_strictly(store: Store) -> None:
    """Where the server has it, the reply's form is enforced there, and read here."""
    with serving(says('{"agrees": true, "why": "it holds"}')) as script:
        found = ask_for(speak(store, script).client, ASK, Verdict)
    assert found == Verdict(agrees=True, why="it holds")
    asked = script.seen[0]["response_format"]["json_schema"]
    assert (asked["name"], asked["strict"]) == ("Verdict", True)
    assert asked["schema"]["additionalProperties"] is False
    assert asked["schema"]["required"] == ["agrees", "why"]


def test_without_schemas_the_form_is_told_and_repaired(store: Store) -> None:
    """A server without schemas is told in words; an answer that does not fit is sent back once with what is wrong."""
    answers = iter([says("Sure! I agree."), says('Here:\n```json\n{"agrees": false, "why": "no"}\n```')])
    refusal = refuses(400, "This response_format type is unavailable now")
    turn = unless(lambda body: "response_format" in body, lambda h, b: next(answers)(h, b), refusal)
    with serving(turn) as script:
        assert ask_for(speak(store, script).client, ASK, Verdict) == Verdict(agrees=False, why="no")
    assert len(script.seen) == 3
    repair = script.seen[2]["messages"]
    assert repair[:1] == script.seen[1]["messages"][:1]
    assert repair[2] == {"role": "assistant", "content": "Sure! I agree."}
    assert "holds 0" in repair[3]["content"]


def test_an_answer_that_stays_wrong_is_a_bad_reply(store: Store) -> None:
    """One repair and no more."""
    with serving(says('{"agrees": "yes", "why": "x"}')) as script, pytest.raises(BadReply, match=r"\$\.agrees"):
        ask_for(speak(store, script).client, ASK, Verdict)
    assert len(script.seen) == 2


@pytest.mark.parametrize("stream", [True, False])
def test_a_refusal_is_an_answer(store: Store, stream: bool) -> None:
    """The model's declining comes as a reply that says so, and as an error where a value was asked for."""
    with serving(says(None, refusal="I cannot help with that.")) as script:
        client = speak(store, script, stream=stream).client
        reply = client.reply(ASK)
        assert (reply.ended, reply.text) == (Ended.REFUSED, "I cannot help with that.")
        with pytest.raises(Refused, match=r"I cannot help"):
            ask_for(client, ASK, Verdict)


def test_usage_that_is_not_told_is_estimated(store: Store) -> None:
    """A stream without usage is accounted upwards, and marked so."""
    unknown = unless(lambda b: "stream_options" in b, says("Hello."), refuses(400, "stream_options: not permitted"))
    with serving(unknown) as script:
        spoken = speak(store, script)
        reply = spoken.client.reply(ASK)
    assert reply.usage.estimated
    assert reply.usage.completion == 2
    assert spoken.spent().estimated == 1


# ── Failures ───────────────────────────────────────────────────────────────────────────────────────────────────────


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


# ── From the settings ──────────────────────────────────────────────────────────────────────────────────────────────


def test_settings_make_a_model_with_budgets(store: Store) -> None:
    """From settings to a reply; the second run's call is refused by the day's budget before it is made."""
    with serving(says("Hello.")) as script:
        settings = load(
            WorkerSettings, model_base_url=script.url, model="toy", model_weak="tiny", model_tokens_per_day=4300
        )
        models = models_of(settings, store, lambda: NOW, random.Random(1))
        assert models is not None
        assert models("t1", "o/r").reply(replace(ASK, tier=Tier.WEAK)).text == "Hello."
        models("t2", "o/r").reply(ASK)
        with pytest.raises(BudgetSpent) as refused:
            models("t3", "o/r").reply(replace(ASK, max_tokens=4290))
    assert [body["model"] for body in script.seen] == ["tiny", "toy"]
    assert str(refused.value) == (
        "the model's budget of 4300 tokens a day is used up: 28 tokens are taken, and the next call may take 4329 tokens; "
        "it renews at 2026-11-23 00:00 UTC; APPRENTICE_MODEL_TOKENS_PER_DAY raises it"
    )
    assert isinstance(refused.value, ModelError)


def test_without_an_address_there_is_no_model(store: Store) -> None:
    """Everything of it is off by default."""
    assert models_of(load(WorkerSettings), store, lambda: NOW, random.Random(1)) is None
