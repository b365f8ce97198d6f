"""Whole runs of the agent that people accepted, as conversations with tools, in the form that chat models are tuned with."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from datetime import datetime

import msgspec

from memory.model import Decision
from memory.rewards import acceptance
from memory.store import Store


class Call(msgspec.Struct, frozen=True):
    """A tool that was called, with its arguments as JSON."""

    id: str
    name: str
    arguments: str


class Said(msgspec.Struct, frozen=True):
    """One message of a run, as it was kept."""

    role: str
    text: str
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    images: int = 0


def accepted(
    store: Store, repositories: Collection[str], *, clean: Callable[[str], str], since: datetime | None = None
) -> Iterator[tuple[Decision, dict[str, object]]]:
    """Each accepted run of these repositories as {"messages": […]}, oldest first, every text passed through `clean`."""
    for decision_id, kept in store.trajectories.messages(repositories).items():
        decision = store.ledger.decision(decision_id)
        if decision is None or (since is not None and decision.created_at < since):
            continue
        verdict = acceptance(store.ledger.live_signals([decision_id]))
        if verdict is not None and verdict > 0.5:
            said = msgspec.json.decode(kept, type=tuple[Said, ...])
            yield decision, {"messages": [_message(each, clean) for each in said]}


def _message(said: Said, clean: Callable[[str], str]) -> dict[str, object]:
    message: dict[str, object] = {"role": said.role, "content": clean(said.text)}
    if said.calls:
        message["tool_calls"] = [_call(call, clean) for call in said.calls]
    if said.call_id:
        message["tool_call_id"] = said.call_id
    return message


def _call(call: Call, clean: Callable[[str], str]) -> dict[str, object]:
    function = {"name": call.name, "arguments": clean(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def length(line: dict[str, object]) -> int:
    """Characters of a line as it is written."""
    return len(json.dumps(line, ensure_ascii=False))
