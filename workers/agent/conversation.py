"""The conversation of one run: the opening and the latest steps stay, the oldest steps give way when there is no room."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from workers.llm.errors import ContextOverflow
from workers.llm.messages import ChatMessage, ChatRole, Model, ModelReply, ModelRequest, Tier, ToolCall, ToolSpec
from workers.llm.untrusted import data

ROOM = 120_000
"""Characters of a conversation that are sent at most, before any endpoint complains."""

LEAST_ROOM = 6_000
MOST_DIGEST = 60
"""Lines that summarize the steps that gave way."""

OBSERVATION = 8_000
"""Characters of what one tool gives."""

LONGEST_LINE = 400


def truncated(text: str, room: int = OBSERVATION) -> str:
    """At most about `room` characters: the first two fifths and the last three, as errors come at the end."""
    text = "\n".join(_line(line) for line in text.split("\n"))
    if len(text) <= room:
        return text
    head, tail = text[: room * 2 // 5], text[-(room * 3 // 5) :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out} characters left out …]\n{tail}"


def _line(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    half = LONGEST_LINE // 2
    return f"{line[:half]}[… {len(line) - LONGEST_LINE} …]{line[-half:]}"


@dataclass(frozen=True, slots=True)
class _Turn:
    """A reply of the model with the observations and messages that follow it."""

    messages: tuple[ChatMessage, ...]

    @property
    def size(self) -> int:
        return sum(len(message.text) + sum(len(call.arguments) for call in message.calls) for message in self.messages)


class ModelConversation:
    """`opening` is the task: instructions, the failing test, lessons of earlier attempts. It is never shortened.

    Steps that gave way are summarized in a line each, so that the model knows what it did. Memory is bounded: the messages
    of those steps are not kept.
    """

    def __init__(self, opening: tuple[ChatMessage, ...], *, purpose: str, room: int = ROOM) -> None:
        self._opening = opening
        self._purpose = purpose
        self._room = room
        self._turns: deque[_Turn] = deque()
        self._digest: deque[str] = deque(maxlen=MOST_DIGEST)
        self._given_way = 0

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """What is sent: the opening, what gave way in a line each, the latest turns whole."""
        summary = (ChatMessage(role=ChatRole.USER, text=self._summary()),) if self._given_way else ()
        return (*self._opening, *summary, *(message for turn in self._turns for message in turn.messages))

    def query(self, model: Model, tools: tuple[ToolSpec, ...]) -> ModelReply:
        """The model's next reply, which is kept. On overflow the oldest turns give way, and it is asked again.

        Raises ContextOverflow when the opening and the last turn alone are too long, and the model's other errors.
        """
        self._fit()
        while True:
            ask = ModelRequest(messages=self.messages, purpose=self._purpose, tier=Tier.STRONG, tools=tools)
            try:
                reply = model.reply(ask)
            except ContextOverflow:
                self._shrink()
            else:
                self._turns.append(_Turn((ChatMessage(role=ChatRole.ASSISTANT, text=reply.text, calls=reply.calls),)))
                return reply

    def observe(self, call: ToolCall, observation: str, *, left: int) -> None:
        """Add the result of a call; `left` steps may follow."""
        text = observation if left > 3 else f"{observation}\n({left} steps left)"
        self._extend(ChatMessage(role=ChatRole.TOOL, text=text, call_id=call.id))

    def say(self, text: str) -> None:
        """Add a message that is no call's result."""
        self._extend(ChatMessage(role=ChatRole.USER, text=text))

    def _extend(self, message: ChatMessage) -> None:
        last = self._turns.pop()
        self._turns.append(_Turn((*last.messages, message)))

    def _size(self) -> int:
        return sum(len(message.text) for message in self._opening) + sum(turn.size for turn in self._turns)

    def _fit(self) -> None:
        while self._size() > self._room and len(self._turns) > 1:
            self._give_way()

    def _shrink(self) -> None:
        """Half the room; raises ContextOverflow when there is nothing left that could give way."""
        self._room = min(self._room, self._size()) // 2
        if self._room < LEAST_ROOM and len(self._turns) <= 1:
            raise ContextOverflow("the task alone is longer than the model can read; use one with a longer context")
        self._fit()
        if self._turns and len(self._turns) == 1:
            self._turns[0] = _shortened(self._turns[0], self._room)

    def _give_way(self) -> None:
        turn = self._turns.popleft()
        self._given_way += 1
        results = {message.call_id: message.text for message in turn.messages if message.role is ChatRole.TOOL}
        for message in turn.messages:
            for call in message.calls:
                self._digest.append(
                    f"- {call.name} {truncated(call.arguments, 120)} → {_first(results.get(call.id, ''))}"
                )

    def _summary(self) -> str:
        steps = data("your steps", "\n".join(self._digest), code=True)
        return f"Your first {self._given_way} steps, shortened to save room (read again what you need):\n{steps}"


def _first(text: str) -> str:
    """The first line of a result, past the mark that it is data."""
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("<data-")]
    return lines[0].strip()[:120] if lines else "nothing"


def _shortened(turn: _Turn, room: int) -> _Turn:
    each = max(room // max(len(turn.messages), 1), 400)
    return _Turn(
        tuple(replace(m, text=truncated(m.text, each)) if m.role is ChatRole.TOOL else m for m in turn.messages)
    )
