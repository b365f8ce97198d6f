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
    [None, {}, 7, {"prompt_tokens": -1, "completion_tokens": 1}, {"prompt_tokens": "9", "completion_tokens": 1}],
)
def test_usage_that_cannot_be_is_estimated(usage: object) -> None:
    """What is wrong with it spoils no answer."""
    found = whole({"content": "hello there"}, usage=usage).usage
    assert found.estimated
    assert found.completion == 4


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
