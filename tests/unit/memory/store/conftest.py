"""A store on each kind of database, and nouns to put in."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.model import (
    Actor,
    Arm,
    Contribution,
    Decision,
    Factor,
    Level,
    Outcome,
    Permission,
    Signal,
    SignalKind,
    State,
    TaskKind,
    period_of,
)
from memory.store import Store, open_store
from tests.databases import migrated

NOW = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)
ROOT = Path(__file__).parents[4]


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database with today's schema and without rows, of each kind in turn."""
    if request.param == "sqlite":
        return migrated(tmp_path / "apprentice.db")
    url: str = request.getfixturevalue("migrated_postgresql_url")
    return url


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    with open_store(database_url) as opened:
        yield opened


@pytest.fixture
def decide() -> Callable[..., Decision]:
    """Make a decision; by default a repair that chose "guard" over "swap"."""

    def make(
        decision_id: str = "d1",
        *,
        chosen: str = "guard",
        task_id: str = "t1",
        subject: str = "",
        arm: Arm = Arm.LEARNED,
        created_at: datetime = NOW,
        repository: str = "o/r",
    ) -> Decision:
        return Decision(
            id=decision_id,
            task_id=task_id,
            state=State(kind=TaskKind.REPAIR, repository=repository, label="TypeError", family="type"),
            available=("guard", "swap"),
            probabilities=(0.75, 0.25),
            chosen=chosen,
            arm=arm,
            policy_version="p1",
            created_at=created_at,
            subject=subject,
        )

    return make


@pytest.fixture
def judge() -> Callable[..., Outcome]:
    """Make what the tests said of a decision."""

    def make(decision_id: str = "d1", *, target: float = 0.5, credited: str = "", credit: float = 0.0) -> Outcome:
        return Outcome(
            decision_id=decision_id,
            components={"tests": 1.0, "speed": -0.25},
            target=target,
            weights_version="w1",
            created_at=NOW,
            credited=credited,
            credit=credit,
        )

    return make


@pytest.fixture
def react() -> Callable[..., Signal]:
    """Make a signal about a decision; by default a maintainer's thumb up."""

    def make(
        signal_id: str = "s1",
        decision_id: str = "d1",
        *,
        source: str = "reaction:1",
        retracts: str = "",
        weight: float = 1.0,
        kind: SignalKind = SignalKind.REACTION_UP,
        actor: int = 7,
    ) -> Signal:
        return Signal(
            id=signal_id,
            decision_id=decision_id,
            kind=kind,
            actor=Actor(id=actor, login="ada"),
            permission=Permission.WRITE,
            source=source,
            created_at=NOW,
            weights_version="w1",
            weight=weight,
            retracts=retracts,
        )

    return make


@pytest.fixture
def contribute() -> Callable[..., Contribution]:
    """Make a contribution to one cell."""

    def make(
        weight: int,
        value: int,
        *,
        key: str = "repair",
        strategy: str = "guard",
        factor: Factor = Factor.PROOF,
        repository: str = "o/r",
        teacher: str = "",
    ) -> Contribution:
        return Contribution(
            level=Level(scope="global", key=key),
            strategy=strategy,
            factor=factor,
            weight=weight,
            value=value,
            repository=repository,
            teacher=teacher,
            period=period_of(NOW),
        )

    return make


@pytest.fixture
def run_together() -> Callable[[str, list[list[str]]], list[str]]:
    """Run one Python program in several processes at the same time, each with its arguments; gives what each printed."""

    def run(program: str, arguments: list[list[str]]) -> list[str]:
        command = [sys.executable, "-W", "error", "-c", program]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        started = [
            subprocess.Popen([*command, *each], stdout=subprocess.PIPE, text=True, env=environment)
            for each in arguments
        ]
        printed = [process.communicate(timeout=900)[0] for process in started]
        assert [process.returncode for process in started] == [0] * len(started)
        return printed

    return run
