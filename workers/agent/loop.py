"""The loop: ask the model, do what it calls for, show it what came of that, until one of them has had enough."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from workers.agent.conversation import Conversation
from workers.agent.errors import End, Over, end_of
from workers.agent.tools.tool import Toolset
from workers.llm.errors import ModelError
from workers.llm.messages import Ended, Message, Model, Reply, ToolCall

NUDGE = "Call one of the tools. When you are done, or cannot go on, call `finish`."
MOST_REPEATS, LATELY, MOST_SILENT = 3, 30, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a run ended, what was said last, in how many steps, and the whole conversation."""

    end: End
    said: str
    steps: int
    messages: tuple[Message, ...]


@dataclass(kw_only=True)
class Agent:
    """One run of a model with tools: at most `steps` replies, nothing begun after `deadline` (of `clock`, seconds).

    `state` names what the calls have changed so far: the same call after a change is another one.
    """

    model: Model
    tools: Toolset
    talk: Conversation
    steps: int
    deadline: float
    clock: Callable[[], float] = time.monotonic
    progress: Callable[[str], None] = lambda _line: None
    state: Callable[[], str] = str
    taken: int = 0
    silent: int = 0
    done: deque[bytes] = field(default_factory=lambda: deque(maxlen=LATELY))

    def run(self) -> Run:
        """Step until something ends it; whatever that is, it is told and never raised."""
        try:
            while True:
                self.step()
        except Over as over:
            return self.ended(over.end, over.said)
        except ModelError as error:
            return self.ended(end_of(error), str(error))

    def step(self) -> None:
        """One reply, and what it calls for."""
        if self.taken >= self.steps:
            raise Over(End.STEPS)
        self.check_time()
        reply = self.talk.ask(self.model, self.tools.specs)
        self.taken += 1
        for call in self.called(reply):
            self.check_time()
            self.progress(f"step {self.taken}: {call.name} {call.arguments[:100]}")
            observation = self.tools.observe(call)
            self.talk.observe(call, observation, left=self.steps - self.taken)
            self.notice(call, observation)

    def check_time(self) -> None:
        """Whether there is time for more: one reply may hold many calls, each of which runs tests."""
        if self.clock() >= self.deadline:
            raise Over(End.DEADLINE)

    def called(self, reply: Reply) -> tuple[ToolCall, ...]:
        """The calls of a reply; one without any is told so, twice."""
        if reply.ended is Ended.REFUSED:
            raise Over(End.REFUSED, reply.text)
        self.silent = 0 if reply.calls else self.silent + 1
        if self.silent > MOST_SILENT:
            raise Over(End.SILENT, reply.text)
        if not reply.calls:
            self.talk.say(NUDGE)
        return reply.calls

    def notice(self, call: ToolCall, observation: str) -> None:
        """A call that gives the same for the third time lately, with nothing changed, ends the run."""
        # Only digests of the latest are kept: the observations of a long run are megabytes.
        told = "\0".join((call.name, call.arguments, observation, self.state()))
        repeat = hashlib.sha256(told.encode(errors="replace")).digest()
        self.done.append(repeat)
        if self.done.count(repeat) >= MOST_REPEATS:
            raise Over(End.LOOPED, f"{call.name} {call.arguments[:200]}")

    def ended(self, end: End, said: str) -> Run:
        """The run as a value."""
        return Run(end=end, said=said, steps=self.taken, messages=self.talk.messages)
