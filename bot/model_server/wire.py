"""OpenAI's JSON: completions, their chunks as server-sent events, errors and lists of models; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import UNSET, Struct, UnsetType

from bot.model_server.asked import Document
from bot.model_server.counting import Tally, tokens
from bot.model_server.errors import Refused

PIECE = 24
"""Characters of a streamed chunk."""

DONE = b"data: [DONE]\n\n"
_CREATED = 1_700_000_000  # the same in each answer, so that two runs can be compared byte for byte
_SERVER_ERROR = 500
_TYPES = {429: "requests"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What an answer says; `calls` are names with their arguments as text. Without `finish` it follows from the rest."""

    text: str | None = None
    calls: tuple[tuple[str, str], ...] = ()
    refusal: str | None = None
    finish: str = ""

    @property
    def tokens(self) -> int:
        """By the same rule as a prompt's."""
        calls = "".join(name + arguments for name, arguments in self.calls)
        return tokens((self.text or "") + (self.refusal or "") + calls)


class Function(Struct, frozen=True, kw_only=True):
    """The name and the arguments of a call."""

    name: str
    arguments: str


class ToolCall(Struct, frozen=True, kw_only=True):
    """A call in an answer."""

    id: str
    type: str = "function"
    function: Function


class Message(Struct, frozen=True, kw_only=True):
    """The assistant's message in an answer."""

    role: str = "assistant"
    content: str | None = None
    refusal: str | None = None
    tool_calls: tuple[ToolCall, ...] | UnsetType | None = UNSET


class Choice(Struct, frozen=True, kw_only=True):
    """We give one of these, as nobody here asks for more."""

    index: int = 0
    message: Message
    finish_reason: str | None = None


class Details(Struct, frozen=True, kw_only=True):
    """What the endpoint had ready."""

    cached_tokens: int | None = 0


class Tokens(Struct, frozen=True, kw_only=True):
    """The usage in an answer."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    prompt_tokens_details: Details | None = None


class Completion(Struct, frozen=True, kw_only=True):
    """The whole answer."""

    id: str
    object: str = "chat.completion"
    created: int = _CREATED
    model: str
    choices: tuple[Choice, ...]
    usage: Tokens | None = None


def completion(said: Said, *, number: int, model: str, tally: Tally) -> Completion:
    """The answer to the request with this number, which its ids carry."""
    calls = tuple(
        ToolCall(id=f"call_{number}_{place}", function=Function(name=name, arguments=arguments))
        for place, (name, arguments) in enumerate(said.calls)
    )
    message = Message(content=said.text, refusal=said.refusal, tool_calls=calls or UNSET)
    finish = said.finish or ("tool_calls" if calls else "stop")
    return Completion(
        id=f"chatcmpl-{number}",
        model=model,
        choices=(Choice(message=message, finish_reason=finish),),
        usage=Tokens(
            prompt_tokens=tally.prompt,
            completion_tokens=tally.completion,
            total_tokens=tally.prompt + tally.completion,
            prompt_tokens_details=Details(cached_tokens=tally.cached),
        ),
    )


def billed(answer: Completion) -> Tally:
    """What the answer says that it took."""
    if answer.usage is None:
        return Tally(calls=1)
    details = answer.usage.prompt_tokens_details
    cached = details.cached_tokens or 0 if details else 0
    return Tally(calls=1, prompt=answer.usage.prompt_tokens, completion=answer.usage.completion_tokens, cached=cached)


def events(answer: Completion, *, with_usage: bool) -> Iterator[bytes]:
    """The answer as server-sent events, less the closing `[DONE]`: its deltas, why it ended, its usage if wanted."""
    head: Document = {
        "id": answer.id,
        "object": "chat.completion.chunk",
        "created": answer.created,
        "model": answer.model,
    }
    if with_usage:
        head["usage"] = None
    choice = answer.choices[0]
    for delta in deltas(choice.message):
        yield event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice.finish_reason}]})
    if with_usage:
        yield event({**head, "choices": [], "usage": msgspec.to_builtins(answer.usage)})


def deltas(message: Message) -> Iterator[Document]:
    """What each chunk adds: the role, the words piece by piece, then each call by its name and its arguments."""
    yield {"role": message.role, "content": "" if message.content is not None else None}
    for kind, text in (("content", message.content), ("refusal", message.refusal)):
        for piece in _pieces(text or ""):
            yield {kind: piece}
    for place, call in enumerate(message.tool_calls or ()):
        named = {"index": place, "id": call.id, "type": call.type}
        yield {"tool_calls": [{**named, "function": {"name": call.function.name, "arguments": ""}}]}
        for piece in _pieces(call.function.arguments):
            yield {"tool_calls": [{"index": place, "function": {"arguments": piece}}]}


def event(document: Document) -> bytes:
    """One server-sent event."""
    return f"data: {json.dumps(document)}\n\n".encode()


def failure(refused: Refused) -> Document:
    """An error as OpenAI sends it."""
    kind = _TYPES.get(refused.status, "server_error" if refused.status >= _SERVER_ERROR else "invalid_request_error")
    said = {"message": refused.message, "type": kind, "param": refused.param, "code": refused.code}
    return {"error": said}


def model_list(ids: Sequence[str]) -> Document:
    """What `GET /v1/models` answers."""
    listed = [{"id": each, "object": "model", "created": _CREATED, "owned_by": "apprentice"} for each in ids]
    return {"object": "list", "data": listed}


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))
