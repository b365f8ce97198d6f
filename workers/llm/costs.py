"""What a call costs: tokens before they are counted, and their price. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import ceil

from workers.llm.messages import Ask, Usage

_BYTES_PER_TOKEN = 3
_TOKENS_PER_MESSAGE = 16
_TOKENS_PER_IMAGE = 1600
_TOKENS_OF_OUR_WORDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens, which is millionths of a dollar per token."""

    prompt: float
    cached: float
    completion: float

    def micros(self, usage: Usage) -> int:
        """What a call costs, in millionths of a US dollar, rounded up."""
        read = self.prompt * (usage.prompt - usage.cached) + self.cached * usage.cached
        return ceil(read + self.completion * usage.completion)


FREE = Price(prompt=0.0, cached=0.0, completion=0.0)


def price_of(setting: str) -> Price:
    """The price that a setting names as `read,cached,written`; free when it is empty."""
    if not setting:
        return FREE
    prompt, cached, completion = map(float, setting.split(","))
    return Price(prompt=prompt, cached=cached, completion=completion)


def tokens_of(text: str) -> int:
    """Tokens of a text, estimated upwards: by bytes, as scripts other than Latin take a token for a character or two."""
    return ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)


def most_of(ask: Ask) -> Usage:
    """What a request may take at most, as far as can be told before it is made."""
    texts = [message.text for message in ask.messages]
    texts += [call.name + call.arguments for message in ask.messages for call in message.calls]
    described = [*ask.tools, *([ask.schema] if ask.schema else [])]
    texts += [each.name + each.description + json.dumps(dict(each.parameters)) for each in described]
    pictures = sum(len(message.images) for message in ask.messages) * _TOKENS_PER_IMAGE
    frame = len(ask.messages) * _TOKENS_PER_MESSAGE + (_TOKENS_OF_OUR_WORDS if described else 0)
    prompt = tokens_of("".join(texts)) + pictures + frame
    return Usage(prompt=prompt, completion=ask.max_tokens, estimated=True)
