"""A request for a completion as a value: only what is matched, counted or refused is read; pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec
from msgspec import Struct

from bot.model_server.errors import Refused

Document = dict[str, object]
"""A JSON object."""

CLIPPED = 120
"""Characters of a message that errors quote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A tool call as an assistant's message carries it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One message. `text` is its words, then `[image <digest>]` for each image, then `name arguments` for each call."""

    role: str
    text: str
    calls: tuple[ToolUse, ...] = ()
    call_id: str = ""
    images: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request. `tools` and `schema` are names; `body` is all of it as it came."""

    model: str
    messages: tuple[Spoken, ...]
    tools: tuple[str, ...] = ()
    schema: str = ""
    stream: bool = False
    with_usage: bool = False
    temperature: float | None = None
    max_tokens: int | None = None
    body: Mapping[str, object]

    @cached_property
    def text(self) -> str:
        """All that was said, a line break between messages."""
        return "\n".join(message.text for message in self.messages)

    @property
    def last(self) -> str:
        """The text of the last message."""
        return self.messages[-1].text

    @property
    def system(self) -> str:
        """What the system said, or the developer, as newer clients call it."""
        return "\n".join(message.text for message in self.messages if message.role in {"system", "developer"})

    @cached_property
    def prompt(self) -> str:
        """What is counted: the tools as compact JSON, then the messages' texts, with nothing between them."""
        tools = self.body.get("tools")
        return (msgspec.json.encode(tools).decode() if tools else "") + "".join(m.text for m in self.messages)


class _Url(Struct, frozen=True):
    url: str = ""


class _Part(Struct, frozen=True):
    type: str
    text: str = ""
    image_url: _Url | None = None


class _Function(Struct, frozen=True):
    name: str = ""
    arguments: str = ""


class _Call(Struct, frozen=True):
    id: str = ""
    function: _Function = _Function()


class _Message(Struct, frozen=True):
    role: str
    content: str | tuple[_Part, ...] | None = None
    tool_calls: tuple[_Call, ...] | None = None
    tool_call_id: str | None = None


class _Format(Struct, frozen=True):
    type: str = ""
    json_schema: _Function | None = None


class _StreamOptions(Struct, frozen=True):
    include_usage: bool = False


class _Body(Struct, frozen=True):
    model: str
    messages: tuple[_Message, ...]
    tools: tuple[_Call, ...] | None = None
    response_format: _Format | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None


def parse(body: bytes) -> Asked:
    """The request in a body. Raises Refused 400 for what is no request."""
    try:
        document = msgspec.json.decode(body, type=Document)
        read = msgspec.convert(document, _Body)
    except msgspec.DecodeError as error:
        raise Refused(400, f"We could not parse the JSON body of your request: {error}") from error
    if not read.messages:
        raise Refused(400, "'messages' is empty: at least one message is needed.", param="messages")
    form = read.response_format
    return Asked(
        model=read.model,
        messages=tuple(_spoken(message) for message in read.messages),
        tools=tuple(tool.function.name for tool in read.tools or ()),
        schema=form.json_schema.name if form and form.type == "json_schema" and form.json_schema else "",
        stream=bool(read.stream),
        with_usage=bool(read.stream_options and read.stream_options.include_usage),
        temperature=read.temperature,
        max_tokens=read.max_completion_tokens or read.max_tokens,
        body=document,
    )


def clipped(text: str) -> str:
    """A message on one line, short enough to be quoted."""
    line = " ".join(text.split())
    return line if len(line) <= CLIPPED else line[: CLIPPED - 1] + "…"


def _spoken(message: _Message) -> Spoken:
    parts = (_Part(type="text", text=message.content),) if isinstance(message.content, str) else message.content or ()
    images = tuple(part.image_url.url for part in parts if part.image_url)
    calls = tuple(
        ToolUse(id=call.id, name=call.function.name, arguments=call.function.arguments)
        for call in message.tool_calls or ()
    )
    texts = [part.text for part in parts if part.text]
    texts += [f"[image {hashlib.sha256(url.encode()).hexdigest()[:12]}]" for url in images]
    texts += [f"{call.name} {call.arguments}" for call in calls]
    return Spoken(
        role=message.role, text="\n".join(texts), calls=calls, call_id=message.tool_call_id or "", images=images
    )
