"""Many processes that write to one ledger at once, in any order: nothing is lost, and the table is that of a rebuild."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory.model import TaskKind
from memory.rewards import contributions_of_feedback, contributions_of_outcomes
from memory.store import Store

WORKER = """
import random, sys
from datetime import UTC, datetime
from memory.forget import retraction
from memory.model import *
from memory.rewards import contributions_of_outcome, contributions_of_signal
from memory.store import open_store

url, worker = sys.argv[1], int(sys.argv[2])
now, rng, kinds = datetime(2026, 1, 1, tzinfo=UTC), random.Random(worker), list(SignalKind)

def decision(number):
    state = State(kind=TaskKind.REPAIR, repository=f"r{number % 3}", label=f"E{number % 2}", family="f")
    return Decision(
        id=f"d{number}", task_id="t", state=state, available=("a", "b"), probabilities=(0.5, 0.5),
        chosen="ab"[number % 2], arm=Arm.LEARNED, policy_version="v", created_at=now,
    )

def signal(about, number):
    return Signal(
        id=f"s{number}", decision_id=about.id, kind=kinds[number % len(kinds)], actor=Actor(id=number % 4, login="x"),
        permission=Permission.WRITE, source=f"e:{number}", created_at=now, weights_version="1", weight=1 / 3,
    )

with open_store(url) as store:
    ledger = store.ledger
    def judge(number):
        about = decision(number)
        ledger.append_decision(about)
        outcome = Outcome(
            decision_id=about.id, components={}, target=number / 40, weights_version="1", created_at=now
        )
        ledger.append_outcome(outcome, contributions_of_outcome(about, outcome))
    def hear(number):
        about = decision(number)
        for each in [about, decision(number + 1)]:
            ledger.append_decision(each)
        given = signal(about, number)
        ledger.append_signal(given, contributions_of_signal(about, given))
    def take_back(number):
        about = decision(number)
        ledger.append_decision(about)
        taken = retraction(signal(about, number), f"r{number}", now, None)
        ledger.append_signal(taken, contributions_of_signal(about, taken))
    todo = [(judge, n) for n in range(24)] + [(hear, n) for n in range(24)] + [(take_back, n) for n in range(0, 24, 2)]
    for act, number in rng.sample(todo, len(todo)):
        act(number)
    print(store.ledger.cells([Level(scope="global", key="repair")], repository="r0", at=now) != {})
"""
"""Every process does the same work in an order of its own: each entry counts once, whoever comes first."""


@pytest.mark.slow
def test_processes_in_any_order_make_one_table(
    store: Store, database_url: str, run_together: Callable[[str, list[list[str]]], list[str]]
) -> None:
    """Decisions, outcomes, signals and retractions from four processes at once: each once, and the table is exact."""
    printed = run_together(WORKER, [[database_url, str(worker)] for worker in range(4)])
    assert [line.strip() for line in printed] == ["True"] * 4
    assert len(store.ledger.logged(TaskKind.REPAIR)) == 25
    grown = store.ledger.cells_digest()
    assert store.ledger.rebuild(contributions_of_outcomes, contributions_of_feedback) == 24 + 24 + 12
    assert store.ledger.cells_digest() == grown
