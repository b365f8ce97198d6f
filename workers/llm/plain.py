"""Tools and JSON in words, for endpoints that have neither. Pure.

The tools are described at the end of the system message, which stays the same throughout a conversation; a call is the
one fenced block of a reply, and what came of it is a user's message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from workers.llm.messages import Ask, Message, Role, ToolCall, ToolSpec

_BLOCK = re.compile(r"^```json[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_HOW = """You have the tools below. To use one, answer with exactly one block of this form, and nothing after it:

```json
{"tool": "name", "arguments": {}}
```

Use one tool at a time; what comes of it is told in the next message. Without such a block your answer is final.
"""
_AS_JSON = "Answer with one JSON object and nothing else. It must match this JSON schema"


def tools_in_words(ask: Ask) -> Ask:
    """The same request without the field for tools: told, called and answered in messages."""
    names = {call.id: call.name for message in ask.messages for call in message.calls}
    told = _told(ask.messages, "\n".join([_HOW, *map(_described, ask.tools)])) if ask.tools else ask.messages
    return replace(ask, tools=(), messages=tuple(_merged(_without_calls(each, names) for each in told)))


def schema_in_words(ask: Ask) -> Ask:
    """The same request with its schema told at the end, where it costs no prompt cache."""
    if ask.schema is None:
        return ask
    told = f"{_AS_JSON} ({ask.schema.name}):\n{json.dumps(dict(ask.schema.parameters))}"
    return replace(ask, schema=None, messages=tuple(_merged([*ask.messages, Message(role=Role.USER, text=told)])))


def call_in(text: str, asked: Sequence[Message]) -> tuple[str, tuple[ToolCall, ...]]:
    """The words of a reply and the call in it; all of it and none unless there is exactly one block that calls.

    A call's id is its number in the conversation, so that the same conversation gives the same ids.
    """
    blocks = [(block, found) for block in _BLOCK.finditer(text) if (found := _called(block[1])) is not None]
    if len(blocks) != 1:
        return text, ()
    (block, (name, arguments)) = blocks[0]
    number = sum(len(message.calls) for message in asked) + 1
    return text[: block.start()].rstrip(), (ToolCall(id=f"call_{number}", name=name, arguments=arguments),)


def _called(block: str) -> tuple[str, str] | None:
    try:
        found = json.loads(block)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("tool"), str):
        return None
    return found["tool"], json.dumps(found.get("arguments", {}), ensure_ascii=False)


def _described(tool: ToolSpec) -> str:
    return f"- `{tool.name}`: {tool.description}\n  arguments: {json.dumps(dict(tool.parameters))}"


def _told(messages: Sequence[Message], words: str) -> tuple[Message, ...]:
    """The messages with words at the end of the first one of the system, which is made where there is none."""
    first = messages[0] if messages and messages[0].role is Role.SYSTEM else None
    if first is None:
        return (Message(role=Role.SYSTEM, text=words), *messages)
    return (replace(first, text=f"{first.text}\n\n{words}"), *messages[1:])


def _without_calls(message: Message, names: dict[str, str]) -> Message:
    if message.role is Role.TOOL:
        name = names.get(message.call_id, "the tool")
        return replace(message, role=Role.USER, call_id="", text=f"What came of {name}:\n{message.text}")
    if not message.calls:
        return message
    blocks = [f'```json\n{{"tool": {json.dumps(c.name)}, "arguments": {c.arguments}}}\n```' for c in message.calls]
    return replace(message, calls=(), text="\n\n".join(filter(None, [message.text, *blocks])))


def _merged(messages: Iterable[Message]) -> list[Message]:
    """Neighbouring messages of the user as one: many chat templates want users and assistants in turns."""
    merged: list[Message] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last is not None and last.role is message.role is Role.USER:
            text = "\n\n".join(filter(None, [last.text, message.text]))
            merged[-1] = replace(last, text=text, images=(*last.images, *message.images))
        else:
            merged.append(message)
    return merged
