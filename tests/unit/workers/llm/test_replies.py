"""What endpoints answer, as replies."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.llm.errors import CallFailed
from workers.llm.messages import ChatMessage, ChatRole, FinishReason, ModelReply, ModelRequest, ToolCall
from workers.llm.replies import RawReply, reply_of

CALL = ToolCall(id="call_1", name="a", arguments="{}")
ASK = ModelRequest(
    messages=(
        ChatMessage(role=ChatRole.USER, text="hello"),
        ChatMessage(role=ChatRole.ASSISTANT, text="", calls=(CALL,)),
    ),
    purpose="x",
)
USAGE = {"prompt_tokens": 9, "completion_tokens": 3}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "delta",
                    "content",
                    "tool_calls",
                    "function",
                    "arguments",
                    "usage",
                    "prompt_tokens",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


def whole(message: dict[str, object], finish: str | None = "stop", **body: object) -> ModelReply:
    said = RawReply()
    said.add_completion({"choices": [{"message": message, "finish_reason": finish}], "usage": USAGE, **body})
    return reply_of(said, ASK, "m")


@pytest.mark.parametrize(
    ("message", "finish", "ended"),
    [
        ({"content": "hi"}, "stop", FinishReason.STOP),
        ({"content": "hi"}, None, FinishReason.STOP),
        ({"content": "hi"}, "end_turn", FinishReason.STOP),
        ({"content": "hi"}, "length", FinishReason.LENGTH),
        ({"content": None}, "content_filter", FinishReason.REFUSED),
        ({"refusal": "no"}, "stop", FinishReason.REFUSED),
        ({"tool_calls": [{"function": {"name": "a"}}]}, "stop", FinishReason.CALLS),
        ({"tool_calls": [{"function": {"name": "a"}}]}, "length", FinishReason.LENGTH),
    ],
)
def test_why_a_reply_ended(message: dict[str, object], finish: str | None, ended: FinishReason) -> None:
    """By what is in it as well as by its word for it; a call that was cut off is no call yet."""
    assert whole(message, finish).finish is ended


def test_calls_without_ids_get_numbers() -> None:
    """That go on from the calls before; arguments that came as an object are JSON again."""
    calls = [{"function": {"name": "a", "arguments": {"x": 1}}}, {"function": {"name": "b"}}]
    assert whole({"tool_calls": calls}).calls == (
        ToolCall(id="call_2", name="a", arguments='{"x": 1}'),
        ToolCall(id="call_3", name="b", arguments="{}"),
    )


def chunk(**call: object) -> dict[str, object]:
    """A chunk of one call."""
    function = {key: call.pop(key) for key in ("name", "arguments") if key in call}
    return {"choices": [{"delta": {"tool_calls": [{**call, "function": function}]}, "finish_reason": "tool_calls"}]}


@pytest.mark.parametrize(("one", "other"), [({}, {}), ({"index": 0}, {"index": 0}), ({"index": 0}, {"index": 1})])
def test_calls_in_one_stream(one: dict[str, object], other: dict[str, object]) -> None:
    """Another id is another call, whatever its index; a chunk without an id continues the last call, or that of its index."""
    said = RawReply()
    said.add_chunk(chunk(id="a", name="read", arguments='{"x":', **one))
    said.add_chunk(chunk(arguments=" 1", **one))
    said.add_chunk(chunk(id="a", arguments="}", **one))
    said.add_chunk(chunk(id="b", name="search", arguments='{"y":', **other))
    said.add_chunk(chunk(arguments=" 2}", **other))
    assert reply_of(said, ASK, "m").calls == (
        ToolCall(id="a", name="read", arguments='{"x": 1}'),
        ToolCall(id="b", name="search", arguments='{"y": 2}'),
    )


def test_calls_that_come_by_turns() -> None:
    """An index says which call a chunk belongs to."""
    said = RawReply()
    for index, text in ((1, '{"y":'), (0, '{"x":'), (1, "2}"), (0, "1}")):
        said.add_chunk(chunk(index=index, id="ab"[index], arguments=text))
    assert [call.arguments for call in reply_of(said, ASK, "m").calls] == ['{"x":1}', '{"y":2}']


def test_letters_in_two_pieces() -> None:
    """A letter that an endpoint cuts in two is whole again; half a one, which nothing could store, is replaced."""
    said = RawReply()
    for text in ("a \ud83d", "\ude00 b", " \ud83d."):
        call = {"index": 0, "function": {"name": "a", "arguments": text}}
        said.add_chunk({"choices": [{"delta": {"content": text, "tool_calls": [call]}, "finish_reason": "stop"}]})
    found = reply_of(said, ASK, "m")
    assert (found.text, found.calls[0].arguments) == ("a \U0001f600 b \ufffd.",) * 2


def test_thoughts_are_no_answer() -> None:
    """What some models think aloud first is left out; the same mark within an answer stays."""
    assert whole({"content": "<think>\nIs {it}?\n</think>\n\nYes."}).text == "Yes."
    assert whole({"content": "Say <think>x</think>."}).text == "Say <think>x</think>."
    assert whole({"content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]}).text == "in parts"


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        7,
        {"prompt_tokens": -1, "completion_tokens": 1},
        {"prompt_tokens": "9", "completion_tokens": 1},
        {"prompt_tokens": 10**30, "completion_tokens": 1},
        {"prompt_tokens": 9, "completion_tokens": 10**10},
    ],
)
def test_usage_that_cannot_be_is_estimated(usage: object) -> None:
    """What is wrong with it spoils no answer."""
    found = whole({"content": "hello there"}, usage=usage).usage
    assert found.estimated
    assert found.completion == 4


def test_thoughts_are_charged() -> None:
    """An estimate counts what the model thought before its answer, and the whole limit where that cut the answer."""
    for key in ("reasoning_content", "reasoning"):
        assert whole({"content": "", key: "hello there"}, usage=None).usage.completion == 4
    assert whole({"content": ""}, "length", usage=None).usage.completion == ASK.max_tokens
    assert whole({"content": "", "reasoning": {"text": "no text"}}, usage=None).usage.completion == 0


def test_no_more_is_cached_than_was_read() -> None:
    """Else a price would be negative."""
    usage = {**USAGE, "prompt_tokens_details": {"cached_tokens": 99}}
    assert whole({"content": ""}, usage=usage).usage.cached == 9


@given(ANYTHING)
def test_anything_is_a_reply_or_a_failure(body: object) -> None:
    """Whatever JSON an endpoint answers, whole or as a piece."""
    for add in (RawReply.add_completion, RawReply.add_chunk):
        said = RawReply()
        with contextlib.suppress(CallFailed):
            add(said, json.loads(json.dumps(body)))
            reply_of(said, ASK, "m")
