"""The scripted model, asked over loopback with the client that people use."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from bot.model_server.script import (
    Script,
    ScriptedAnswer,
    ScriptedCall,
    ScriptedError,
    ServerFeatures,
    Turn,
    When,
    parse_script,
)
from bot.model_server.server import ModelServer, ServerUsage
from workers.errors import BadInput

PAGE = Path(__file__).parents[2] / "docs" / "model-server.md"
TOOL: Any = {"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}
SCHEMA: Any = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": {"type": "object"}}}
IMAGE: Any = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
LONG = "The till counts a cent too many whenever a child travels alone."


@contextmanager
def asking(server: ModelServer, *, key: str = "any", timeout: float = 60.0) -> Iterator[OpenAI]:
    """The real client, which tries nothing twice."""
    with OpenAI(base_url=server.url, api_key=key, max_retries=0, timeout=timeout) as client:
        yield client


def said(text: object) -> list[Any]:
    return [{"role": "user", "content": text}]


def ask(client: OpenAI, content: object = "hi", *, model: str = "scripted", **more: object) -> ChatCompletion:
    """A plain answer."""
    return client.chat.completions.create(model=model, messages=said(content), **more)


def streamed(client: OpenAI, **more: object) -> Iterator[ChatCompletionChunk]:
    """The chunks of a streamed answer, as they come."""
    yield from client.chat.completions.create(model="scripted", messages=said("hi"), stream=True, **more)


def always(answer: Turn, **more: object) -> ModelServer:
    """A server with one turn."""
    return ModelServer(Script(turns=(answer,), **more))


def test_a_plain_answer_with_its_usage() -> None:
    """Words, the reason for the end, and the tokens that the server counts itself."""
    with always(Turn(say=LONG)) as server, asking(server) as client:
        answer = ask(client, "x" * 41, temperature=0.5, max_tokens=7)
        assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (LONG, "stop")
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (11, 16, 27)
        assert server.usage == ServerUsage(calls=1, prompt=11, completion=16)
        asked = server.requests[0]
        assert (asked.model, asked.last, asked.temperature, asked.body["max_tokens"]) == ("scripted", "x" * 41, 0.5, 7)


def test_a_stream_brings_the_same() -> None:
    """In several chunks, with the usage at the end for those who ask for it, and none for the others."""
    with always(Turn(say=LONG)) as server, asking(server) as client:
        chunks = list(streamed(client, stream_options={"include_usage": True}))
        pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
        assert "".join(piece or "" for piece in pieces) == LONG
        assert len(pieces) > 3
        assert chunks[-2].choices[0].finish_reason == "stop"
        assert (chunks[-1].choices, chunks[-1].usage.completion_tokens) == ([], 16)
        assert all(chunk.usage is None for chunk in streamed(client))
        assert server.usage.calls == 2


def test_tools_are_called() -> None:
    """Calls come with ids, plain and streamed; arguments may be malformed; words may stand beside them."""
    calls = (ScriptedCall(name="read_file", arguments={"path": "a.py"}), ScriptedCall(name="read_file", arguments="{"))
    with always(Turn(say="Looking.", calls=calls, when=When(tools=("read_file",)))) as server, asking(server) as client:
        choice = ask(client, tools=[TOOL]).choices[0]
        assert (choice.message.content, choice.finish_reason) == ("Looking.", "tool_calls")
        assert [call.function.arguments for call in choice.message.tool_calls] == ['{"path":"a.py"}', "{"]
        assert len({call.id for call in choice.message.tool_calls}) == 2
        lengths: Counter[int] = Counter()
        for chunk in streamed(client, tools=[TOOL]):
            for part in chunk.choices[0].delta.tool_calls or ():
                lengths[part.index] += len(part.function.arguments)
        assert lengths == {0: 15, 1: 1}
        assert server.requests[0].tools == ("read_file",)


def test_json_by_a_schema_and_a_refusal() -> None:
    """JSON is the text of the message; a refusal has its own field; another finish is given as scripted."""
    turns = (
        Turn(json={"ok": True}, when=When(contains=("judge",))),
        Turn(refusal="I will not.", when=When(contains=("harm",))),
        Turn(say="and then", finish="length"),
    )
    with ModelServer(Script(turns=turns)) as server, asking(server) as client:
        assert json.loads(ask(client, "judge", response_format=SCHEMA).choices[0].message.content) == {"ok": True}
        message = ask(client, "harm").choices[0].message
        assert (message.refusal, message.content) == ("I will not.", None)
        assert ask(client).choices[0].finish_reason == "length"
        assert server.requests[0].features["json_schema"]


def test_the_key_is_asked_for() -> None:
    """Another key gets 401 for answers and for the list of models."""
    with always(Turn(say="hi"), key="right") as server:
        with asking(server, key="wrong") as client:
            with pytest.raises(openai.AuthenticationError) as refused:
                ask(client)
            assert refused.value.code == "invalid_api_key"
            with pytest.raises(openai.AuthenticationError):
                client.models.list()
        with asking(server, key="right") as client:
            assert ask(client).choices[0].message.content == "hi"
        assert server.usage.calls == 1


def test_models_are_listed_and_known() -> None:
    """Those that are named, and no others; without names any is known."""
    with always(Turn(say="hi"), models=("big", "small")) as server, asking(server) as client:
        assert [model.id for model in client.models.list()] == ["big", "small"]
        assert ask(client, model="small").model == "small"
        with pytest.raises(openai.NotFoundError) as refused:
            ask(client, model="other")
        assert refused.value.code == "model_not_found"
        assert server.usage.calls == 1


@pytest.mark.parametrize(
    ("has", "more", "param", "message"),
    [
        (ServerFeatures(tools=False), {"tools": [TOOL]}, "tools", "tools is not supported"),
        (
            ServerFeatures(json_schema=False),
            {"response_format": SCHEMA},
            "response_format",
            "'response_format' of type 'json_schema' is not supported with this model",
        ),
        (ServerFeatures(stream=False), {"stream": True}, "stream", "stream is not supported"),
        (ServerFeatures(images=False), {"content": IMAGE}, "messages", "image_url is not supported"),
        (ServerFeatures(temperature=False), {"temperature": 0}, "temperature", "'temperature' is not supported"),
    ],
)
def test_what_the_endpoint_has_not_is_refused(
    has: ServerFeatures, more: dict[str, Any], param: str, message: str
) -> None:
    """With 400 that names the parameter, and only if it is used."""
    with always(Turn(say="hi"), has=has) as server, asking(server) as client:
        with pytest.raises(openai.BadRequestError, match=message) as refused:
            ask(client, **more)
        assert refused.value.param == param
        assert ask(client).choices[0].message.content == "hi"


def test_scripted_errors() -> None:
    """429 says when to come again, 500 is the server's fault; the client's own second try gets the next turn."""
    turns = (
        Turn(
            error=ScriptedError(status=429, message="slow down", code="rate_limit_exceeded", retry_after=0.01), times=2
        ),
        Turn(error=ScriptedError(status=500), times=1),
        Turn(say="at last"),
    )
    with ModelServer(Script(turns=turns)) as server, asking(server) as client:
        with pytest.raises(openai.RateLimitError, match="slow down") as refused:
            ask(client)
        assert (refused.value.code, refused.value.response.headers["retry-after"]) == ("rate_limit_exceeded", "0.01")
        with pytest.raises(openai.InternalServerError):
            ask(client.with_options(max_retries=1))
        assert ask(client).choices[0].message.content == "at last"
        assert server.usage.calls == 1


def test_a_client_that_does_not_wait() -> None:
    """A delay beyond the client's patience ends at its hanging up, and is not counted as answered."""
    with (
        always(Turn(say="late", delay=600.0)) as server,
        asking(server, timeout=1.0) as client,
        pytest.raises(openai.APITimeoutError),
    ):
        ask(client)
    assert server.usage.calls == 0


def test_stopping_within_a_delay(caplog: pytest.LogCaptureFixture) -> None:
    """The server does not wait for its own delays: the client loses the connection, and no error is logged."""
    server = always(Turn(say="late", delay=600.0)).start()
    with asking(server) as client, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, client)
        while not server.requests and not waiting.done():
            time.sleep(0.01)
        server.stop()
        with pytest.raises(openai.APIConnectionError):
            waiting.result()
    assert server.usage.calls == 0
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize("cut", [0, 2, 99])
def test_answers_that_are_cut(cut: int) -> None:
    """A stream ends after so many chunks without a reason, a body in its middle; the client sees a lost connection."""
    with always(Turn(say=LONG, cut=cut)) as server, asking(server) as client:
        got: list[ChatCompletionChunk] = []
        with pytest.raises(openai.APIConnectionError):
            for chunk in streamed(client):
                got.append(chunk)
        assert len(got) == min(cut, 4)
        assert all(chunk.choices[0].finish_reason is None for chunk in got)
        with pytest.raises(openai.APIConnectionError):
            ask(client)
        assert server.usage.calls == 0


def test_a_malformed_body() -> None:
    """It comes as it stands, with 200, and is not counted."""
    with always(Turn(raw='{"choices": [')) as server:
        with asking(server) as client, pytest.raises(json.JSONDecodeError):
            ask(client)
        answer = httpx.post(f"{server.url}/chat/completions", json={"model": "m", "messages": said("hi")})
        assert (answer.status_code, answer.text) == (200, '{"choices": [')
        assert server.usage.calls == 0


def test_nothing_fits() -> None:
    """Without a fitting turn it is 400 with the last message, or what the script has otherwise."""
    told = pytest.raises(openai.BadRequestError, match="no turn of the script fits; last message: hi")
    with ModelServer(Script()) as server, asking(server) as client, told:
        ask(client)
    with ModelServer(Script(otherwise=ScriptedAnswer(say="pardon?"))) as server, asking(server) as client:
        assert ask(client).choices[0].message.content == "pardon?"


def test_many_at_once_add_up() -> None:
    """A turn is given exactly as often as it may, and our count is the sum of the usages that the clients got."""
    turns = (Turn(say="first", times=20), Turn(say="second"))
    with ModelServer(Script(turns=turns)) as server, asking(server) as client:
        with ThreadPoolExecutor(10) as pool:
            answers = list(pool.map(lambda n: ask(client, "x" * 600 + "y" * n, model=f"m{n % 2}"), range(50)))
        assert Counter(answer.choices[0].message.content for answer in answers) == {"first": 20, "second": 30}
        assert len({answer.id for answer in answers}) == 50
        counted = ServerUsage(
            calls=50,
            prompt=sum(answer.usage.prompt_tokens for answer in answers),
            completion=sum(answer.usage.completion_tokens for answer in answers),
        )
        assert server.usage == counted
        assert httpx.get(f"{server.root}/usage").json() == asdict(server.usage)


def test_the_documented_script_plays() -> None:
    """The example of docs/model-server.md does what the page says."""
    found = re.search(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    with ModelServer(parse_script(found[1], "the example")) as server, asking(server, key="not-a-secret") as client:
        call = ask(client, 'File "fares.py", line 8, in test_fare', tools=[TOOL]).choices[0].message.tool_calls[0]
        assert json.loads(call.function.arguments) == {"path": "fares.py"}
        assert json.loads(ask(client, "test_fare: def fare():").choices[0].message.content)["line"] == 8
        with pytest.raises(openai.RateLimitError):
            ask(client, "Hello")
        assert ask(client, "Hello").choices[0].message.content == "Hello. That is free."
        assert ask(client, "Bye").choices[0].message.content == "I have no line for this."


def test_a_port_that_is_taken() -> None:
    """Two servers cannot have the same one."""
    with (
        always(Turn(say="hi")) as server,
        pytest.raises(BadInput, match=r"^cannot listen on 127\.0\.0\.1:\d+: .*in use"),
    ):
        ModelServer(Script(), port=int(server.root.rpartition(":")[2]))
