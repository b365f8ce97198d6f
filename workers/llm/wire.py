"""A request as the body of an OpenAI chat completion. Pure, and the same bytes for the same request: prompt caches hold."""

from __future__ import annotations

import base64

from workers.llm.features import Features
from workers.llm.messages import Ask, Message, Role, ToolCall, ToolSpec
from workers.llm.plain import schema_in_words, tools_in_words
from workers.ports import Image

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
