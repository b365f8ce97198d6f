"""`apprentice forget`: shows, asks, undoes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli.main import app
from memory.model import Actor, Arm, Permission, SignalKind, State, TaskKind
from memory.policy.learner import Learner
from memory.store import Store
from tests.databases import migrated_store

STATE = State(kind=TaskKind.REPAIR, repository="o/r", label="KeyError", family="lookup")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with migrated_store(tmp_path / "apprentice.db") as opened:
        yield opened


@pytest.fixture
def taught(store: Store) -> tuple[str, str, str]:
    """A decision that mallory rejected; its id, and the table's digest before and after."""
    learner = Learner(store, random.Random(1), lambda: datetime.now(UTC), control_share=0.0)
    decision = learner.decide("t", STATE, ("swap", "guard"), arm=Arm.LEARNED, prior={})
    before = store.ledger.cells_digest()
    learner.record_signal(
        decision.id, SignalKind.REJECTED, Actor(id=666, login="mallory"), Permission.WRITE, "comment:1"
    )
    return decision.id, before, store.ledger.cells_digest()


def forget(tmp_path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["forget", *arguments], env={"APPRENTICE_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    "who", [("--teacher", "mallory"), ("--teacher", "666", "--repository", "o/r"), ("--repository", "o/r")]
)
def test_it_says_what_it_undoes(
    tmp_path: Path, store: Store, taught: tuple[str, str, str], who: tuple[str, ...]
) -> None:
    """A summary of what is undone, and afterwards the former table."""
    done = forget(tmp_path, *who, "--yes")
    assert done.exit_code == 0
    assert "mallory" in done.output
    assert "rejected" in done.output
    assert store.ledger.cells_digest() == taught[1]


def test_without_consent_nothing_is_undone(tmp_path: Path, store: Store, taught: tuple[str, str, str]) -> None:
    """Where nobody can be asked it shows what it would do, does nothing, and says how to go on."""
    refused = forget(tmp_path, "--teacher", "mallory")
    assert refused.exit_code == 2
    assert "run again with --yes" in refused.output
    shown = json.loads(forget(tmp_path, "--decision", taught[0], "--json").output)
    assert shown == {
        "forgotten": False,
        "lessons": [{"repository": "o/r", "by": "mallory", "what": "rejected", "weight": 1.0, "count": 1}],
        "experience": "",
        "digest": taught[2],
    }
    assert store.ledger.cells_digest() == taught[2]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "name what to forget"),
        (("--teacher", "nobody"), "no feedback from 'nobody'"),
        (("--decision", "x"), "no decision 'x'"),
        (("--decision", "x", "--teacher", "1"), "give --decision alone"),
        (("--experience", "x"), "no experience 'x'"),
    ],
)
def test_what_is_not_clear_is_refused(tmp_path: Path, arguments: tuple[str, ...], complaint: str) -> None:
    """One line says what is wrong."""
    refused = forget(tmp_path, *arguments, "--yes")
    assert refused.exit_code == 2
    assert complaint in refused.output
