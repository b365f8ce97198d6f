"""The model's client against the scripted model over loopback: replies, and what an endpoint can do without."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.model_server.script import Script, ScriptedCall, ScriptedError, Turn, When
from bot.model_server.server import ModelServer
from memory.store import Store
from tests.databases import migrated_store
from tests.integration.speaking import ASK, KEY, NOW, READ_FILE, speak
from workers.llm.client import models_of
from workers.llm.errors import BadReply, BudgetSpent, ModelDeclined, ModelError
from workers.llm.messages import ChatMessage, ChatRole, FinishReason, Tier, ToolCall
from workers.llm.structured import ask_for
from workers.ports import Image
from workers.settings import WorkerSettings, load

HELLO = "Hello — hello, and hello to all who come after."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with migrated_store(tmp_path / "memory.db") as opened:
        yield opened


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the critic thinks."""

    agrees: bool
    why: str


def playing(*turns: Turn, **more: object) -> ModelServer:
    """A server that knows these turns."""
    return ModelServer(Script(turns=turns, **more))


def bodies(server: ModelServer) -> list[Any]:
    """The JSON of every request so far."""
    return [asked.body for asked in server.requests]


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_is_the_same_whole_and_in_pieces(store: Store, stream: bool) -> None:
    """Its words and its end, however they come; the key is sent, and nothing stands before the messages."""
    with playing(Turn(say=HELLO), key=KEY) as server:
        reply = speak(store, server.url, stream=stream).client.reply(ASK)
    assert (reply.text, reply.calls, reply.finish, reply.usage.estimated) == (HELLO, (), FinishReason.STOP, False)
    assert bodies(server)[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Say hello."},
    ]


@pytest.mark.parametrize("stream", [True, False])
def test_the_servers_word_on_model_and_usage_is_taken(store: Store, stream: bool) -> None:
    """The model's own name, and its count at our price, with what it had ready at less, however they come."""
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 6}}
    message = {"role": "assistant", "content": "Hello."}
    head = {"id": "c1", "created": 1, "model": "toy-1"}
    end = {"index": 0, "finish_reason": "stop"}
    whole = {**head, "object": "chat.completion", "choices": [{**end, "message": message}], "usage": usage}
    chunk = {**head, "object": "chat.completion.chunk", "choices": [{**end, "delta": message}], "usage": None}
    last = {**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}
    stream_text = "".join(f"data: {each}\n\n" for each in (json.dumps(chunk), json.dumps(last), "[DONE]"))
    with playing(Turn(raw=stream_text if stream else json.dumps(whole))) as server:
        spoken = speak(store, server.url, stream=stream)
        reply = spoken.client.reply(ASK)
    assert reply.model == "toy-1"
    assert (reply.usage.prompt, reply.usage.cached, reply.usage.completion, reply.usage.estimated) == (10, 6, 4, False)
    assert (spoken.spent().calls, spoken.spent().prompt, spoken.spent().micros) == (1, 10, 51)


@pytest.mark.parametrize("stream", [True, False])
def test_tools_are_called(store: Store, stream: bool) -> None:
    """The calls of a reply come with their ids and arguments, and go back with the next request."""
    calls = (
        ScriptedCall(name="read_file", arguments='{"path": 1}'),
        ScriptedCall(name="read_file", arguments="not json"),
    )
    with playing(Turn(calls=calls, times=1), Turn(say="Done.")) as server:
        client = speak(store, server.url, stream=stream).client
        ask = replace(ASK, tools=(READ_FILE,))
        reply = client.reply(ask)
        assert reply.finish is FinishReason.CALLS
        assert [(c.id, c.name, c.arguments) for c in reply.calls] == [
            ("call_1_0", "read_file", '{"path": 1}'),
            ("call_1_1", "read_file", "not json"),
        ]
        answers = [ChatMessage(role=ChatRole.TOOL, text="text", call_id=call.id) for call in reply.calls]
        said = ChatMessage(role=ChatRole.ASSISTANT, text=reply.text, calls=reply.calls)
        assert client.reply(replace(ask, messages=(*ask.messages, said, *answers))).text == "Done."
    first, second = bodies(server)
    assert second["messages"][:2] == first["messages"]
    assert [message.get("tool_call_id") for message in second["messages"][3:]] == ["call_1_0", "call_1_1"]
    assert first["tools"] == second["tools"]


def test_without_tools_the_model_is_told_of_them_in_words(store: Store) -> None:
    """A server that refuses tools is asked again once, and from then on gets and gives them in messages."""
    refusal = Turn(
        when=When(tools=("read_file",)), error=ScriptedError(status=400, message="toy does not support tools")
    )
    called = 'Let me look.\n\n```json\n{"tool": "read_file", "arguments": {"path": "a.py"}}\n```'
    with playing(refusal, Turn(say=called, times=1), Turn(say="It says x.")) as server:
        spoken = speak(store, server.url)
        ask = replace(ASK, tools=(READ_FILE,))
        reply = spoken.client.reply(ask)
        said = ChatMessage(role=ChatRole.ASSISTANT, text=reply.text, calls=reply.calls)
        result = ChatMessage(role=ChatRole.TOOL, text="x = 1", call_id=reply.calls[0].id)
        last = spoken.client.reply(replace(ask, messages=(*ask.messages, said, result)))
    assert (reply.text, reply.finish) == ("Let me look.", FinishReason.CALLS)
    assert reply.calls == (ToolCall(id="call_1", name="read_file", arguments='{"path": "a.py"}'),)
    assert last.text == "It says x."
    assert not spoken.endpoint.features.tools
    assert ["tools" in body for body in bodies(server)] == [True, False, False]
    first, second = (body["messages"] for body in bodies(server)[1:])
    assert second[:2] == first
    assert "read_file" in first[0]["content"]
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]
    assert second[3]["content"] == "The result of read_file:\nx = 1"
    assert spoken.spent().calls == 2


def test_what_a_server_lacks_is_learned_one_by_one(store: Store) -> None:
    """Names of parameters, temperature, options of streams, pictures and streams themselves are done without."""
    complaints = {
        "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.",
        "temperature": "Unsupported value: 'temperature' does not support 0.0 with this model.",
        "stream_options": "Unknown parameter: 'stream_options'.",
        "stream": "streaming is not supported",
        "images": "image input is not supported by this model",
    }
    refusals = [Turn(error=ScriptedError(status=400, message=said), times=1) for said in complaints.values()]
    picture = ChatMessage(
        role=ChatRole.USER, text="What is this?", images=(Image(media_type="image/png", content=b"png"),)
    )
    ask = replace(ASK, messages=(ASK.messages[0], picture))
    with playing(*refusals, Turn(say="ok")) as server:
        spoken = speak(store, server.url)
        assert spoken.client.reply(ask).text == "ok"
        assert spoken.client.reply(ask).text == "ok"
    used = [
        [name for name in complaints if name in asked.body or (name == "images" and asked.messages[1].images)]
        for asked in server.requests
    ]
    assert used == [list(complaints)[learned:] for learned in range(5)] + [[], []]
    assert bodies(server)[0]["messages"][1]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,cG5n"},
    }
    assert set(bodies(server)[-1]) == {"model", "messages", "max_completion_tokens"}
    assert spoken.spent().calls == 2


def test_a_schema_is_sent_strictly(store: Store) -> None:
    """Where the server has it, the reply's form is enforced there, and read here."""
    with playing(Turn(say='{"agrees": true, "why": "it holds"}')) as server:
        found = ask_for(speak(store, server.url).client, ASK, Verdict)
    assert found == Verdict(agrees=True, why="it holds")
    asked = bodies(server)[0]["response_format"]["json_schema"]
    assert (asked["name"], asked["strict"]) == ("Verdict", True)
    assert asked["schema"]["additionalProperties"] is False
    assert asked["schema"]["required"] == ["agrees", "why"]


def test_without_schemas_the_form_is_told_and_repaired(store: Store) -> None:
    """A server without schemas is told in words; an answer that does not fit is sent back once with what is wrong."""
    refusal = ScriptedError(status=400, message="This response_format type is unavailable now")
    fitting = 'Here:\n```json\n{"agrees": false, "why": "no"}\n```'
    turns = (Turn(error=refusal, times=1), Turn(say="Sure! I agree.", times=1), Turn(say=fitting))
    with playing(*turns) as server:
        assert ask_for(speak(store, server.url).client, ASK, Verdict) == Verdict(agrees=False, why="no")
    assert ["response_format" in body for body in bodies(server)] == [True, False, False]
    repair = bodies(server)[2]["messages"]
    assert repair[:1] == bodies(server)[1]["messages"][:1]
    assert repair[2] == {"role": "assistant", "content": "Sure! I agree."}
    assert "holds 0" in repair[3]["content"]


def test_an_answer_that_stays_wrong_is_a_bad_reply(store: Store) -> None:
    """One repair and no more."""
    with playing(Turn(say='{"agrees": "yes", "why": "x"}')) as server, pytest.raises(BadReply, match=r"\$\.agrees"):
        ask_for(speak(store, server.url).client, ASK, Verdict)
    assert len(server.requests) == 2


@pytest.mark.parametrize("stream", [True, False])
def test_a_refusal_is_an_answer(store: Store, stream: bool) -> None:
    """The model's declining comes as a reply that says so, and as an error where a value was asked for."""
    with playing(Turn(refusal="I cannot help with that.")) as server:
        client = speak(store, server.url, stream=stream).client
        reply = client.reply(ASK)
        assert (reply.finish, reply.text) == (FinishReason.REFUSED, "I cannot help with that.")
        with pytest.raises(ModelDeclined, match=r"I cannot help"):
            ask_for(client, ASK, Verdict)


def test_usage_that_is_not_told_is_estimated(store: Store) -> None:
    """A stream without usage is accounted upwards, and marked so."""
    refusal = ScriptedError(status=400, message="stream_options: not permitted")
    with playing(Turn(error=refusal, times=1), Turn(say="Hello.")) as server:
        spoken = speak(store, server.url)
        reply = spoken.client.reply(ASK)
    assert reply.usage.estimated
    assert reply.usage.completion == 2
    assert spoken.spent().estimated == 1


def test_settings_make_a_model_with_budgets(store: Store) -> None:
    """From settings to a reply; the second run's call is refused by the day's budget before it is made."""
    with playing(Turn(say="Hello.")) as server:
        settings = load(
            WorkerSettings, model_base_url=server.url, model="toy", model_weak="tiny", model_tokens_per_day=4300
        )
        models = models_of(settings, store, lambda: NOW, random.Random(1))
        assert models("t1", "o/r").reply(replace(ASK, tier=Tier.WEAK)).text == "Hello."
        models("t2", "o/r").reply(ASK)
        with pytest.raises(BudgetSpent) as refused:
            models("t3", "o/r").reply(replace(ASK, max_tokens=4290))
    assert [body["model"] for body in bodies(server)] == ["tiny", "toy"]
    assert str(refused.value) == (
        "the model's budget of 4300 tokens a day is used up: 14 tokens are used, and the next call may use 4329 tokens; "
        "it renews at 2026-11-23 00:00 UTC; APPRENTICE_MODEL_TOKENS_PER_DAY raises it"
    )
    assert isinstance(refused.value, ModelError)
