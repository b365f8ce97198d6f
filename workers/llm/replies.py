"""Turns an endpoint's answer, whole or streamed, into a ModelReply. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

import msgspec

from workers.llm.budgets import most_of, tokens_of
from workers.llm.errors import CallFailed
from workers.llm.messages import FinishReason, ModelReply, ModelRequest, TokenUsage, ToolCall

_ENDS = {"length": FinishReason.LENGTH, "content_filter": FinishReason.REFUSED}
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: object = None


class _Call(msgspec.Struct):
    id: str | None = None
    index: int | None = None
    function: _Function = msgspec.field(default_factory=_Function)


class _Part(msgspec.Struct):
    text: str = ""


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None

    @property
    def text(self) -> str:
        parts = self.content if isinstance(self.content, list) else [_Part(text=self.content or "")]
        return "".join(part.text for part in parts)


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: _Details | None = None


class _Choice(msgspec.Struct):
    message: _Message = msgspec.field(default_factory=_Message)
    delta: _Message = msgspec.field(default_factory=_Message)
    finish_reason: str | None = None


class _Body(msgspec.Struct):
    """A completion, or a chunk of one. `usage` is decoded separately, so that a bad one does not spoil the answer."""

    choices: list[_Choice]
    model: str | None = None
    usage: object = None


@dataclass(slots=True)
class RawReply:
    """The text and calls of a reply so far: from the chunks of a stream, or from a whole body."""

    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: dict[int, list[str]] = field(default_factory=dict)
    finish: str = ""
    model: str = ""
    usage: object = None

    def add_completion(self, body: object) -> None:
        """Add a completion. Raises CallFailed when `body` is none."""
        found = _convert(body)
        if not found.choices:
            raise malformed("it holds no choice")
        self._add_message(found, found.choices[0].message)
        self.finish = self.finish or "stop"

    def add_chunk(self, body: object) -> None:
        """Add one chunk of a stream. Raises CallFailed when `body` is none."""
        found = _convert(body)
        self._add_message(found, found.choices[0].delta if found.choices else _Message())

    def _add_message(self, body: _Body, message: _Message) -> None:
        self.model = body.model or self.model
        self.usage = body.usage or self.usage
        if body.choices:
            self.finish = body.choices[0].finish_reason or self.finish
        self.text.append(message.text)
        self.refusal.append(message.refusal or "")
        for place, call in enumerate(message.tool_calls or ()):
            self._add_call(call, place if call.index is None else call.index)

    def _add_call(self, call: _Call, index: int) -> None:
        """The first chunk of a call holds its name; the next ones hold its arguments in parts."""
        known = self.calls.setdefault(index, ["", "", ""])
        known[0] = known[0] or call.id or ""
        known[1] = known[1] or call.function.name or ""
        arguments = call.function.arguments
        known[2] += arguments if isinstance(arguments, str) else _as_json(arguments)


def reply_of(raw: RawReply, ask: ModelRequest, model: str) -> ModelReply:
    """The finished reply. Raises CallFailed when the answer is incomplete."""
    if not raw.finish:
        raise CallFailed("the model's answer is incomplete", charged=True)
    refusal, text = _mended("".join(raw.refusal)), _THOUGHTS.sub("", _mended("".join(raw.text)))
    before = sum(len(message.calls) for message in ask.messages)
    calls = tuple(
        ToolCall(id=_mended(call_id) or f"call_{number}", name=_mended(name), arguments=_mended(arguments) or "{}")
        for number, (_, (call_id, name, arguments)) in enumerate(sorted(raw.calls.items()), before + 1)
    )
    ended = (
        FinishReason.REFUSED if refusal else _ENDS.get(raw.finish, FinishReason.CALLS if calls else FinishReason.STOP)
    )
    usage = _usage(raw.usage) or _estimated(ask, raw)
    return ModelReply(text=refusal or text, calls=calls, finish=ended, usage=usage, model=raw.model or model)


def _mended(text: str) -> str:
    """Join surrogate pairs that arrive in two chunks; lone halves become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def malformed(why: str) -> CallFailed:
    """The error for an answer that is not a chat completion."""
    return CallFailed(f"the answer of the model's API is not a chat completion: {why}", charged=True)


def _convert(body: object) -> _Body:
    try:
        return msgspec.convert(body, _Body)
    except msgspec.ValidationError as error:
        raise malformed(str(error)) from error


def _as_json(arguments: object) -> str:
    return "" if arguments is None else json.dumps(arguments)


def _usage(reported: object) -> TokenUsage | None:
    """The usage that the endpoint reports; None when it reports none or an impossible one."""
    try:
        found = msgspec.convert(reported, _Usage)
    except msgspec.ValidationError:
        return None
    cached = (found.prompt_tokens_details.cached_tokens if found.prompt_tokens_details else 0) or 0
    if found.prompt_tokens < 0 or found.completion_tokens < 0:
        return None
    return TokenUsage(
        prompt=found.prompt_tokens,
        completion=found.completion_tokens,
        cached=min(max(cached, 0), found.prompt_tokens),
    )


def _estimated(ask: ModelRequest, raw: RawReply) -> TokenUsage:
    written = "".join([*raw.text, *raw.refusal, *(part for call in raw.calls.values() for part in call)])
    return TokenUsage(prompt=most_of(ask).prompt, completion=tokens_of(written), estimated=True)
