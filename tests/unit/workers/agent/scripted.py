from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from workers.llm.errors import ModelError
from workers.llm.messages import Ask, Ended, Reply, ToolCall, Usage

USAGE = Usage(prompt=10, completion=2)


def said(text: str, *calls: tuple[str, str], ended: Ended | None = None) -> Reply:
    """A reply with words and calls, each (name, arguments as JSON)."""
    made = tuple(ToolCall(id=str(number), name=name, arguments=given) for number, (name, given) in enumerate(calls))
    usual = Ended.CALLS if made else Ended.STOP
    return Reply(text=text, calls=made, ended=ended or usual, usage=USAGE, model="scripted", micros=3)


class Scripted:
    """A model that gives these replies in order, or raises them; `asked` is what it was asked."""

    def __init__(self, replies: Iterable[Reply | ModelError]) -> None:
        self._replies: Iterator[Reply | ModelError] = iter(replies)
        self.asked: list[Ask] = []

    def reply(self, ask: Ask) -> Reply:
        self.asked.append(ask)
        given = next(self._replies)
        if isinstance(given, ModelError):
            raise given
        return given


class Reader:
    """A model that can read so many characters, and replies by a function of what it is asked."""

    def __init__(self, most: int, answer: Callable[[Ask], Reply], error: type[ModelError]) -> None:
        self._most = most
        self._answer = answer
        self._error = error
        self.asked: list[Ask] = []

    def reply(self, ask: Ask) -> Reply:
        self.asked.append(ask)
        if sum(len(message.text) for message in ask.messages) > self._most:
            raise self._error("too long")
        return self._answer(ask)
