"""The chunks of a streamed completion put together again; pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Struct

from bot.model_server.wire import Choice, Completion, Function, Message, Tokens, ToolCall

_DATA = b"data:"
_DONE = b"[DONE]"


class Broken(Exception):
    """The stream ended before it said why."""


class _Function(Struct, frozen=True):
    name: str | None = None
    arguments: str | None = None


class _Call(Struct, frozen=True):
    index: int = 0
    id: str | None = None
    function: _Function = _Function()


class _Delta(Struct, frozen=True):
    content: str | None = None
    refusal: str | None = None
    tool_calls: tuple[_Call, ...] | None = None


class _Choice(Struct, frozen=True):
    index: int = 0
    delta: _Delta = _Delta()
    finish_reason: str | None = None


class _Chunk(Struct, frozen=True):
    id: str = ""
    model: str = ""
    choices: tuple[_Choice, ...] = ()
    usage: Tokens | None = None


def joined(stream: bytes) -> Completion:
    """The first choice that a stream of server-sent events brought. Raises Broken for one that is not whole."""
    chunks = tuple(_chunks(stream))
    choices = [choice for chunk in chunks for choice in chunk.choices if not choice.index]
    finish = next((choice.finish_reason for choice in choices if choice.finish_reason), None)
    if finish is None:
        raise Broken
    calls = _calls([call for choice in choices for call in choice.delta.tool_calls or ()])
    message = Message(
        content="".join(choice.delta.content or "" for choice in choices) or None,
        refusal="".join(choice.delta.refusal or "" for choice in choices) or None,
        tool_calls=calls or UNSET,
    )
    usage = next((chunk.usage for chunk in chunks if chunk.usage), None)
    choice = Choice(message=message, finish_reason=finish)
    return Completion(id=chunks[0].id, model=chunks[0].model, choices=(choice,), usage=usage)


def _chunks(stream: bytes) -> Iterator[_Chunk]:
    for line in stream.splitlines():
        data = line.removeprefix(_DATA).strip()
        if line.startswith(_DATA) and data != _DONE:
            try:
                yield msgspec.json.decode(data, type=_Chunk)
            except msgspec.DecodeError as error:
                raise Broken from error


def _calls(parts: list[_Call]) -> tuple[ToolCall, ...]:
    return tuple(_call([part for part in parts if part.index == place]) for place in sorted({p.index for p in parts}))


def _call(parts: list[_Call]) -> ToolCall:
    name = "".join(part.function.name or "" for part in parts)
    arguments = "".join(part.function.arguments or "" for part in parts)
    return ToolCall(
        id=next((part.id for part in parts if part.id), ""), function=Function(name=name, arguments=arguments)
    )
