"""A tool: its name, its purpose, its arguments, and what it does with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from workers.agent.checkout import ToolFailed
from workers.agent.conversation import truncated
from workers.llm.messages import ToolCall, ToolSpec

A = TypeVar("A", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`use` gets the arguments as JSON and gives an observation, truncated; it raises ToolFailed with one line for the model."""

    spec: ToolSpec
    use: Callable[[str], str]

    @property
    def name(self) -> str:
        return self.spec.name


def tool(name: str, arguments: type[A], use: Callable[[A], str]) -> Tool:
    """A tool whose description is the docstring of its `arguments`, a struct that refuses unknown fields."""
    parts = dict(msgspec.json.schema(arguments)["$defs"])
    described = parts.pop(arguments.__name__)
    parameters = {key: value for key, value in described.items() if key not in ("title", "description")}
    parameters |= {"$defs": parts} if parts else {}

    def decoded(text: str) -> str:
        try:
            given = msgspec.json.decode(text or "{}", type=arguments)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise ToolFailed(f"the arguments of {name} are wrong: {error}") from error
        return truncated(use(given))

    return Tool(spec=ToolSpec(name=name, description=described["description"], parameters=parameters), use=decoded)


class Toolset:
    """The tools of one run, by name."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {each.name: each for each in tools}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Their descriptions for the model."""
        return tuple(each.spec for each in self._tools.values())

    def execute(self, call: ToolCall) -> str:
        """The observation of a call, in words for the model; a failure is one of them."""
        wanted = self._tools.get(call.name)
        if wanted is None:
            return f"error: there is no tool {call.name[:40]!r}; there are {', '.join(self._tools)}"
        try:
            return wanted.use(call.arguments)
        except ToolFailed as error:
            return f"error: {error}"
