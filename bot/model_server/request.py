"""A request for a chat completion as a value: the fields that a script matches, counts or refuses."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

TOKEN_CHARACTERS = 4


class RequestError(Exception):
    """The endpoint answers with an error in OpenAI's form. `retry_after` are seconds."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.param = status, message, code, param
        self.retry_after = retry_after


class _Url(Struct, frozen=True):
    url: str = ""


class _Part(Struct, frozen=True):
    type: str
    text: str = ""
    image_url: _Url | None = None


class _Function(Struct, frozen=True):
    name: str = ""
    arguments: str = ""


class _Tool(Struct, frozen=True):
    function: _Function = _Function()


class _ResponseFormat(Struct, frozen=True):
    type: str = ""
    json_schema: _Function | None = None


class _StreamOptions(Struct, frozen=True):
    include_usage: bool = False


class RequestMessage(Struct, frozen=True):
    """One message. `text` is its words, then `[image <digest>]` for each image, then `name arguments` for each call."""

    role: str
    content: str | tuple[_Part, ...] | None = None
    tool_calls: tuple[_Tool, ...] | None = None

    @property
    def images(self) -> tuple[str, ...]:
        parts = () if isinstance(self.content, str) else self.content or ()
        return tuple(part.image_url.url for part in parts if part.image_url)

    @property
    def text(self) -> str:
        words = [self.content] if isinstance(self.content, str) else [part.text for part in self.content or ()]
        texts = [word for word in words if word]
        texts += [f"[image {hashlib.sha256(url.encode()).hexdigest()[:12]}]" for url in self.images]
        texts += [f"{call.function.name} {call.function.arguments}" for call in self.tool_calls or ()]
        return "\n".join(texts)


class ChatRequest(Struct, frozen=True, kw_only=True, dict=True):
    """`body` is the whole request as JSON; `offered` are its tools."""

    model: str
    messages: Annotated[tuple[RequestMessage, ...], Meta(min_length=1)]
    offered: tuple[_Tool, ...] | None = msgspec.field(name="tools", default=None)
    response_format: _ResponseFormat | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    temperature: float | None = None
    body: dict[str, object] = msgspec.field(default_factory=dict)

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the offered tools."""
        return tuple(tool.function.name for tool in self.offered or ())

    @property
    def schema(self) -> str:
        """The name of the schema that the answer must satisfy."""
        form = self.response_format
        return form.json_schema.name if form and form.type == "json_schema" and form.json_schema else ""

    @property
    def wants_usage(self) -> bool:
        """Whether a stream ends with its usage."""
        return bool(self.stream_options and self.stream_options.include_usage)

    @property
    def features(self) -> dict[str, bool]:
        """Which features of the endpoint the request uses."""
        return {
            "tools": bool(self.tools),
            "json_schema": bool(self.schema),
            "stream": bool(self.stream),
            "images": any(message.images for message in self.messages),
            "temperature": self.temperature is not None,
        }

    @cached_property
    def text(self) -> str:
        """All messages, a line break between them."""
        return "\n".join(message.text for message in self.messages)

    @property
    def last(self) -> str:
        return self.messages[-1].text

    @property
    def system(self) -> str:
        """The messages of the system, or the developer, as newer clients call it."""
        return "\n".join(message.text for message in self.messages if message.role in {"system", "developer"})

    @cached_property
    def prompt(self) -> str:
        """What costs tokens: the tools as compact JSON, then the messages' texts, with nothing between them."""
        tools = self.body.get("tools")
        return (msgspec.json.encode(tools).decode() if tools else "") + "".join(m.text for m in self.messages)


def parse_request(body: bytes) -> ChatRequest:
    """The request in a body. Raises RequestError 400 for anything else."""
    try:
        document = msgspec.json.decode(body, type=dict[str, object])
        return msgspec.convert({**document, "body": document}, ChatRequest)
    except msgspec.DecodeError as error:
        raise RequestError(400, f"We could not parse the JSON body of your request: {error}") from error


def count_tokens(text: str) -> int:
    """A quarter of the characters, rounded up."""
    return -(-len(text) // TOKEN_CHARACTERS)
