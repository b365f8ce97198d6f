from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.export import ExportForm, export
from memory.model import Actor, Arm, Permission, SignalKind, State, TaskKind
from memory.policy.learner import Learner
from memory.store import Store
from memory.store.documents import Trajectory
from tests.databases import migrated_store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REPOSITORY = "o/r"
MESSAGES = [
    {"role": "system", "text": "Repair it.", "calls": [], "call_id": "", "images": 0},
    {
        "role": "assistant",
        "text": "Off by one.",
        "calls": [{"id": "1", "name": "edit", "arguments": '{"path": "a.py", "key": "secret"}'}],
        "call_id": "",
        "images": 0,
    },
    {"role": "tool", "text": "edited a.py: secret", "calls": [], "call_id": "1", "images": 0},
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with migrated_store(tmp_path / "memory.db") as opened:
        yield opened


def run_of(store: Store, *kinds: SignalKind, repository: str = REPOSITORY) -> str:
    """A run that was kept, and what a maintainer did about it."""
    learner = Learner(store, random.Random(1), lambda: NOW, control_share=0.0)
    state = State(kind=TaskKind.REPAIR, repository=repository, label="ValueError", family="value")
    decision = learner.settle("t", state, {"model:minimal": 1.0}, arm=Arm.LEARNED)
    store.trajectories.add(decision.id, Trajectory(text="", messages=json.dumps(MESSAGES)), owner=repository, now=NOW)
    for kind in kinds:
        learner.record_signal(decision.id, kind, Actor(id=1, login="maya"), Permission.ADMIN, f"pull:{kind}")
    return decision.id


def exported(store: Store, path: Path, *repositories: str) -> list[dict[str, object]]:
    done = export(
        store, ExportForm.AGENT, path, repositories=repositories, clean=lambda text: text.replace("secret", "[gone]")
    )
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert done.lines == len(lines)
    return lines


def test_accepted_runs_leave_whole(store: Store, tmp_path: Path) -> None:
    """A run that people merged is one conversation with its tool calls, credentials taken out of texts and arguments."""
    run_of(store, SignalKind.FIX_MERGED)
    assert exported(store, tmp_path / "out.jsonl", REPOSITORY) == [
        {
            "messages": [
                {"role": "system", "content": "Repair it."},
                {
                    "role": "assistant",
                    "content": "Off by one.",
                    "tool_calls": [
                        {
                            "id": "1",
                            "type": "function",
                            "function": {"name": "edit", "arguments": '{"path": "a.py", "key": "[gone]"}'},
                        }
                    ],
                },
                {"role": "tool", "content": "edited a.py: [gone]", "tool_call_id": "1"},
            ]
        }
    ]


@pytest.mark.parametrize("kinds", [(), (SignalKind.FIX_CLOSED,), (SignalKind.FIX_MERGED, SignalKind.REJECTED)])
def test_what_nobody_accepted_stays(store: Store, tmp_path: Path, kinds: tuple[SignalKind, ...]) -> None:
    """A run that nobody judged, or that was turned down, teaches nobody."""
    run_of(store, *kinds)
    assert exported(store, tmp_path / "out.jsonl", REPOSITORY) == []


def test_other_repositories_stay(store: Store, tmp_path: Path) -> None:
    """Nothing leaves a repository that was not named."""
    run_of(store, SignalKind.FIX_MERGED, repository="o/private")
    assert exported(store, tmp_path / "out.jsonl", REPOSITORY) == []
