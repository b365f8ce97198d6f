"""What a step of the agent's loop costs beyond the tool's own time and beyond the endpoint's.

The endpoint is the scripted stand-in in a process of its own, over HTTP on loopback. Each request of the loop is made
once more, right after it, by bare HTTP with the same bytes: that is the server's own time. What the loop takes beyond it
is ours: the conversation, the body, the accounts in SQLite, the tools' specifications.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import httpx
import numpy as np

from benchmarks.report import Numbers, show, spread
from bot.model_server.script import Script, ScriptedAnswer, ScriptedCall
from bot.model_server.server import ModelServer
from memory.store import open_store
from workers.agent.loop import AgentLoop, ModelConversation
from workers.agent.tools import Tool, Toolset, tool
from workers.llm.client import models_of
from workers.llm.endpoint import EndpointFeatures, body_of
from workers.llm.messages import ChatMessage, ChatRole, Model, ModelReply, ModelRequest
from workers.settings import WorkerSettings

SEEN = "def shown(value):\n    return value\n" * 60
"""What the tool answers, some 2,000 characters: the conversation is as long as it may be after some fifty steps."""

GOAL = 15.0
"""Milliseconds of a step beyond its tool and its endpoint."""

NAME = "scripted"
BOUNDLESS = 10**12
TAIL = 100


# ── The endpoint ───────────────────────────────────────────────────────────────────────────────────────────────────


def _serve(pipe: Connection) -> None:
    """A server that calls for the tool at once, whatever it is asked, until the other end of the pipe is closed."""
    script = Script(otherwise=ScriptedAnswer(calls=(ScriptedCall(name="look", arguments={"path": "shown.py"}),)))
    with ModelServer(script) as server:
        pipe.send(server.url)
        pipe.poll(None)


@contextmanager
def served() -> Iterator[str]:
    """The base URL of the endpoint."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,))
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        ours.close()
        process.join()


# ── The loop ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Clocked:
    """A tool with a stopwatch. It never says the same twice, or the loop would end."""

    seconds: float = 0.0
    used: int = 0

    def tool(self) -> Tool:
        """The tool as the loop takes it."""
        return tool(self.look)

    def look(self, path: str) -> str:
        """Look at a file."""
        begun = time.perf_counter()
        self.used += 1
        text = f"{path}, look {self.used}\n{SEEN}"
        self.seconds += time.perf_counter() - begun
        return text


@dataclass
class Repeated:
    """A model whose requests are made again without it; seconds of these by step."""

    model: Model
    base_url: str
    http: list[float] = field(default_factory=list)
    aside: float = 0.0

    def __post_init__(self) -> None:
        self._http = httpx.Client()

    def reply(self, ask: ModelRequest) -> ModelReply:
        """The model's own reply; `aside` is all the time of the repetitions."""
        reply = self.model.reply(ask)
        self.aside += _timed(lambda: self._repeat(ask))
        return reply

    def _repeat(self, ask: ModelRequest) -> None:
        body = body_of(ask, NAME, EndpointFeatures(), stream=True)
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        self.http.append(_timed(lambda: self._by_http(data)))

    def _by_http(self, data: bytes) -> None:
        headers = {"content-type": "application/json"}
        self._http.post(f"{self.base_url}/chat/completions", content=data, headers=headers).raise_for_status()


def _timed(act: Callable[[], None]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Milliseconds by step, less the tool's own."""

    ours: Numbers
    http: Numbers


def stepped(steps: int, base_url: str) -> Steps:
    """Run the loop with every request repeated."""
    with _model(base_url) as model:
        clocked, repeated = Clocked(), Repeated(model, base_url)
        agent, taken = _agent(repeated, clocked, steps), []
        for _ in range(steps):
            before = clocked.seconds + repeated.aside
            whole = _timed(agent.step)
            taken.append(whole - (clocked.seconds + repeated.aside - before))
    return Steps(ours=1000.0 * np.array(taken), http=1000.0 * np.array(repeated.http))


def _agent(model: Model, clocked: Clocked, steps: int) -> AgentLoop:
    opening = (ChatMessage(role=ChatRole.SYSTEM, text="Look at files."), ChatMessage(role=ChatRole.USER, text="Begin."))
    return AgentLoop(
        model=model,
        tools=Toolset([clocked.tool()]),
        conversation=ModelConversation(opening, purpose="repair"),
        steps=steps,
        deadline=float("inf"),
    )


@contextmanager
def _model(base_url: str) -> Iterator[Model]:
    """The product's own client, with accounts on a disk and the budgets of the defaults, but as large as it takes."""
    with tempfile.TemporaryDirectory(prefix="apprentice-overhead-") as home:
        settings = WorkerSettings(
            home=Path(home),
            model_base_url=base_url,
            model=NAME,
            model_tokens_per_run=BOUNDLESS,
            model_tokens_per_day=BOUNDLESS,
            model_tokens_per_repository_day=BOUNDLESS,
        )
        with open_store(settings.database()) as store:
            models = models_of(settings, store, store.clock, random.Random(1))
            yield models("overhead", "benchmark/overhead")


# ── The table ──────────────────────────────────────────────────────────────────────────────────────────────────────


def overhead(steps: int, runs: int) -> None:
    """Measure and print."""
    with served() as base_url:
        stepped(20, base_url)  # imports, connections, caches
        found = [stepped(steps, base_url) for _ in range(runs)]
    show(
        f"agent overhead: {steps} steps over loopback HTTP, each request made again; medians of a step in ms, {runs} runs",
        _times(found, min(TAIL, steps)),
        ["the endpoint is the scripted stand-in: nothing here says anything about any model"],
    )


def _times(found: Sequence[Steps], tail: int) -> list[tuple[str, str]]:
    beyond = [each.ours - each.http for each in found]
    rows = {
        "a step less its tool": [each.ours for each in found],
        "the same bytes by bare HTTP": [each.http for each in found],
        f"a step beyond bare HTTP (goal: under {GOAL:.0f})": beyond,
        f"the same, last {tail} steps": [each[-tail:] for each in beyond],
    }
    lines = [(name, spread([float(np.median(each)) for each in values])) for name, values in rows.items()]
    return [
        *lines,
        ("a step beyond bare HTTP, 99th percentile", spread([float(np.percentile(each, 99)) for each in beyond])),
    ]
