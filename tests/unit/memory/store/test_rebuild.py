"""The table derived from the ledger: the same however and whenever it is derived."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory.model import Contribution, Decision, Factor, Level, Outcome, Signal, SignalKind
from memory.rewards import (
    contributions_of_feedback,
    contributions_of_outcome,
    contributions_of_outcomes,
    contributions_of_signal,
)
from memory.store import Store
from tests.databases import migrated_store

Decide = Callable[..., Decision]
Judge = Callable[..., Outcome]
React = Callable[..., Signal]
Contribute = Callable[..., Contribution]

GLOBAL = Level(scope="global", key="repair")
MILLION = 1_000_000


def history(decide: Decide, judge: Judge, react: React) -> tuple[list[Decision], list[Outcome], list[Signal]]:
    rng = random.Random(5)
    decisions = [decide(f"d{number}", chosen=rng.choice(("guard", "swap"))) for number in range(30)]
    outcomes = [judge(decision.id, target=rng.random()) for decision in decisions[::2]]
    outcomes += [judge(each.id, target=1.0, credited="rename", credit=rng.random()) for each in decisions[1::4]]
    kinds = (SignalKind.REACTION_UP, SignalKind.REJECTED)
    signals = [
        react(f"s{number}", rng.choice(decisions).id, source=f"e:{number}", weight=rng.random(), kind=rng.choice(kinds))
        for number in range(60)
    ]
    taken_back = [
        react(f"r{each.id}", each.decision_id, source=each.source, weight=each.weight, kind=each.kind, retracts=each.id)
        for each in signals[::3]
    ]
    return decisions, outcomes, signals + taken_back


def test_rebuilding_gives_the_same_table(store: Store, decide: Decide, judge: Judge, react: React) -> None:
    """The table derived anew from the whole ledger equals, bit for bit, the one that grew with it."""
    decisions, outcomes, signals = history(decide, judge, react)
    for each in decisions:
        store.ledger.append_decision(each)
    empty = store.ledger.cells_digest()
    for outcome in outcomes:
        decision = store.ledger.decision(outcome.decision_id)
        assert decision is not None
        store.ledger.append_outcome(outcome, contributions_of_outcome(decision, outcome))
    for signal in signals:
        decision = store.ledger.decision(signal.decision_id)
        assert decision is not None
        store.ledger.append_signal(signal, contributions_of_signal(decision, signal))
    grown = store.ledger.cells_digest()
    assert grown != empty
    assert store.ledger.rebuild(lambda *_: (), lambda *_: ()) == len(outcomes) + len(signals)
    assert store.ledger.cells_digest() == empty
    assert store.ledger.rebuild(contributions_of_outcomes, contributions_of_feedback) == len(outcomes) + len(signals)
    assert store.ledger.cells_digest() == grown


@pytest.mark.slow
def test_the_order_of_events_does_not_matter(
    database_url: str,
    store: Store,
    tmp_path_factory: pytest.TempPathFactory,
    decide: Decide,
    judge: Judge,
    react: React,
) -> None:
    """The same events in another order, even in another kind of database, give the same table."""
    decisions, outcomes, signals = history(decide, judge, react)
    by_id = {decision.id: decision for decision in decisions}
    digests = []
    with migrated_store(tmp_path_factory.mktemp("other") / "other.db") as other:
        for each, seed in ((store, 1), (other, 2)):
            for decision in decisions:
                each.ledger.append_decision(decision)
            for outcome in random.Random(seed).sample(outcomes, len(outcomes)):
                each.ledger.append_outcome(outcome, contributions_of_outcome(by_id[outcome.decision_id], outcome))
            for signal in random.Random(seed).sample(signals, len(signals)):
                each.ledger.append_signal(signal, contributions_of_signal(by_id[signal.decision_id], signal))
            digests.append(each.ledger.cells_digest())
    assert digests[0] == digests[1]


def test_a_failed_rebuild_leaves_the_table(store: Store, decide: Decide, judge: Judge, contribute: Contribute) -> None:
    """When a rebuild breaks half-way, the table is as it was."""
    store.ledger.append_decision(decide())
    store.ledger.append_outcome(judge(), [contribute(MILLION, MILLION)])
    before = store.ledger.cells_digest()

    def broken(*_outcomes: object) -> list[Contribution]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.ledger.rebuild(broken, contributions_of_feedback)
    assert store.ledger.cells_digest() == before


def test_a_rebuild_beside_appends_loses_nothing(store: Store, decide: Decide, react: React) -> None:
    """Signals appended while the table is rebuilt again and again are all in it at the end."""
    decision = decide()
    store.ledger.append_decision(decision)

    def append(number: int) -> None:
        signal = react(f"s{number}", source=f"e:{number}")
        store.ledger.append_signal(signal, contributions_of_signal(decision, signal))

    with ThreadPoolExecutor(4) as pool:
        rebuilds = [
            pool.submit(store.ledger.rebuild, contributions_of_outcomes, contributions_of_feedback) for _ in range(10)
        ]
        list(pool.map(append, range(40)))
        for each in rebuilds:
            each.result()
    grown = store.ledger.cells_digest()
    assert store.ledger.totals(decision.state.levels())[GLOBAL, "guard", Factor.ACCEPTANCE].weight == 24.0
    store.ledger.rebuild(contributions_of_outcomes, contributions_of_feedback)
    assert store.ledger.cells_digest() == grown
