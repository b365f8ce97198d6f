"""What an endpoint answers, whole or in pieces, as a Reply. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

import msgspec

from workers.llm.budgets import most_of, tokens_of
from workers.llm.errors import CallFailed, Failure
from workers.llm.messages import Ask, Ended, Reply, ToolCall, Usage

_ENDS = {"length": Ended.LENGTH, "content_filter": Ended.REFUSED}
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
    """A completion, or a piece of one. `usage` is read apart: what is wrong with it spoils no answer."""

    choices: list[_Choice]
    model: str | None = None
    usage: object = None


@dataclass(slots=True)
class Said:
    """What was said so far: the pieces of a stream, or all of a body."""

    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: dict[int, list[str]] = field(default_factory=dict)
    finish: str = ""
    model: str = ""
    usage: object = None

    def whole(self, body: object) -> None:
        """Take a completion. Raises CallFailed when it is none."""
        found = _convert(body)
        if not found.choices:
            raise malformed("it holds no choice")
        self._hear(found, found.choices[0].message)
        self.finish = self.finish or "stop"

    def piece(self, body: object) -> None:
        """Take one piece of a stream. Raises CallFailed when it is none."""
        found = _convert(body)
        self._hear(found, found.choices[0].delta if found.choices else _Message())

    def _hear(self, body: _Body, message: _Message) -> None:
        self.model = body.model or self.model
        self.usage = body.usage or self.usage
        if body.choices:
            self.finish = body.choices[0].finish_reason or self.finish
        self.text.append(message.text)
        self.refusal.append(message.refusal or "")
        for place, call in enumerate(message.tool_calls or ()):
            self._add(call, place if call.index is None else call.index)

    def _add(self, call: _Call, index: int) -> None:
        """A call comes with its name at first, and its arguments in pieces."""
        known = self.calls.setdefault(index, ["", "", ""])
        known[0] = known[0] or call.id or ""
        known[1] = known[1] or call.function.name or ""
        arguments = call.function.arguments
        known[2] += arguments if isinstance(arguments, str) else _as_json(arguments)


def reply_of(said: Said, ask: Ask, model: str) -> Reply:
    """The reply that was said. Raises CallFailed when it broke off."""
    if not said.finish:
        raise CallFailed(Failure(said="the model's answer broke off", charged=True))
    refusal, text = _mended("".join(said.refusal)), _THOUGHTS.sub("", _mended("".join(said.text)))
    before = sum(len(message.calls) for message in ask.messages)
    calls = tuple(
        ToolCall(id=_mended(call_id) or f"call_{number}", name=_mended(name), arguments=_mended(arguments) or "{}")
        for number, (_, (call_id, name, arguments)) in enumerate(sorted(said.calls.items()), before + 1)
    )
    ended = Ended.REFUSED if refusal else _ENDS.get(said.finish, Ended.CALLS if calls else Ended.STOP)
    usage = _usage(said.usage) or _estimated(ask, said)
    return Reply(text=refusal or text, calls=calls, ended=ended, usage=usage, model=said.model or model)


def _mended(text: str) -> str:
    """A text with the letters that came in two pieces put together; halves that stayed alone are U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def malformed(why: str) -> CallFailed:
    """The error for an answer that is no chat completion."""
    return CallFailed(Failure(said=f"what the model's API answered is no chat completion: {why}", charged=True))


def _convert(body: object) -> _Body:
    try:
        return msgspec.convert(body, _Body)
    except msgspec.ValidationError as error:
        raise malformed(str(error)) from error


def _as_json(arguments: object) -> str:
    return "" if arguments is None else json.dumps(arguments)


def _usage(told: object) -> Usage | None:
    """The usage that the endpoint told; None when it told none that can be."""
    try:
        found = msgspec.convert(told, _Usage)
    except msgspec.ValidationError:
        return None
    cached = (found.prompt_tokens_details.cached_tokens if found.prompt_tokens_details else 0) or 0
    if found.prompt_tokens < 0 or found.completion_tokens < 0:
        return None
    return Usage(
        prompt=found.prompt_tokens,
        completion=found.completion_tokens,
        cached=min(max(cached, 0), found.prompt_tokens),
    )


def _estimated(ask: Ask, said: Said) -> Usage:
    written = "".join([*said.text, *said.refusal, *(part for call in said.calls.values() for part in call)])
    return Usage(prompt=most_of(ask).prompt, completion=tokens_of(written), estimated=True)
