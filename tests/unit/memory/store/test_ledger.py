"""The ledger: append-only, each event once, and everything learned a sum over it."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from sqlalchemy import text

from memory.errors import StoreError
from memory.model import Arm, Cell, Contribution, Decision, Factor, Level, Outcome, Signal, SignalKind, TaskKind
from memory.store import Store

Decide = Callable[..., Decision]
Judge = Callable[..., Outcome]
React = Callable[..., Signal]
Contribute = Callable[..., Contribution]

GLOBAL = Level(scope="global", key="repair")
MILLION = 1_000_000

ADD_MANY = """
import sys
from datetime import UTC, datetime
from memory.model import *
from memory.store import open_store
url, worker = sys.argv[1:]
now = datetime(2026, 1, 1, tzinfo=UTC)
keys = ("a", "b", "c") if worker == "0" else ("c", "b", "a")
with open_store(url) as store:
    for number in range(25):
        parts = [
            Contribution(
                level=Level(scope="s", key=key), strategy="x", factor=Factor.PROOF, weight=1, value=1,
                repository=f"r{worker}",
            )
            for key in keys
        ]
        signal = Signal(
            id=f"{worker}-{number}", decision_id="d1", kind=SignalKind.ACCEPTED, actor=Actor(id=1, login="a"),
            permission=Permission.WRITE, source=f"{worker}-{number}", created_at=now, weights_version="w", weight=1.0,
        )
        store.ledger.append_signal(signal, parts)
"""


@pytest.mark.parametrize("levels", [0, 1500])
def test_totals_are_read_at_any_number_of_levels(
    store: Store, decide: Decide, contribute: Contribute, judge: Judge, levels: int
) -> None:
    """SQLite takes no expression of so many parts; nothing is found at no level."""
    store.ledger.append_decision(decide())
    store.ledger.append_outcome(judge(), [contribute(MILLION, MILLION)])
    keys = [f"other {number}" for number in range(levels)]
    asked = [Level(scope="global", key=key) for key in keys] + [GLOBAL] * (levels > 0)
    assert len(store.ledger.totals(asked)) == (levels > 0)


def test_decisions_come_back_as_they_were(store: Store, decide: Decide, now: datetime) -> None:
    """A decision is found by its id, its task and its subject, oldest first, equal to what was appended."""
    late = decide("a", subject="f1", created_at=now + timedelta(seconds=1))
    early = decide("b", subject="f1")
    other = decide("c", subject="f2", task_id="t2")
    assert sum(map(store.ledger.append_decision, [late, early, other])) == 3
    assert store.ledger.decision("a") == late
    assert store.ledger.decision("z") is None
    assert store.ledger.decisions_about("f1") == [early, late]
    assert store.ledger.decisions_of_task("t2") == [other]
    assert [each.decision for each in store.ledger.logged(TaskKind.REPAIR)] == [early, other, late]
    assert store.ledger.logged(TaskKind.REVIEW) == []


def test_a_known_decision_stays_as_it_was(store: Store, decide: Decide) -> None:
    """Appending a known id again changes nothing: the past is not rewritten."""
    store.ledger.append_decision(decide("a"))
    assert sum(map(store.ledger.append_decision, [decide("a", chosen="swap"), decide("b")])) == 1
    assert store.ledger.decision("a") == decide("a")


def test_an_outcome_counts_once(
    store: Store, decide: Decide, judge: Judge, contribute: Contribute, now: datetime
) -> None:
    """A decision's outcome is appended once and adds to the cells once."""
    store.ledger.append_decision(decide())
    parts = [contribute(MILLION, MILLION // 2), contribute(MILLION, MILLION)]
    assert store.ledger.append_outcome(judge(), parts)
    assert not store.ledger.append_outcome(judge(target=1.0), parts)
    assert store.ledger.outcome("d1") == judge()
    assert store.ledger.outcome("d2") is None
    assert store.ledger.judged() == ((decide(), judge()),)
    assert store.ledger.cells([GLOBAL], repository="o/r", at=now) == {
        (GLOBAL, "guard", Factor.PROOF): Cell(weight=2.0, mean=0.75, repositories=1)
    }


def test_an_event_is_one_signal(
    store: Store, decide: Decide, react: React, contribute: Contribute, now: datetime
) -> None:
    """The same decision, kind, source and retraction is one signal, whatever id it comes under."""
    store.ledger.append_decision(decide())
    assert store.ledger.append_signal(react("s1"), [contribute(MILLION, MILLION)])
    assert not store.ledger.append_signal(react("s2"), [contribute(MILLION, MILLION)])
    assert store.ledger.append_signal(react("s3", source="reaction:2"), [contribute(MILLION, 0)])
    assert store.ledger.append_signal(react("s4", kind=SignalKind.REJECTED), [])
    assert store.ledger.signals("d1") == [
        react("s1"),
        react("s3", source="reaction:2"),
        react("s4", kind=SignalKind.REJECTED),
    ]
    assert store.ledger.cells([GLOBAL], repository="o/r", at=now) == {
        (GLOBAL, "guard", Factor.PROOF): Cell(weight=2.0, mean=0.5, repositories=1)
    }


def test_a_retracted_signal_is_not_live(
    store: Store, decide: Decide, react: React, contribute: Contribute, now: datetime
) -> None:
    """What was taken back is no longer live, its retraction neither, and the cells are as if it had never been."""
    for each in [decide("d1"), decide("d2")]:
        store.ledger.append_decision(each)
    before = store.ledger.cells_digest()
    kept = react("k", "d2")
    store.ledger.append_signal(react("s1"), [contribute(MILLION, MILLION)])
    store.ledger.append_signal(kept, [])
    assert store.ledger.live_signals(["d1", "d2"]) == [kept, react("s1")]
    assert store.ledger.append_signal(react("s2", retracts="s1"), [contribute(-MILLION, -MILLION)])
    assert not store.ledger.append_signal(react("s3", retracts="s1"), [contribute(-MILLION, -MILLION)])
    assert store.ledger.live_signals(["d1", "d2"]) == [kept]
    assert store.ledger.live_signals([]) == []
    assert store.ledger.cells_digest() == before
    assert store.ledger.cells([GLOBAL], repository="o/r", at=now) == {}


def test_many_decisions_can_be_asked_about(store: Store, decide: Decide, react: React) -> None:
    """More decisions than one statement has room for can be asked about at once."""
    for each in [decide("d1"), decide("d2")]:
        store.ledger.append_decision(each)
    store.ledger.append_signal(react("s1", "d1"), [])
    store.ledger.append_signal(react("s0", "d2"), [])
    many = ["d1", *(f"x{number}" for number in range(70_000)), "d2"]
    assert [signal.id for signal in store.ledger.live_signals(many)] == ["s0", "s1"]


def test_nothing_comes_of_no_decision(store: Store, judge: Judge, react: React) -> None:
    """An outcome or a signal about an unknown decision is refused by name."""
    with pytest.raises(StoreError, match="no decision d1"):
        store.ledger.append_outcome(judge(), [])
    with pytest.raises(StoreError, match="no decision d1"):
        store.ledger.append_signal(react(), [])


@pytest.mark.parametrize("table", ["decisions", "outcomes", "signals"])
def test_the_past_cannot_be_changed(store: Store, decide: Decide, judge: Judge, react: React, table: str) -> None:
    """The database itself refuses to change or remove what stands in the ledger, by whatever statement."""
    store.ledger.append_decision(decide())
    store.ledger.append_outcome(judge(), [])
    store.ledger.append_signal(react(), [])
    by_dialect = {
        "sqlite": f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}",
        "postgresql": f"TRUNCATE {table} CASCADE",
    }
    sly = by_dialect[store.database.engine.dialect.name]
    for statement in (f"UPDATE {table} SET body = ''", f"DELETE FROM {table}", sly):
        with pytest.raises(StoreError, match="is append-only"), store.database.writing() as connection:
            connection.execute(text(statement))
    assert store.ledger.decision("d1") == decide()
    assert store.ledger.outcome("d1") == judge()
    assert store.ledger.signals("d1") == [react()]


def test_threads_lose_no_contribution(store: Store, decide: Decide, react: React, contribute: Contribute) -> None:
    """Eight threads that add to the same cells in different orders lose nothing."""
    store.ledger.append_decision(decide())
    keys = [f"k{number}" for number in range(5)]

    def add(number: int) -> None:
        shuffled = random.Random(number).sample(keys, len(keys))
        parts = [contribute(1, number, key=key) for key in shuffled]
        assert store.ledger.append_signal(react(f"s{number}", source=f"reaction:{number}"), parts)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(80)))
    cells = store.ledger.totals([Level(scope="global", key=key) for key in keys])
    assert len(cells) == 5
    assert set(cells.values()) == {Cell(weight=80 / MILLION, mean=sum(range(80)) / 80, repositories=1)}


def test_processes_lose_no_contribution(
    store: Store,
    database_url: str,
    decide: Decide,
    run_together: Callable[[str, list[list[str]]], list[str]],
) -> None:
    """Processes that add to the same cells in opposite orders lose nothing and do not deadlock."""
    store.ledger.append_decision(decide())
    run_together(ADD_MANY, [[database_url, "0"], [database_url, "1"]])
    levels = [Level(scope="s", key=key) for key in "abc"]
    cells = store.ledger.totals(levels)
    assert {key: cell.weight for key, cell in cells.items()} == {
        (level, "x", Factor.PROOF): 50 / MILLION for level in levels
    }


def test_the_summary_counts_by_choice(store: Store, decide: Decide, judge: Judge, react: React) -> None:
    """The summary has one entry for each kind, arm and choice, with outcomes and the signals not taken back."""
    for each in [decide("a"), decide("b"), decide("c", arm=Arm.CONTROL), decide("d", chosen="swap")]:
        store.ledger.append_decision(each)
    store.ledger.append_outcome(judge("a", target=0.25), [])
    store.ledger.append_outcome(judge("b", target=0.75), [])
    store.ledger.append_signal(react("s1", "a"), [])
    store.ledger.append_signal(react("s2", "b"), [])
    store.ledger.append_signal(react("s3", "b", retracts="s2"), [])
    assert store.ledger.signal_counts() == {SignalKind.REACTION_UP: 1}


def test_only_decisions_with_feedback_are_read(
    store: Store, decide: Callable[..., Decision], react: Callable[..., Signal], now: datetime
) -> None:
    """Newest first, of one kind, since a time and so many at most."""
    made = [decide(f"d{n}", created_at=now + timedelta(hours=n)) for n in range(4)]
    for each in made:
        store.ledger.append_decision(each)
    for n in (0, 1, 3):
        store.ledger.append_signal(react(f"s{n}", f"d{n}"), [])
    assert [d.id for d in store.ledger.with_feedback(TaskKind.REPAIR)] == ["d3", "d1", "d0"]
    assert [d.id for d in store.ledger.with_feedback(TaskKind.REPAIR, limit=1)] == ["d3"]
    assert [d.id for d in store.ledger.with_feedback(TaskKind.REPAIR, since=made[1].created_at)] == ["d3", "d1"]
    assert store.ledger.with_feedback(TaskKind.REVIEW) == []
