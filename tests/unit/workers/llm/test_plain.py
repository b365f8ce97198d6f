"""Tools and JSON in words."""

from __future__ import annotations

import pytest

from workers.llm.messages import ChatMessage, ChatRole, ModelRequest, ToolCall, ToolSpec
from workers.llm.structured import call_in, schema_as_text, tools_as_text

TOOL = ToolSpec(name="grep", description="Search.", parameters={"type": "object"})
SYSTEM, USER = ChatMessage(role=ChatRole.SYSTEM, text="Be brief."), ChatMessage(role=ChatRole.USER, text="Find it.")
CALL = '```json\n{"tool": "grep", "arguments": {"word": "x"}}\n```'


@pytest.mark.parametrize(
    ("text", "called"),
    [
        (CALL, True),
        (f"I look.\n\n{CALL}\n", True),
        (f"I look.\n{CALL}\nResult: nothing.", True),
        (f'An example:\n```json\n{{"a": 1}}\n```\n{CALL}', True),
        (f"{CALL}\n{CALL}", False),
        ("Done.", False),
        ('```json\n{"tool": 7}\n```', False),
        ('```json\n["tool"]\n```', False),
        ('```json\n{"tool": "grep", \n```', False),
        ('```json\n{"tool": "grep"}', False),
        ('{"tool": "grep", "arguments": {}}', False),
        ("```json\n" + "[" * 100_000 + "\n```", False),
    ],
)
def test_a_call_is_the_one_block_of_its_form(text: str, called: bool) -> None:
    """None or several blocks that call are no call, and then every word stands as it came."""
    words, calls = call_in(text, ())
    assert bool(calls) is called
    assert words == text if not called else CALL not in words


def test_a_call_keeps_its_words_and_arguments() -> None:
    """What was said before it stays; without arguments there is an empty object."""
    assert call_in(f"I look.\n\n{CALL}", ()) == (
        "I look.",
        (ToolCall(id="call_1", name="grep", arguments='{"word": "x"}'),),
    )
    assert call_in('```json\n{"tool": "ls"}\n```', ())[1][0].arguments == "{}"


def test_ids_count_through_a_conversation() -> None:
    """No two calls of one conversation share an id."""
    before = ChatMessage(role=ChatRole.ASSISTANT, text="", calls=(ToolCall(id="call_1", name="grep", arguments="{}"),))
    assert call_in(CALL, (before,))[1][0].id == "call_2"


def test_a_conversation_with_tools_becomes_one_of_words() -> None:
    """The system message tells of the tools, calls are blocks as they are asked for, users and assistants take turns."""
    calls = tuple(ToolCall(id=f"c{n}", name="grep", arguments='{"word": "x"}') for n in (1, 2))
    said = ChatMessage(role=ChatRole.ASSISTANT, text="I look.", calls=calls)
    results = [ChatMessage(role=ChatRole.TOOL, text=f"line {n}", call_id=f"c{n}") for n in (1, 2)]
    told = tools_as_text(ModelRequest(messages=(SYSTEM, USER, said, *results), purpose="x", tools=(TOOL,)))
    system, user, assistant, result = told.messages
    assert told.tools == ()
    assert system.text.startswith("Be brief.\n\nYou have the tools below.")
    assert "- `grep`: Search." in system.text
    assert user == USER
    assert assistant.text == f"I look.\n\n{CALL}\n\n{CALL}"
    assert (assistant.calls, result.role) == ((), ChatRole.USER)
    assert result.text == "The result of grep:\nline 1\n\nThe result of grep:\nline 2"


def test_without_a_system_message_there_is_one() -> None:
    """The tools are told all the same."""
    told = tools_as_text(ModelRequest(messages=(USER,), purpose="x", tools=(TOOL,)))
    assert [message.role for message in told.messages] == [ChatRole.SYSTEM, ChatRole.USER]


def test_a_schema_is_told_at_the_end() -> None:
    """What stays the same between requests stays in front."""
    told = schema_as_text(ModelRequest(messages=(SYSTEM, USER), purpose="x", schema=TOOL))
    assert told.messages[0] == SYSTEM
    assert told.messages[1].text.startswith("Find it.\n\nAnswer with one JSON object")
    assert told.messages[1].text.endswith('{"type": "object"}')
    assert told.schema is None
