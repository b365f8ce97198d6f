"""Which features an endpoint has, learned from the requests that it refuses. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from workers.llm.messages import ModelRequest


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
