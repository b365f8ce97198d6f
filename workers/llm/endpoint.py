"""One model at an OpenAI-compatible endpoint: a request in, a reply out, by one HTTP call.

The process learns once from refusals which features an endpoint lacks. It then describes tools and JSON schemas in text
and leaves pictures out. Endpoints do not charge refused requests, so learning this costs nothing.
"""

from __future__ import annotations

import base64
import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import SecretStr

from workers.llm.errors import CallFailed, ContextOverflow, ModelError, ModelUnavailable
from workers.llm.messages import ChatMessage, ChatRole, FinishReason, ModelReply, ModelRequest, ToolCall, ToolSpec
from workers.llm.replies import RawReply, malformed, reply_of
from workers.llm.structured import call_in, schema_as_text, tools_as_text
from workers.redaction import REDACTED, redact
from workers.settings import PREFIX


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointFeatures:
    """The features that we assume of an endpoint. `max_tokens` is the older name of a reply's length limit."""

    max_tokens: bool = True
    temperature: bool = True
    tools: bool = True
    json_schema: bool = True
    stream: bool = True
    stream_options: bool = True
    images: bool = True


_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "max_tokens": r"\bmax_tokens\b",
        "stream_options": r"stream_options",
        "stream": r"\bstream(?:ing)?\b",
        "temperature": r"\btemperature\b",
        "json_schema": r"response_format|json_schema|structured.output|\bgrammar",
        "tools": r"\btools?\b|function.?call|tool_choice",
        "images": r"\bimages?\b|image_url|multimodal",
    }
)
"""How endpoints name each feature in a refusal; names that contain another name come first."""

_REFUSED = (
    r"not support|n.t support|unsupported|not permitted|not allowed|extra_forbidden|unavailable|not available|"
    r"not enabled|requires?\b|no endpoints|deprecated|unrecognized|unknown (?:parameter|field|argument)|"
    r"must be 'text'|missing data|not a multimodal|only supported"
)
_NEAR = 120
_TEACHING = frozenset({400, 404, 415, 422, 500, 501})
"""Statuses of a refusal that can be about a feature; that of a missing payment names `max_tokens` too."""


def without(
    features: EndpointFeatures, complaint: str, sent: Mapping[str, object], ask: ModelRequest
) -> EndpointFeatures | None:
    """The features without the one that a refusal names; None when it names none that the request uses."""
    for name in _used(features, sent, ask):
        named = _NAMES[name]
        pattern = f"(?:{named}).{{0,{_NEAR}}}(?:{_REFUSED})|(?:{_REFUSED}).{{0,{_NEAR}}}(?:{named})"
        if re.search(pattern, complaint, re.IGNORECASE | re.DOTALL):
            return replace(features, **{name: False})
    return None


def _used(features: EndpointFeatures, sent: Mapping[str, object], ask: ModelRequest) -> list[str]:
    """The features that a request body uses, in the order of `_NAMES`."""
    fields = {name: name in sent for name in ("max_tokens", "temperature", "tools", "stream", "stream_options")}
    fields["json_schema"] = "response_format" in sent
    fields["images"] = features.images and any(message.images for message in ask.messages)
    return [name for name in _NAMES if fields[name]]


_UNSEEN = "[picture omitted: this model reads no pictures]"


def body_of(ask: ModelRequest, model: str, features: EndpointFeatures, *, stream: bool) -> dict[str, object]:
    shown = ask if features.tools else tools_as_text(ask)
    shown = shown if features.json_schema else schema_as_text(shown)
    limit = "max_tokens" if features.max_tokens else "max_completion_tokens"
    body: dict[str, object] = {
        "model": model,
        "messages": [_message(message, features) for message in shown.messages],
        limit: ask.max_tokens,
    }
    if features.temperature:
        body["temperature"] = 0.0  # the likeliest answer
    if shown.tools:
        body["tools"] = [{"type": "function", "function": _described(tool)} for tool in shown.tools]
    if shown.schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": shown.schema.name,
                "description": shown.schema.description,
                "schema": dict(shown.schema.parameters),
                "strict": True,
            },
        }
    if stream and features.stream:
        body["stream"] = True
        body |= {"stream_options": {"include_usage": True}} if features.stream_options else {}
    return body


def _described(tool: ToolSpec) -> dict[str, object]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def _message(message: ChatMessage, features: EndpointFeatures) -> dict[str, object]:
    body: dict[str, object] = {"role": message.role.value, "content": _content(message, features)}
    if message.role is ChatRole.TOOL:
        body["tool_call_id"] = message.call_id
    if message.calls:
        body["tool_calls"] = [_call(call) for call in message.calls]
    return body


def _content(message: ChatMessage, features: EndpointFeatures) -> str | list[dict[str, object]]:
    """Text alone, or text and pictures. Only a user's message may hold pictures; other messages hold a line for each."""
    text = _clean(message.text)
    if not message.images:
        return text
    if not features.images or message.role is not ChatRole.USER:
        return "\n".join([text, *(_UNSEEN for _ in message.images)])
    parts: list[dict[str, object]] = [{"type": "text", "text": text}]
    for image in message.images:
        data = base64.b64encode(image.content).decode("ascii")
        parts.append({"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{data}"}})
    return parts


_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


def _call(call: ToolCall) -> dict[str, object]:
    """A call in the form that endpoints accept. They refuse every later request with a call that the model wrote wrongly."""
    name = _NOT_IN_NAMES.sub("_", call.name)[:_LONGEST_NAME] or "_"
    arguments = _clean(call.arguments) if _is_object(call.arguments) else "{}"
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _clean(text: str) -> str:
    """Replace lone surrogates, which test output holds and UTF-8 cannot encode, with question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


_LONGEST = 300
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|max(?:imum)? model (?:context )?len|"
    r"exceeds? (?:the )?(?:available |maximum |model'?s )*context|context (?:size|length|window) (?:has been )?exceeded|"
    r"exceeded max context|prompt is too long|input is too long|too many tokens|max_new_tokens` must be",
    re.IGNORECASE,
)
"""The wording of OpenAI, vLLM, llama.cpp, Ollama and text-generation-inference."""
_TOO_LONG_WITH = frozenset({400, 413, 422, 500})
_PASSING = frozenset({408, 409, 425, 429})
_CHARGED = frozenset({408, 500, 502, 504, *range(520, 525)})
"""Statuses of a server or gateway that failed after the model may have begun its answer."""
_NO_MONEY = re.compile(r"insufficient_quota|billing_hard_limit", re.IGNORECASE)
_ADVICE = {
    401: f"the key is not valid; check {PREFIX}MODEL_API_KEY",
    403: f"the key lacks permission; check {PREFIX}MODEL_API_KEY and {PREFIX}MODEL",
    404: f"the model or address does not exist; check {PREFIX}MODEL, {PREFIX}MODEL_WEAK and {PREFIX}MODEL_BASE_URL",
}


def error_of(status: int, detail: str, line: str, retry_after: str = "") -> ModelError:
    """The exception for an error status. `detail` is the whole message, `line` a short version that is safe to show."""
    answered = f"the model's API answered {status}: {line or 'nothing'}"
    if too_long(detail) and status in _TOO_LONG_WITH:
        return ContextOverflow(f"the request is longer than the model can read: {line}")
    if status in _ADVICE:
        return ModelUnavailable(f"{answered}; {_ADVICE[status]}")
    if _NO_MONEY.search(detail):
        return ModelUnavailable(f"{answered}; check the balance of the account behind {PREFIX}MODEL_API_KEY")
    if status in _PASSING or status >= 500:
        return CallFailed(answered, charged=status in _CHARGED, retry_after=retry_after)
    return ModelUnavailable(answered)


def too_long(detail: str) -> bool:
    """Whether an endpoint complains that a request is longer than its model can read."""
    return _TOO_LONG.search(detail) is not None


def clear_line(text: str, key: str) -> str:
    """An endpoint's message as one line that is safe to show: without credentials, our own key included."""
    hidden = text.replace(key, REDACTED) if key else text
    return " ".join(redact(hidden).split())[:_LONGEST]


if TYPE_CHECKING:
    import openai

_PATH = "/chat/completions"
_NO_KEY = "none"
_UNSENT = frozenset({"ConnectError", "ConnectTimeout", "LocalProtocolError", "PoolTimeout", "UnsupportedProtocol"})
"""Exceptions that the HTTP client raises before it sends a request, by name: we do not import that client."""


class Connection(Protocol):
    """The part of the HTTP client's connection that we use."""

    def get_extra_info(self, info: str, /) -> socket.socket | None: ...


@dataclass(kw_only=True)
class ModelEndpoint:
    """Implements `Model` by one request, without budgets and retries. `timeout_seconds` limits a whole answer."""

    base_url: str
    api_key: SecretStr
    model: str
    timeout_seconds: float = 120.0
    stream: bool = True
    features: EndpointFeatures = field(default_factory=EndpointFeatures)

    def reply(self, ask: ModelRequest) -> ModelReply:
        """One reply. Raises CallFailed where a retry may help, and any other ModelError where it does not."""
        import openai

        features = self.features  # a snapshot: other threads may change them in the meantime
        while True:
            body = body_of(ask, self.model, features, stream=self.stream)
            try:
                return _with_calls(reply_of(self._request(body), ask, self.model), ask, features)
            except openai.APIStatusError as error:
                teaches = error.status_code in _TEACHING and not too_long(error.message)
                less = without(features, error.message, body, ask) if teaches else None
                if less is None:  # the endpoint's message may hold the key, and a chained traceback shows it
                    raise self._refused(error) from None
                self.features = features = less

    @cached_property
    def _client(self) -> openai.OpenAI:
        import openai  # takes a third of a second, and most processes never call a model

        class Client(openai.OpenAI):
            def platform_headers(self) -> dict[str, str]:
                """None about this machine; to find them, `uname` would run with our environment and its secrets."""
                return {}

        limit = self.timeout_seconds

        class HttpClient(openai.DefaultHttpxClient):
            def send(self, request: Any, *, stream: bool = False, **more: Any) -> Any:  # noqa: ANN401 - as it is there
                """Read the headers, and a whole answer or an error, within the limit."""
                opened: list[Connection] = []

                def trace(event: str, info: Mapping[str, Any]) -> None:
                    if event.endswith(("connect_tcp.complete", "start_tls.complete")):
                        opened.append(info["return_value"])

                request.extensions["trace"] = trace
                with _connection_timeout(opened, limit):
                    response = super().send(request, stream=True, **more)
                    if not stream or response.is_error:
                        response.read()
                return response

            def __del__(self) -> None:
                self.close()

        return Client(
            base_url=self.base_url,
            api_key=self._key or _NO_KEY,
            timeout=limit,
            max_retries=0,
            http_client=HttpClient(),
            default_headers={"Connection": "close"},  # `send` sees each connection when it is opened
        )

    @property
    def _key(self) -> str:
        return self.api_key.get_secret_value()

    def _request(self, body: Mapping[str, object]) -> RawReply:
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
        except openai.APIError as error:  # reported within a stream
            raise self._stream_error(error) from None
        except (ValueError, RecursionError):  # of nesting, or of a number, that is too long for the parser
            raise malformed("no JSON that can be read") from None

    def _whole(self, body: Mapping[str, object]) -> RawReply:
        raw = RawReply()
        raw.add_completion(self._client.post(_PATH, cast_to=object, body=body))
        return raw

    def _streamed(self, body: Mapping[str, object]) -> RawReply:
        """The chunks of a stream, joined."""
        from openai import Stream

        raw, latest = RawReply(), time.monotonic() + self.timeout_seconds
        pieces = self._client.post(_PATH, cast_to=object, body=body, stream=True, stream_cls=Stream[object])
        with pieces, _connection_timeout([pieces.response.extensions["network_stream"]], self.timeout_seconds):
            if pieces.response.headers.get("content-type", "").startswith("application/json"):
                self.features = replace(self.features, stream=False)
                raise self._failed("the model's API does not stream; later requests ask for no stream", charged=True)
            for piece in pieces:
                raw.add_chunk(piece)
                if time.monotonic() > latest:
                    raise self._failed("the model did not end its answer in time", charged=True)
        return raw

    def _stream_error(self, error: openai.APIError) -> ModelError:
        line = clear_line(error.message, self._key)
        if too_long(error.message):
            return ContextOverflow(f"the request is longer than the model can read: {line}")
        return self._failed(f"the model stopped in the middle of its answer: {error.message}", charged=True)

    def _failed(self, message: str, *, charged: bool) -> CallFailed:
        return CallFailed(clear_line(message, self._key), charged=charged)

    def _refused(self, error: openai.APIStatusError) -> ModelError:
        message = error.body.get("message") if isinstance(error.body, dict) else None
        line = clear_line(message if isinstance(message, str) else error.message, self._key)
        return error_of(error.status_code, error.message, line, error.response.headers.get("retry-after", ""))


@contextmanager
def _connection_timeout(connections: Sequence[Connection], seconds: float) -> Iterator[None]:
    """Close the last of the connections after `seconds`: single bytes, each in time, would keep it open forever."""

    def hang_up() -> None:
        for connection in connections[-1:]:
            held = connection.get_extra_info("socket")
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


def _with_calls(reply: ModelReply, ask: ModelRequest, features: EndpointFeatures) -> ModelReply:
    """The reply with the tool call that its text holds, where the request describes tools in text."""
    if features.tools or not ask.tools or reply.finish is FinishReason.REFUSED:
        return reply
    text, calls = call_in(reply.text, ask.messages)
    return replace(reply, text=text, calls=calls, finish=FinishReason.CALLS) if calls else reply
