"""One model at an OpenAI-compatible endpoint: a request in, a reply out, by one HTTP call.

What an endpoint lacks is learned from what it refuses, once for a process, and done without: tools and JSON in words,
pictures left out. A refused request is not charged, so that the calls by which this is learned cost nothing.
"""

from __future__ import annotations

import base64
import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from pydantic import SecretStr

from workers.llm.capabilities import Features, without
from workers.llm.errors import CallFailed, ContextOverflow, Failure, ModelError, ModelUnavailable
from workers.llm.messages import Ask, Ended, Message, Reply, Role, ToolCall, ToolSpec
from workers.llm.replies import Said, malformed, reply_of
from workers.llm.structured import call_in, schema_in_words, tools_in_words
from workers.ports import Image
from workers.redaction import REDACTED, redact
from workers.settings import PREFIX

_UNSEEN = "[a picture stood here; this model sees none]"


def body_of(ask: Ask, model: str, features: Features, *, stream: bool) -> dict[str, object]:
    """What is sent to an endpoint with these features."""
    shown = ask if features.tools else tools_in_words(ask)
    shown = shown if features.json_schema else schema_in_words(shown)
    limit = "max_tokens" if features.max_tokens else "max_completion_tokens"
    body: dict[str, object] = {
        "model": model,
        "messages": [_message(message, features) for message in shown.messages],
        limit: ask.max_tokens,
    }
    if features.temperature:
        body["temperature"] = ask.temperature
    if shown.tools:
        body["tools"] = [{"type": "function", "function": _described(tool)} for tool in shown.tools]
    if shown.schema is not None:
        body["response_format"] = _format(shown.schema)
    if stream and features.stream:
        body["stream"] = True
        body |= {"stream_options": {"include_usage": True}} if features.stream_options else {}
    return body


def _described(tool: ToolSpec) -> dict[str, object]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def _format(schema: ToolSpec) -> dict[str, object]:
    described = {"name": schema.name, "description": schema.description, "schema": dict(schema.parameters)}
    return {"type": "json_schema", "json_schema": {**described, "strict": True}}


def _message(message: Message, features: Features) -> dict[str, object]:
    said: dict[str, object] = {"role": message.role.value, "content": _content(message, features)}
    if message.role is Role.TOOL:
        said["tool_call_id"] = message.call_id
    if message.calls:
        said["tool_calls"] = [_call(call) for call in message.calls]
    return said


def _content(message: Message, features: Features) -> str | list[dict[str, object]]:
    """Words alone, or words and pictures. Only a user's message may hold pictures; elsewhere a line stands for each."""
    text = _clean(message.text)
    if not message.images:
        return text
    if not features.images or message.role is not Role.USER:
        return "\n".join([text, *(_UNSEEN for _ in message.images)])
    return [{"type": "text", "text": text}, *map(_picture, message.images)]


def _picture(image: Image) -> dict[str, object]:
    data = base64.b64encode(image.content).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{data}"}}


def _call(call: ToolCall) -> dict[str, object]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _clean(call.arguments)}}


def _clean(text: str) -> str:
    """Lone surrogates, which test output does hold and UTF-8 cannot, as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


_LONGEST = 300
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|max(?:imum)? model (?:context )?len|"
    r"exceeds? (?:the )?(?:available |maximum |model'?s )*context|context (?:size|length|window) (?:has been )?exceeded|"
    r"exceeded max context|prompt is too long|input is too long|too many tokens|max_new_tokens` must be",
    re.IGNORECASE,
)
"""As OpenAI, vLLM, llama.cpp, Ollama and text-generation-inference say it."""
_TOO_LONG_WITH = frozenset({400, 413, 422, 500})
_PASSING = frozenset({408, 409, 425, 429})
_NO_MONEY = re.compile(r"insufficient_quota|billing_hard_limit", re.IGNORECASE)
_WHERE = {
    401: f"it wants another key; check {PREFIX}MODEL_API_KEY",
    403: f"the key may not do that; check {PREFIX}MODEL_API_KEY and {PREFIX}MODEL",
    404: f"there is no such model or address; check {PREFIX}MODEL, {PREFIX}MODEL_WEAK and {PREFIX}MODEL_BASE_URL",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer with a status that is no success. `detail` is all that its body says, `said` the line for people."""

    status: int
    said: str
    detail: str
    retry_after: str = ""


def error_of(refusal: Refusal) -> ModelError:
    """The error that a refusal is."""
    line = f"the model's API answered {refusal.status}: {refusal.said or 'nothing'}"
    if too_long(refusal.detail) and refusal.status in _TOO_LONG_WITH:
        return ContextOverflow(f"the request is longer than the model can read: {refusal.said}")
    if refusal.status in _WHERE:
        return ModelUnavailable(f"{line}; {_WHERE[refusal.status]}")
    if _NO_MONEY.search(refusal.detail):
        return ModelUnavailable(f"{line}; see to the account behind {PREFIX}MODEL_API_KEY")
    if refusal.status in _PASSING or refusal.status >= 500:
        return CallFailed(Failure(said=line, charged=False, retry_after=refusal.retry_after))
    return ModelUnavailable(line)


def too_long(detail: str) -> bool:
    """Whether an endpoint complains that a request is longer than its model can read."""
    return _TOO_LONG.search(detail) is not None


def clear_line(text: str, key: str) -> str:
    """What an endpoint said as one line that may be shown: no credential in it, least of all our key."""
    hidden = text.replace(key, REDACTED) if key else text
    return " ".join(redact(hidden).split())[:_LONGEST]


if TYPE_CHECKING:
    import openai

_PATH = "/chat/completions"
_NO_KEY = "none"
_UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol"})
"""What the HTTP client raises before a request is on its way; by name, as it is not ours to import."""


class Connection(Protocol):
    """What the HTTP client shows of a connection."""

    def get_extra_info(self, info: str, /) -> socket.socket | None: ...


class Answers(Protocol):
    """Answers one request, without accounts and without trying again."""

    def answer(self, ask: Ask) -> Reply:
        """Raises CallFailed where another try may do, and any other ModelError where it will not."""
        ...


@dataclass(kw_only=True)
class Endpoint:
    """One model at one address. `timeout_seconds` is for a whole answer, however it comes."""

    base_url: str
    api_key: SecretStr
    model: str
    timeout_seconds: float = 120.0
    stream: bool = True
    features: Features = field(default_factory=Features)

    def answer(self, ask: Ask) -> Reply:
        """One reply. Raises CallFailed where another try may do, and any other ModelError where it will not."""
        import openai

        features = self.features  # as they were, whatever other threads learn in the meantime
        while True:
            body = body_of(ask, self.model, features, stream=self.stream)
            try:
                return _with_calls(reply_of(self._said(body), ask, self.model), ask, features)
            except openai.APIStatusError as error:
                refusal = self._refusal(error)
                less = None if too_long(refusal.detail) else without(features, refusal.detail, body, ask)
                if less is None:
                    raise error_of(refusal) from None  # what the endpoint said may hold the key, and would be shown
                self.features = features = less

    @cached_property
    def _client(self) -> openai.OpenAI:
        import openai  # takes a third of a second, and most processes never ask a model

        return openai.OpenAI(
            base_url=self.base_url, api_key=self._key or _NO_KEY, timeout=self.timeout_seconds, max_retries=0
        )

    @property
    def _key(self) -> str:
        return self.api_key.get_secret_value()

    def _said(self, body: Mapping[str, object]) -> Said:
        import openai

        try:
            return self._streamed(body) if "stream" in body else self._whole(body)
        except openai.APIStatusError:
            raise
        except openai.APITimeoutError as error:
            raise self._failed("the model did not answer in time", charged=_was_sent(error)) from None
        except openai.APIConnectionError as error:
            why = f"the model cannot be reached: {error.__cause__ or error}"
            raise self._failed(why, charged=_was_sent(error)) from None
        except openai.APIError as error:  # told within a stream
            raise self._told_late(error) from None
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise malformed("no JSON") from None

    def _whole(self, body: Mapping[str, object]) -> Said:
        said = Said()
        said.whole(self._client.post(_PATH, cast_to=object, body=body))
        return said

    def _streamed(self, body: Mapping[str, object]) -> Said:
        """The pieces put together."""
        from openai import Stream

        said, latest = Said(), time.monotonic() + self.timeout_seconds
        pieces = self._client.post(_PATH, cast_to=object, body=body, stream=True, stream_cls=Stream[object])
        with pieces, _hanging_up(pieces.response.extensions.get("network_stream"), self.timeout_seconds):
            if pieces.response.headers.get("content-type", "").startswith("application/json"):
                self.features = replace(self.features, stream=False)
                raise self._failed("the model's API sends no stream, and is asked for none from now on", charged=True)
            for piece in pieces:
                said.piece(piece)
                if time.monotonic() > latest:
                    raise self._failed("the model did not end its answer in time", charged=True)
        return said

    def _told_late(self, error: openai.APIError) -> ModelError:
        line = clear_line(error.message, self._key)
        if too_long(error.message):
            return ContextOverflow(f"the request is longer than the model can read: {line}")
        return self._failed(f"the model broke off: {error.message}", charged=True)

    def _failed(self, said: str, *, charged: bool) -> CallFailed:
        return CallFailed(Failure(said=clear_line(said, self._key), charged=charged))

    def _refusal(self, error: openai.APIStatusError) -> Refusal:
        message = error.body.get("message") if isinstance(error.body, dict) else None
        return Refusal(
            status=error.status_code,
            said=clear_line(message if isinstance(message, str) else error.message, self._key),
            detail=error.message,
            retry_after=error.response.headers.get("retry-after", ""),
        )


@contextmanager
def _hanging_up(connection: Connection | None, seconds: float) -> Iterator[None]:
    """Ends a connection after a time: signs of life that are no pieces keep a stream open for as long as they come."""

    held = None if connection is None else connection.get_extra_info("socket")

    def hang_up() -> None:
        with suppress(OSError):
            if held is not None:
                held.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _was_sent(error: Exception) -> bool:
    return type(error.__cause__).__name__ not in _UNSENT


def _with_calls(reply: Reply, ask: Ask, features: Features) -> Reply:
    """The reply with the call that its words hold, where tools were told in words."""
    if features.tools or not ask.tools or reply.ended is Ended.REFUSED:
        return reply
    text, calls = call_in(reply.text, ask.messages)
    return replace(reply, text=text, calls=calls, ended=Ended.CALLS) if calls else reply
