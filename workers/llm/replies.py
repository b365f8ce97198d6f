"""Turns an endpoint's answer into a ModelReply. Pure."""

from __future__ import annotations

import json
import re

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
    finish_reason: str | None = None


class _Body(msgspec.Struct):
    """A completion. `usage` is decoded separately, so that a bad one does not spoil the answer."""

    choices: list[_Choice]
    model: str | None = None
    usage: object = None


def reply_of(content: bytes, ask: ModelRequest, model: str) -> ModelReply:
    """The reply in an endpoint's answer. Raises CallFailed when it is no chat completion."""
    body = _completion(content)
    message, finish = body.choices[0].message, body.choices[0].finish_reason or "stop"
    text = _THOUGHTS.sub("", _mended(message.text))
    refusal = _mended(message.refusal or "")
    before = sum(len(each.calls) for each in ask.messages)
    calls = tuple(_call(each, number) for number, each in enumerate(message.tool_calls or (), before + 1))
    ended = FinishReason.REFUSED if refusal else _ENDS.get(finish, FinishReason.CALLS if calls else FinishReason.STOP)
    usage = _usage(body.usage) or _estimated(ask, [text, refusal, *(call.name + call.arguments for call in calls)])
    return ModelReply(text=refusal or text, calls=calls, finish=ended, usage=usage, model=body.model or model)


def _completion(content: bytes) -> _Body:
    try:
        body = msgspec.convert(json.loads(content), _Body)
    except msgspec.ValidationError as error:
        raise _malformed(str(error)) from error
    except (ValueError, RecursionError):
        raise _malformed("no JSON") from None
    if not body.choices:
        raise _malformed("it holds no choice")
    return body


def _call(call: _Call, number: int) -> ToolCall:
    arguments = call.function.arguments
    return ToolCall(
        id=_mended(call.id or "") or f"call_{number}",
        name=_mended(call.function.name or ""),
        arguments=_mended(arguments if isinstance(arguments, str) else _as_json(arguments)) or "{}",
    )


def _mended(text: str) -> str:
    """The text with lone halves of surrogate pairs, which nothing can store, as U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _malformed(why: str) -> CallFailed:
    return CallFailed(f"the answer of the model's API is not a chat completion: {why}", charged=True)


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


def _estimated(ask: ModelRequest, written: list[str]) -> TokenUsage:
    return TokenUsage(prompt=most_of(ask).prompt, completion=tokens_of("".join(written)), estimated=True)
