"""Answers as typed values: a schema that strict endpoints accept, strict decoding, and one chance to correct."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import msgspec

from workers.llm.errors import BadReply, ModelDeclined
from workers.llm.messages import (
    ChatMessage,
    ChatRole,
    FinishReason,
    Model,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolSpec,
)
from workers.redaction import redact

T = TypeVar("T", bound=msgspec.Struct)

_NOT_STRICT = frozenset({"default", "discriminator", "title", "minLength", "maxLength"})
"""Keywords that strict endpoints refuse."""
_SHOWN = 200


def ask_for(model: Model, ask: ModelRequest, kind: type[T]) -> T:
    """The model's answer as a value of `kind`, whose schema is part of the request.

    Raises BadReply when neither the first nor the corrected answer matches, ModelDeclined when the model declines.
    """
    asked = replace(ask, schema=schema_of(kind))
    reply = _not_declined(model.reply(asked))
    try:
        return read(reply, kind)
    except BadReply as error:
        correction = f"{error}.\nAnswer again with the whole JSON object and nothing else."
        turn = (ChatMessage(role=ChatRole.ASSISTANT, text=reply.text), ChatMessage(role=ChatRole.USER, text=correction))
        return read(_not_declined(model.reply(replace(asked, messages=(*asked.messages, *turn)))), kind)


def schema_of(kind: type[msgspec.Struct]) -> ToolSpec:
    """A struct's JSON schema in the form that strict endpoints accept: every property required, and no others."""
    (root,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    strict = {name: _strict(part) for name, part in parts.items()}
    found = strict[root["$ref"].rpartition("/")[2]]
    inside = (
        strict
        if json.dumps(root) in json.dumps(strict)
        else {name: part for name, part in strict.items() if part is not found}
    )
    found = found | ({"$defs": inside} if inside else {})
    return ToolSpec(name=kind.__name__, description=str(found.pop("description", "")), parameters=found)


def read(reply: ModelReply, kind: type[T]) -> T:
    """The value in a reply: one JSON object, with or without text or a fence around it. Raises BadReply."""
    if reply.finish is FinishReason.LENGTH:
        raise BadReply("the answer reached its length limit; it must be shorter")
    try:
        return msgspec.json.decode(_one_object(reply.text), type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadReply(f"the answer does not match the schema: {_line(str(error))}") from error


def _not_declined(reply: ModelReply) -> ModelReply:
    if reply.finish is FinishReason.REFUSED:
        raise ModelDeclined(
            f"the model declined: {_line(reply.text)}" if reply.text else "the model declined to answer"
        )
    return reply


def _one_object(text: str) -> str:
    """The only JSON object in a text. Raises BadReply for none and for several."""
    found, place, decoder = [], text.find("{"), json.JSONDecoder()
    while place >= 0:
        try:
            _, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            found.append((place, text[place:end]))
        place = text.find("{", end)
    if len(found) != 1 or text[: found[0][0]].rstrip().endswith("["):
        raise BadReply(f"the answer must hold one JSON object, and holds {len(found)}")
    return found[0][1]


def _strict(node: object) -> dict[str, object]:
    """A part of a schema without the keywords that strict endpoints refuse. Mappings of any keys stay as they are."""
    assert isinstance(node, Mapping)
    kept = {key: _strict_value(key, value) for key, value in node.items() if key not in _NOT_STRICT}
    if "properties" in node:
        kept |= {"required": list(node["properties"]), "additionalProperties": False}
    if "enum" in node and all(isinstance(each, str) for each in node["enum"]):
        kept["type"] = "string"
    return kept


def _strict_value(key: str, value: object) -> object:
    """A keyword's value. The keys under `properties` are names, which may equal keywords."""
    if key == "properties" and isinstance(value, Mapping):
        return {name: _strict(part) for name, part in value.items()}
    if isinstance(value, Mapping):
        return _strict(value)
    if isinstance(value, list):
        return [_strict(part) if isinstance(part, Mapping) else part for part in value]
    return value


def _line(text: str) -> str:
    return " ".join(redact(text).split())[:_SHOWN]


_FENCE = re.compile(r"^```(?P<json>json)?[ \t]*$", re.MULTILINE)
_HOW = """You have the tools below. To use one, answer with exactly one block of this form, and nothing after it:

```json
{"tool": "name", "arguments": {}}
```

Use one tool at a time; the next message holds its result. Without such a block your answer is final.
"""
_AS_JSON = "Answer with one JSON object and nothing else. It must match this JSON schema"


def tools_as_text(ask: ModelRequest) -> ModelRequest:
    """The same request without the field for tools: messages describe the tools, calls and results."""
    names = {call.id: call.name for message in ask.messages for call in message.calls}
    messages = (
        _with_instructions(ask.messages, "\n".join([_HOW, *map(_described, ask.tools)])) if ask.tools else ask.messages
    )
    return replace(ask, tools=(), messages=tuple(_merged(_without_calls(each, names) for each in messages)))


def schema_as_text(ask: ModelRequest) -> ModelRequest:
    """The same request with its schema as text at the end, where it does not invalidate the prompt cache."""
    if ask.schema is None:
        return ask
    described = f"{_AS_JSON} ({ask.schema.name}):\n{json.dumps(dict(ask.schema.parameters))}"
    return replace(
        ask, schema=None, messages=tuple(_merged([*ask.messages, ChatMessage(role=ChatRole.USER, text=described)]))
    )


def call_in(text: str, asked: Sequence[ChatMessage]) -> tuple[str, tuple[ToolCall, ...]]:
    """The text of a reply and the call in it; all of the text and no call unless exactly one block holds a call.

    A call's id is its number in the conversation, so that the same conversation gives the same ids.
    """
    blocks = [(start, found) for start, block in _blocks(text) if (found := _called(block)) is not None]
    if len(blocks) != 1:
        return text, ()
    (start, (name, arguments)) = blocks[0]
    number = sum(len(message.calls) for message in asked) + 1
    return text[:start].rstrip(), (ToolCall(id=f"call_{number}", name=name, arguments=arguments),)


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Where each block of JSON begins, and what it holds."""
    opened = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence if fence["json"] else None
        elif not fence["json"]:
            yield opened.start(), text[opened.end() : fence.start()]
            opened = None


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


def _with_instructions(messages: Sequence[ChatMessage], words: str) -> tuple[ChatMessage, ...]:
    """The messages with words at the end of the first one of the system, which is made where there is none."""
    if messages and messages[0].role is ChatRole.SYSTEM:
        return (replace(messages[0], text=f"{messages[0].text}\n\n{words}"), *messages[1:])
    return (ChatMessage(role=ChatRole.SYSTEM, text=words), *messages)


def _without_calls(message: ChatMessage, names: dict[str, str]) -> ChatMessage:
    if message.role is ChatRole.TOOL:
        name = names.get(message.call_id, "the tool")
        return replace(message, role=ChatRole.USER, call_id="", text=f"The result of {name}:\n{message.text}")
    if not message.calls:
        return message
    blocks = [f'```json\n{{"tool": {json.dumps(c.name)}, "arguments": {c.arguments}}}\n```' for c in message.calls]
    return replace(message, calls=(), text="\n\n".join(filter(None, [message.text, *blocks])))


def _merged(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Neighbouring messages of the user as one: many chat templates want users and assistants in turns."""
    merged: list[ChatMessage] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last is not None and last.role is message.role is ChatRole.USER:
            text = "\n\n".join(filter(None, [last.text, message.text]))
            merged[-1] = replace(last, text=text, images=(*last.images, *message.images))
        else:
            merged.append(message)
    return merged
