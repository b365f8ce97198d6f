"""Requests to a model and its replies, as values that depend on no endpoint and not on the `openai` package."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from workers.ports import Image


class ChatRole(StrEnum):
    """Who wrote a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Tier(StrEnum):
    """Which of the two models: the one that repairs and reviews, or a cheaper one that summarises and criticises."""

    STRONG = "strong"
    WEAK = "weak"


class FinishReason(StrEnum):
    """Why a reply ended: it is complete, it calls tools, it reached its length limit, or the model declined."""

    STOP = "stop"
    CALLS = "calls"
    LENGTH = "length"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call of the model; `arguments` is its JSON text, which may be invalid."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message. `calls` are an assistant's; `call_id` names the call that a tool's message answers."""

    role: ChatRole
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    images: tuple[Image, ...] = ()


def first_messages(system: str, user: str, images: tuple[Image, ...] = ()) -> tuple[ChatMessage, ...]:
    """The instructions and the task, which begin a conversation."""
    return ChatMessage(role=ChatRole.SYSTEM, text=system), ChatMessage(role=ChatRole.USER, text=user, images=images)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool's description for the model; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request. `schema` names and describes the JSON object that the reply must be, None for text or tool calls.

    `purpose` is a short word for the budget records, such as `repair` or `reflect`. Messages that stay the same come
    first, for the prompt cache. No call begins after `deadline`, in seconds of `time.monotonic`.
    """

    messages: tuple[ChatMessage, ...]
    purpose: str
    tier: Tier = Tier.STRONG
    tools: tuple[ToolSpec, ...] = ()
    schema: ToolSpec | None = None
    max_tokens: int = 4096
    deadline: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens of one call: `cached` are those of `prompt` from the endpoint's cache. `estimated` without its own figures."""

    prompt: int
    completion: int
    cached: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    text: str
    calls: tuple[ToolCall, ...]
    finish: FinishReason
    usage: TokenUsage
    model: str


class Model(Protocol):
    """Answers requests: one endpoint, or a model with the budgets of one task."""

    def reply(self, ask: ModelRequest) -> ModelReply:
        """Answer one request. Raises ModelError, whose subclasses say what the caller does next."""
        ...
