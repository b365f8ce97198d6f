"""Answers as typed values."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.llm.errors import BadReply, ModelDeclined
from workers.llm.messages import ChatMessage, ChatRole, FinishReason, ModelReply, ModelRequest, TokenUsage
from workers.llm.structured import ask_for, read, schema_of

ASK = ModelRequest(messages=(ChatMessage(role=ChatRole.USER, text="Judge."),), purpose="judge")


class Kind(StrEnum):
    BUG = "bug"
    TASTE = "taste"


class Line(msgspec.Struct, frozen=True):
    number: int
    default: str = "x"


class Found(msgspec.Struct, frozen=True):
    """A finding."""

    kind: Kind
    lines: tuple[Line, ...] = ()
    note: str | None = None


class Tree(msgspec.Struct, frozen=True):
    name: str
    parts: list[Tree] = []


def reply(text: str, finish: FinishReason = FinishReason.STOP) -> ModelReply:
    return ModelReply(text=text, calls=(), finish=finish, usage=TokenUsage(prompt=1, completion=1), model="m")


@dataclass
class Scripted:
    """A model that says what it is given, and keeps what it was asked."""

    replies: list[ModelReply]
    asked: list[ModelRequest] = field(default_factory=list)

    def reply(self, ask: ModelRequest) -> ModelReply:
        self.asked.append(ask)
        return self.replies.pop(0)


def test_a_schema_is_strict_all_the_way_down() -> None:
    """Every object has all its properties required and no others; names that look like keywords stay."""
    spec = schema_of(Found)
    assert (spec.name, spec.description) == ("Found", "A finding.")
    assert spec.parameters["type"] == "object"
    assert spec.parameters["required"] == ["kind", "lines", "note"]
    assert spec.parameters["additionalProperties"] is False
    parts = spec.parameters["$defs"]
    assert isinstance(parts, dict)
    assert (parts["Kind"]["enum"], parts["Kind"]["type"]) == (["bug", "taste"], "string")
    assert parts["Line"]["required"] == ["number", "default"]
    assert parts["Line"]["properties"] == {"number": {"type": "integer"}, "default": {"type": "string"}}
    assert "Found" not in parts


def test_a_schema_may_hold_itself() -> None:
    """What refers to the root finds it."""
    parts = schema_of(Tree).parameters["$defs"]
    assert isinstance(parts, dict)
    assert "Tree" in parts


OBJECT = '{"kind": "bug", "lines": [{"number": 3}]}'


@pytest.mark.parametrize(
    "text",
    [
        OBJECT,
        f"\n```json\n{OBJECT}\n```\n",
        f"```\n{OBJECT}\n```",
        f"Here it is, as {{asked}}:\n{OBJECT}\nI hope it helps.",
        '{"kind": "bug", "lines": [{"number": 3}], "note": "a } and a {"}',
    ],
)
def test_one_object_is_read_with_words_around_it(text: str) -> None:
    """With a fence, before and after prose, or bare."""
    assert read(reply(text), Found).lines == (Line(3),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds 0"),
        ("no", "holds 0"),
        (f"{OBJECT} {OBJECT}", "holds 2"),
        (f"[{OBJECT}]", "one JSON object"),
        ('{"kind": "bug"', "holds 0"),
        ('{"kind": "worse"}', r"\$\.kind"),
        ('{"kind": "bug", "lines": [{"number": "3"}]}', r"\$\.lines\[0\]\.number"),
        ("{" * 5000, "holds 0"),
        ('{"a":' * 5000, "holds 0"),
        ('{"kind": "bug", "note": ' + "[" * 100_000 + "]" * 100_000 + "}", "JSON object"),
    ],
)
def test_nothing_else_is(text: str, said: str) -> None:
    """None, several, a list, a part, and values of other types."""
    with pytest.raises(BadReply, match=said):
        read(reply(text), Found)


@given(st.text(alphabet='{}[]":, abknidug\\', max_size=60))
def test_any_text_is_a_value_or_a_bad_reply(text: str) -> None:
    """No text gets through as anything else."""
    with contextlib.suppress(BadReply):
        assert isinstance(read(reply(text), Found), Found)


def test_an_answer_is_repaired_once_with_what_was_wrong() -> None:
    """The conversation goes on with the wrong answer and the error."""
    model = Scripted([reply('{"kind": "worse"}'), reply('{"kind": "taste"}')])
    assert ask_for(model, ASK, Found) == Found(Kind.TASTE)
    first, second = model.asked
    assert first.schema == schema_of(Found) == second.schema
    assert second.messages[:2] == (*ASK.messages, ChatMessage(role=ChatRole.ASSISTANT, text='{"kind": "worse"}'))
    assert "$.kind" in second.messages[2].text


def test_a_cut_answer_is_asked_for_shorter() -> None:
    """Also one that happens to be whole up to there: the model had more to say."""
    model = Scripted([reply(OBJECT, FinishReason.LENGTH), reply(OBJECT)])
    assert ask_for(model, ASK, Found).kind is Kind.BUG
    assert "shorter" in model.asked[1].messages[-1].text


def test_a_second_wrong_answer_is_a_bad_reply() -> None:
    """And there is no third."""
    model = Scripted([reply("no"), reply("no"), reply(OBJECT)])
    with pytest.raises(BadReply):
        ask_for(model, ASK, Found)
    assert len(model.asked) == 2


def test_a_refusal_is_not_argued_with() -> None:
    """In the first answer or in the repaired one; its text is told on one line, without what looks like a credential."""
    model = Scripted([reply("I must not\nuse ghp_" + "a" * 20, FinishReason.REFUSED)])
    with pytest.raises(ModelDeclined, match=r"^the model declined: I must not use \[secret removed\]$"):
        ask_for(model, ASK, Found)
    with pytest.raises(ModelDeclined):
        ask_for(Scripted([reply("no"), reply("", FinishReason.REFUSED)]), ASK, Found)
