from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from workers.llm.errors import ModelError
from workers.llm.messages import FinishReason, ModelReply, ModelRequest, TokenUsage, ToolCall

USAGE = TokenUsage(prompt=10, completion=2)


def said(text: str, *calls: tuple[str, str], finish: FinishReason | None = None) -> ModelReply:
    """A reply with words and calls, each (name, arguments as JSON)."""
    made = tuple(ToolCall(id=str(number), name=name, arguments=given) for number, (name, given) in enumerate(calls))
    usual = FinishReason.CALLS if made else FinishReason.STOP
    return ModelReply(text=text, calls=made, finish=finish or usual, usage=USAGE, model="scripted")


class Scripted:
    """A model that gives these replies in order, or raises them; `asked` is what it was asked."""

    def __init__(self, replies: Iterable[ModelReply | ModelError]) -> None:
        self._replies: Iterator[ModelReply | ModelError] = iter(replies)
        self.asked: list[ModelRequest] = []

    def reply(self, ask: ModelRequest) -> ModelReply:
        self.asked.append(ask)
        given = next(self._replies)
        if isinstance(given, ModelError):
            raise given
        return given


class Reader:
    """A model that can read so many characters, and replies by a function of what it is asked."""

    def __init__(self, most: int, answer: Callable[[ModelRequest], ModelReply], error: type[ModelError]) -> None:
        self._most = most
        self._answer = answer
        self._error = error
        self.asked: list[ModelRequest] = []

    def reply(self, ask: ModelRequest) -> ModelReply:
        self.asked.append(ask)
        if sum(len(message.text) for message in ask.messages) > self._most:
            raise self._error("too long")
        return self._answer(ask)
