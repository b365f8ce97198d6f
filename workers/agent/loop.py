"""The loop of a model with tools: query the model, execute its calls, let it observe the results, until something ends it."""

from __future__ import annotations

import hashlib
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from workers.agent.tools import Toolset
from workers.errors import ApprenticeError
from workers.llm.errors import BadReply, BudgetSpent, ContextOverflow, ModelDeclined, ModelError
from workers.llm.messages import (
    ChatMessage,
    ChatRole,
    FinishReason,
    Model,
    ModelReply,
    ModelRequest,
    Tier,
    ToolCall,
    ToolSpec,
)
from workers.llm.prompt_text import truncated

ROOM = 120_000
"""Characters of a conversation that are sent at most, before any endpoint complains."""

MIN_ROOM = 6_000


class ModelConversation:
    """`opening` is the task: instructions, the failing test, lessons of earlier attempts. It is never shortened.

    Memory is bounded: the messages of the steps that gave way are not kept.
    """

    def __init__(self, opening: tuple[ChatMessage, ...], *, purpose: str, room: int = ROOM) -> None:
        self._opening = opening
        self._purpose = purpose
        self._room = room
        self._turns: deque[list[ChatMessage]] = deque()
        self._given_way = 0

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """What is sent: the opening, how many steps gave way, the latest turns whole."""
        note = f"Your first {self._given_way} steps are left out to save room. Read again what you need."
        left_out = (ChatMessage(role=ChatRole.USER, text=note),) if self._given_way else ()
        return (*self._opening, *left_out, *(message for turn in self._turns for message in turn))

    def query(self, model: Model, tools: tuple[ToolSpec, ...], *, deadline: float = math.inf) -> ModelReply:
        """The model's next reply, which is kept. On overflow the oldest turns give way, and it is asked again.

        Raises ContextOverflow when the opening and the last turn alone are too long, and the model's other errors.
        """
        self._fit()
        while True:
            ask = ModelRequest(
                messages=self.messages, purpose=self._purpose, tier=Tier.STRONG, tools=tools, deadline=deadline
            )
            try:
                reply = model.reply(ask)
            except ContextOverflow:
                self._shrink()
            else:
                self._turns.append([ChatMessage(role=ChatRole.ASSISTANT, text=reply.text, calls=reply.calls)])
                return reply

    def observe(self, call: ToolCall, observation: str, *, left: int) -> None:
        """Add the result of a call; `left` steps may follow."""
        text = observation if left > 3 else f"{observation}\n({left} steps left)"
        self._turns[-1].append(ChatMessage(role=ChatRole.TOOL, text=text, call_id=call.id))

    def say(self, text: str) -> None:
        """Add a message that is no call's result."""
        self._turns[-1].append(ChatMessage(role=ChatRole.USER, text=text))

    def _size(self) -> int:
        return sum(map(_size, (self._opening, *self._turns)))

    def _fit(self) -> None:
        while self._size() > self._room and len(self._turns) > 1:
            self._turns.popleft()
            self._given_way += 1

    def _shrink(self) -> None:
        """Half the room; raises ContextOverflow when there is nothing left that could give way."""
        self._room = min(self._room, self._size()) // 2
        if self._room < MIN_ROOM and len(self._turns) <= 1:
            raise ContextOverflow("the task alone is longer than the model can read; use one with a longer context")
        self._fit()
        if len(self._turns) == 1:
            self._turns[0] = _shortened(self._turns[0], self._room)


def _size(messages: Iterable[ChatMessage]) -> int:
    return sum(len(each.text) + sum(len(call.arguments) for call in each.calls) for each in messages)


def _shortened(turn: Sequence[ChatMessage], room: int) -> list[ChatMessage]:
    most = max(room // len(turn), 400)
    return [replace(m, text=truncated(m.text, most)) if m.role is ChatRole.TOOL else m for m in turn]


NUDGE = "Call one of the tools. When you are done, or cannot go on, call `finish`."
MAX_REPEATS, LATELY, MAX_SILENT = 3, 30, 2


class RunEnd(StrEnum):
    """Why a run of the agent ended."""

    FINISHED = "finished"
    STEPS = "used all its steps"
    DEADLINE = "ran out of time"
    LOOPED = "did the same again and again"
    SILENT = "called no tool"
    CUT = "reached the limit of a reply's length"
    BUDGET = "met a budget"
    REFUSED = "the model declined"
    OVERFLOW = "the conversation became too long"
    UNREADABLE = "gave no answer that could be read"
    UNAVAILABLE = "the model could not be used"


_ENDS = {
    BudgetSpent: RunEnd.BUDGET,
    ContextOverflow: RunEnd.OVERFLOW,
    ModelDeclined: RunEnd.REFUSED,
    BadReply: RunEnd.UNREADABLE,
}

MODEL_MISSING = frozenset({RunEnd.BUDGET, RunEnd.UNAVAILABLE})
"""Ends that say nothing of the attempt: the model was not available to make it."""


class RunOver(ApprenticeError):
    """The run is over; `words` are the last ones of the model, or the reason."""

    def __init__(self, end: RunEnd, words: str = "") -> None:
        super().__init__(words or end)
        self.end = end
        self.words = words


def finish(summary: Annotated[str, Meta(min_length=1, max_length=2000)]) -> str:
    """Say that you are done: what was wrong, with `path:line`, and how it is repaired; or what you found out instead."""
    raise RunOver(RunEnd.FINISHED, summary)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """How a run ended, the last words, the number of steps, and the whole conversation."""

    end: RunEnd
    words: str
    steps: int
    messages: tuple[ChatMessage, ...]


@dataclass(kw_only=True)
class AgentLoop:
    """One run of a model with tools: at most `steps` replies, nothing begun after `deadline` (of `clock`, seconds).

    `state` names what the calls have changed so far: the same call after a change is another one.
    """

    model: Model
    tools: Toolset
    conversation: ModelConversation
    steps: int
    deadline: float
    clock: Callable[[], float] = time.monotonic
    progress: Callable[[str], None] = lambda _line: None
    state: Callable[[], str] = str
    queried: int = 0
    silent: int = 0
    done: deque[bytes] = field(default_factory=lambda: deque(maxlen=LATELY))

    def run(self) -> AgentRun:
        """Step until something ends the run; no end is raised."""
        try:
            while True:
                self.step()
        except RunOver as over:
            end, words = over.end, over.words
        except ModelError as error:
            end, words = _ENDS.get(type(error), RunEnd.UNAVAILABLE), str(error)
        return AgentRun(end=end, words=words, steps=self.queried, messages=self.conversation.messages)

    def step(self) -> None:
        """One reply, and what it calls for."""
        for call in self.query().calls:
            self.execute(call)

    def query(self) -> ModelReply:
        """The next reply of the model; one without a call is asked for one, twice."""
        if self.queried >= self.steps:
            raise RunOver(RunEnd.STEPS)
        self.check_time()
        reply = self.conversation.query(self.model, self.tools.specs, deadline=self.deadline)
        self.queried += 1
        if reply.finish is FinishReason.REFUSED:
            raise RunOver(RunEnd.REFUSED, reply.text)
        self.silent = 0 if reply.calls else self.silent + 1
        if self.silent > MAX_SILENT:
            cut = reply.finish is FinishReason.LENGTH
            raise RunOver(RunEnd.CUT) if cut else RunOver(RunEnd.SILENT, reply.text)
        if not reply.calls:
            self.conversation.say(NUDGE)
        return reply

    def execute(self, call: ToolCall) -> None:
        """Do what a call asks for, and add the result to the conversation."""
        self.check_time()
        self.progress(f"step {self.queried}: {call.name} {call.arguments[:100]}")
        observation = self.tools.execute(call)
        self.conversation.observe(call, observation, left=self.steps - self.queried)
        self.check_repeats(call, observation)

    def check_time(self) -> None:
        """End the run after its deadline: one reply may hold many calls, each of which runs tests."""
        if self.clock() >= self.deadline:
            raise RunOver(RunEnd.DEADLINE)

    def check_repeats(self, call: ToolCall, observation: str) -> None:
        """End the run when a call gives the same for the third time lately, with nothing changed."""
        # Only digests of the latest are kept: the observations of a long run are megabytes.
        known = "\0".join((call.name, call.arguments, observation, self.state()))
        repeat = hashlib.sha256(known.encode(errors="replace")).digest()
        self.done.append(repeat)
        if self.done.count(repeat) >= MAX_REPEATS:
            raise RunOver(RunEnd.LOOPED, f"{call.name} {call.arguments[:200]}")
