"""What is said between us and a model, as values: no endpoint's names, nothing of the `openai` package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from workers.ports import Image


class Role(StrEnum):
    """Who said a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Tier(StrEnum):
    """Which of the two models is meant: one that repairs and reviews, or a cheaper one that sums up and criticises."""

    STRONG = "strong"
    WEAK = "weak"


class Ended(StrEnum):
    """Why a reply ended: it said all, it calls tools, it met the limit of its length, or the model declined."""

    STOP = "stop"
    CALLS = "calls"
    LENGTH = "length"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool that the model wants used; `arguments` is the JSON as it came, which need not be any."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. `calls` are an assistant's, `call_id` tells which of them a tool's message answers."""

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as the model is told of it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request. `schema` names and describes the JSON object that the reply is to be, None for words or calls.

    `purpose` is what the call is for, for the accounts: a short word such as `repair` or `reflect`. The messages come in an
    order that a prompt cache can use: what stays the same first.
    """

    messages: tuple[Message, ...]
    purpose: str
    tier: Tier = Tier.STRONG
    tools: tuple[ToolSpec, ...] = ()
    schema: ToolSpec | None = None
    max_tokens: int = 4096
    temperature: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call: `cached` are those of `prompt` that the endpoint had ready. `estimated` where it did not say."""

    prompt: int
    completion: int
    cached: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered; `micros` is what that cost, in millionths of a US dollar, 0 where no price is set."""

    text: str
    calls: tuple[ToolCall, ...]
    ended: Ended
    usage: Usage
    model: str
    micros: int = 0


class Model(Protocol):
    """A model, with the accounts of one task behind it."""

    def reply(self, ask: Ask) -> Reply:
        """Answer one request. Raises the errors of `workers.llm.errors`, each named for what the caller does next."""
        ...
