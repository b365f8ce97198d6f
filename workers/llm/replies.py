"""Turns an endpoint's answer, whole or streamed, into a ModelReply. Pure."""

import dataclasses
import json
import re

from workers.json_fields import WrongField, below, field
from workers.llm.budgets import most_of, tokens_of
from workers.llm.errors import CallFailed
from workers.llm.messages import FinishReason, ModelReply, ModelRequest, TokenUsage, ToolCall

_ENDS = {"length": FinishReason.LENGTH, "content_filter": FinishReason.REFUSED}
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)


_MAX_TOKENS = 10**9
"""No model reads or writes more in one call: a larger figure is a mistake of the endpoint."""


@dataclasses.dataclass(slots=True)
class RawCall:
    """A tool call so far, with its number in the reply."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclasses.dataclass(slots=True)
class RawReply:
    """The text and calls of a reply so far: from the chunks of a stream, or from a whole body."""

    text: list[str] = dataclasses.field(default_factory=list)
    thoughts: list[str] = dataclasses.field(default_factory=list)
    refusal: list[str] = dataclasses.field(default_factory=list)
    calls: list[RawCall] = dataclasses.field(default_factory=list)
    finish: str = ""
    model: str = ""
    usage: object = None

    def add_completion(self, body: object) -> None:
        """Add a completion. Raises CallFailed when `body` is none."""
        self._add(body, "message")
        if not below(body, "choices"):
            raise malformed("it holds no choice")
        self.finish = self.finish or "stop"

    def add_chunk(self, body: object) -> None:
        """Add one chunk of a stream. Raises CallFailed when `body` is none."""
        self._add(body, "delta")

    def _add(self, body: object, kind: str) -> None:
        try:
            self.model = field(body, "model", str, "") or self.model
            self.usage = below(body, "usage") or self.usage
            for choice in field(body, "choices", list)[:1]:
                self.finish = field(choice, "finish_reason", str, "") or self.finish
                self._add_message(below(choice, kind))
        except WrongField as error:
            raise malformed(str(error)) from error

    def _add_message(self, message: object) -> None:
        content = below(message, "content")
        parts = content if isinstance(content, list) else [{"text": content}]
        self.text += [field(part, "text", str, "") for part in parts]
        thought = below(message, "reasoning_content") or below(message, "reasoning")
        self.thoughts += [thought] if isinstance(thought, str) else []
        self.refusal.append(field(message, "refusal", str, ""))
        for place, call in enumerate(field(message, "tool_calls", list, [])):
            usual = self.calls[-1].index if self.calls and not place else place
            self._add_call(call, field(call, "index", int, usual))

    def _add_call(self, call: object, index: int) -> None:
        """The first chunk of a call holds its name; the next ones hold its arguments in parts.

        Some endpoints give every call the same index, or none: another id begins another call.
        """
        call_id = field(call, "id", str, "")
        known = next((each for each in reversed(self.calls) if each.index == index), None)
        if known is None or (call_id and known.id not in ("", call_id)):
            known = RawCall(index)
            self.calls.append(known)
        known.id = known.id or call_id
        known.name = known.name or field(call, "function.name", str, "")
        arguments = below(call, "function.arguments")
        known.arguments += (
            arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
        )


def reply_of(raw: RawReply, ask: ModelRequest, model: str) -> ModelReply:
    """The finished reply. Raises CallFailed when the answer is incomplete."""
    if not raw.finish:
        raise CallFailed("the model's answer is incomplete", charged=True)
    refusal, text = _mended("".join(raw.refusal)), _THOUGHTS.sub("", _mended("".join(raw.text)))
    before = sum(len(message.calls) for message in ask.messages)
    calls = tuple(
        ToolCall(id=_mended(c.id) or f"call_{number}", name=_mended(c.name), arguments=_mended(c.arguments) or "{}")
        for number, c in enumerate(sorted(raw.calls, key=lambda call: call.index), before + 1)
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


def _usage(reported: object) -> TokenUsage | None:
    """The usage that the endpoint reports; None when it reports none or an impossible one."""
    try:
        prompt, completion = field(reported, "prompt_tokens", int), field(reported, "completion_tokens", int)
        cached = field(reported, "prompt_tokens_details.cached_tokens", int, 0)
    except WrongField:
        return None
    if not (0 <= prompt <= _MAX_TOKENS and 0 <= completion <= _MAX_TOKENS):
        return None
    return TokenUsage(prompt=prompt, completion=completion, cached=min(max(cached, 0), prompt))


def _estimated(ask: ModelRequest, raw: RawReply) -> TokenUsage:
    """The usage of a reply without its endpoint's figures: thoughts that are not shown are charged as well."""
    calls = (part for call in raw.calls for part in (call.id, call.name, call.arguments))
    written = tokens_of("".join([*raw.text, *raw.thoughts, *raw.refusal, *calls]))
    completion = ask.max_tokens if raw.finish == "length" else written
    return TokenUsage(prompt=most_of(ask).prompt, completion=completion, estimated=True)
