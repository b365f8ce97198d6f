"""What reaches beyond a repository: a function of the rows, bounded by a quota, and nothing below the quorum."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.model import Cell, Contribution, Decision, Factor, Level, Signal
from memory.store import Store
from memory.store.totals import MILLION, QUOTA, Pool, Sum, Witness, pool, share

Contribute = Callable[..., Contribution]
Decide = Callable[..., Decision]
React = Callable[..., Signal]

GLOBAL = Level(scope="global", key="repair")
HERE = "here/here"

witnesses = st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "1", "2", "3"]))
amounts = st.tuples(st.integers(0, 3 * QUOTA), st.integers(0, 3 * QUOTA))


@given(st.lists(st.tuples(witnesses, amounts)), st.lists(st.tuples(witnesses, amounts)))
def test_what_is_taken_back_leaves_no_trace(kept: list[tuple[Witness, Sum]], undone: list[tuple[Witness, Sum]]) -> None:
    """However evidence is added and taken back, the pool is that of what is left."""

    def summed(parts: list[tuple[Witness, Sum]]) -> dict[Witness, Sum]:
        rows: dict[Witness, Sum] = {}
        for witness, (weight, value) in parts:
            known = rows.get(witness, (0, 0))
            rows[witness] = (known[0] + weight, known[1] + value)
        return rows

    negative = [(witness, (-weight, -value)) for witness, (weight, value) in undone]
    assert pool(summed([*negative, *kept, *undone])) == pool(summed(kept))


@given(st.integers(-QUOTA, 10**12), st.integers(0, 10**12))
def test_a_share_is_bounded(weight: int, value: int) -> None:
    """No repository counts for more than the quota, and scaling down keeps the mean to the millionth."""
    part = share(weight, value)
    assert 0 <= part[0] <= QUOTA
    assert (part[0] > 0) == (weight > 0)
    if weight > 0:
        assert part[1] / part[0] == pytest.approx(value / weight, abs=1 / QUOTA * 1.01)


def teach(store: Store, decide: Decide, react: React, *parts: Contribution) -> None:
    """Append contributions, each with a signal of its own."""
    number = store.ledger.counts()["signals"]
    store.ledger.append_decisions([decide()])
    for position, part in enumerate(parts, start=number):
        store.ledger.append_signal(react(f"s{position}", source=f"e:{position}"), [part])


def read(store: Store, factor: Factor, quorum: int = 2) -> Cell | None:
    return store.ledger.cells([GLOBAL], repository=HERE, quorum=quorum).get((GLOBAL, "guard", factor))


def test_proof_needs_a_quorum_of_repositories(
    store: Store, decide: Decide, react: React, contribute: Contribute
) -> None:
    """One other repository alone does not reach this one, two do, and its own evidence always counts in full."""
    teach(store, decide, react, contribute(MILLION, 0, repository="a/a"))
    assert read(store, Factor.PROOF) is None
    assert read(store, Factor.PROOF, quorum=1) == Cell(weight=1.0, mean=0.0, witnesses=1)
    teach(store, decide, react, contribute(50 * MILLION, 50 * MILLION, repository=HERE))
    assert read(store, Factor.PROOF) == Cell(weight=50.0, mean=1.0, witnesses=1)
    teach(store, decide, react, contribute(MILLION, 0, repository="b/b"))
    assert read(store, Factor.PROOF) == Cell(weight=52.0, mean=50 / 52, witnesses=3)


def test_acceptance_needs_a_quorum_of_people_too(
    store: Store, decide: Decide, react: React, contribute: Contribute
) -> None:
    """One person in two repositories is no quorum, nor are two people in one; a second person in the second is."""

    def said(repository: str, teacher: str) -> Contribution:
        return contribute(MILLION, MILLION, factor=Factor.ACCEPTANCE, repository=repository, teacher=teacher)

    teach(store, decide, react, said("a/a", "1"), said("b/b", "1"))
    assert read(store, Factor.ACCEPTANCE) is None
    teach(store, decide, react, said("a/a", "2"))
    assert read(store, Factor.ACCEPTANCE) == Cell(weight=3.0, mean=1.0, witnesses=2)


def test_people_who_teach_only_here_are_no_quorum_here(
    store: Store, decide: Decide, react: React, contribute: Contribute
) -> None:
    """Whoever taught in this repository alone does not let others in; who taught elsewhere as well does."""

    def said(repository: str, teacher: str) -> Contribution:
        return contribute(MILLION, 0, factor=Factor.ACCEPTANCE, repository=repository, teacher=teacher)

    teach(store, decide, react, said("a/a", "1"), said("b/b", "1"), said(HERE, "2"))
    assert read(store, Factor.ACCEPTANCE) == Cell(weight=1.0, mean=0.0, witnesses=1)
    teach(store, decide, react, said("a/a", "2"))
    assert read(store, Factor.ACCEPTANCE) == Cell(weight=4.0, mean=0.0, witnesses=3)


def test_a_quota_bounds_what_others_hear(store: Store, decide: Decide, react: React, contribute: Contribute) -> None:
    """However much one repository has learned, it counts for 20 observations with others, and in full with itself."""
    teach(store, decide, react, contribute(5000 * MILLION, 5000 * MILLION, repository="a/a"))
    teach(store, decide, react, contribute(MILLION, 0, repository="b/b"))
    assert read(store, Factor.PROOF) == Cell(weight=21.0, mean=20 / 21, witnesses=2)
    assert store.ledger.totals([GLOBAL])[GLOBAL, "guard", Factor.PROOF].weight == 5001.0


def test_a_table_of_many_cells_at_once_is_the_same(
    store: Store, decide: Decide, react: React, contribute: Contribute
) -> None:
    """Hundreds of cells added at once make the same table as one after the other, and taking them back leaves none."""
    parts = [
        contribute(MILLION + n, n, key=f"k{n % 350}", repository=f"r{n % 7}/x", teacher=str(n % 3)) for n in range(900)
    ]
    negative = [
        contribute(-p.weight, -p.value, key=p.level.key, repository=p.repository, teacher=p.teacher) for p in parts
    ]
    empty = store.ledger.cells_digest()
    store.ledger.append_decisions([decide()])
    store.ledger.append_signal(react("s-all", source="all"), parts)
    at_once = store.ledger.cells_digest()
    store.ledger.append_signal(react("s-none", source="none"), negative)
    assert store.ledger.cells_digest() == empty
    store.ledger.append_signals((react(f"s{n}", source=f"e:{n}"), [part]) for n, part in enumerate(parts))
    assert store.ledger.cells_digest() == at_once


def test_nobody_is_an_empty_pool() -> None:
    """No rows, or rows that were taken back, are nobody's."""
    assert pool({}) == pool({("a", "1"): (0, 0)}) == Pool()
