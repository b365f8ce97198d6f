"""What reaches beyond a repository: a function of the rows, bounded by a quota, and nothing below the quorum."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, true

from memory.model import PERIOD, Cell, Contribution, Decision, Factor, Level, Signal, period_of
from memory.store import Store, totals
from memory.store.evidence import MILLION, QUOTA, Contributor, Pool, Sum, cell_for, decayed, pool_of_all, within_quota
from memory.store.pools import rows_where
from memory.store.tables import cells, pools
from tests.unit.memory.store.conftest import NOW

Contribute = Callable[..., Contribution]
Decide = Callable[..., Decision]
React = Callable[..., Signal]

GLOBAL = Level(scope="global", key="repair")
HERE = "here/here"

contributors = st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "1", "2", "3"]))
amounts = st.tuples(st.integers(0, 3 * QUOTA), st.integers(0, 3 * QUOTA))


@given(st.lists(st.tuples(contributors, amounts)), st.lists(st.tuples(contributors, amounts)))
def test_what_is_taken_back_leaves_no_trace(
    kept: list[tuple[Contributor, Sum]], undone: list[tuple[Contributor, Sum]]
) -> None:
    """However evidence is added and taken back, the pool is that of what is left."""

    def summed(parts: list[tuple[Contributor, Sum]]) -> dict[Contributor, Sum]:
        rows: dict[Contributor, Sum] = {}
        for contributor, (weight, value) in parts:
            known = rows.get(contributor, (0, 0))
            rows[contributor] = (known[0] + weight, known[1] + value)
        return rows

    negative = [(contributor, (-weight, -value)) for contributor, (weight, value) in undone]
    assert pool_of_all(summed([*negative, *kept, *undone])) == pool_of_all(summed(kept))


@given(st.integers(-QUOTA, 10**12), st.integers(0, 10**12))
def test_a_share_is_bounded(weight: int, value: int) -> None:
    """No repository counts for more than the quota, and scaling down keeps the mean to the millionth."""
    part = within_quota(weight, value)
    assert 0 <= part[0] <= QUOTA
    assert (part[0] > 0) == (weight > 0)
    if weight > 0:
        assert part[1] / part[0] == pytest.approx(value / weight, abs=1 / QUOTA * 1.01)


def teach(store: Store, decide: Decide, react: React, *parts: Contribution) -> None:
    """Append contributions, each with a signal of its own."""
    store.ledger.append_decision(decide())
    number = len(store.ledger.signals(decide().id))
    for position, part in enumerate(parts, start=number):
        store.ledger.append_signal(react(f"s{position}", source=f"e:{position}"), [part])


def read(store: Store, factor: Factor, quorum: int = 2) -> Cell | None:
    return store.ledger.cells([GLOBAL], repository=HERE, quorum=quorum, at=NOW).get((GLOBAL, "guard", factor))


def test_proof_needs_a_quorum_of_repositories(
    store: Store, decide: Decide, react: React, contribute: Contribute
) -> None:
    """One other repository alone does not reach this one, two do, and its own evidence always counts in full."""
    teach(store, decide, react, contribute(MILLION, 0, repository="a/a"))
    assert read(store, Factor.PROOF) is None
    assert read(store, Factor.PROOF, quorum=1) == Cell(weight=1.0, mean=0.0, repositories=1)
    teach(store, decide, react, contribute(50 * MILLION, 50 * MILLION, repository=HERE))
    assert read(store, Factor.PROOF) == Cell(weight=50.0, mean=1.0, repositories=1)
    teach(store, decide, react, contribute(MILLION, 0, repository="b/b"))
    assert read(store, Factor.PROOF) == Cell(weight=52.0, mean=50 / 52, repositories=3)


def test_acceptance_needs_a_quorum_of_people_too(
    store: Store, decide: Decide, react: React, contribute: Contribute
) -> None:
    """One person in two repositories is no quorum, nor are two people in one; a second person in the second is."""

    def said(repository: str, teacher: str) -> Contribution:
        return contribute(MILLION, MILLION, factor=Factor.ACCEPTANCE, repository=repository, teacher=teacher)

    teach(store, decide, react, said("a/a", "1"), said("b/b", "1"))
    assert read(store, Factor.ACCEPTANCE) is None
    teach(store, decide, react, said("a/a", "2"))
    assert read(store, Factor.ACCEPTANCE) == Cell(weight=3.0, mean=1.0, repositories=2)


def test_people_who_teach_only_here_are_no_quorum_here(
    store: Store, decide: Decide, react: React, contribute: Contribute
) -> None:
    """Whoever taught in this repository alone does not let others in; who taught elsewhere as well does."""

    def said(repository: str, teacher: str) -> Contribution:
        return contribute(MILLION, 0, factor=Factor.ACCEPTANCE, repository=repository, teacher=teacher)

    teach(store, decide, react, said("a/a", "1"), said("b/b", "1"), said(HERE, "2"))
    assert read(store, Factor.ACCEPTANCE) == Cell(weight=1.0, mean=0.0, repositories=1)
    teach(store, decide, react, said("a/a", "2"))
    assert read(store, Factor.ACCEPTANCE) == Cell(weight=4.0, mean=0.0, repositories=3)


def test_a_quota_bounds_what_others_hear(store: Store, decide: Decide, react: React, contribute: Contribute) -> None:
    """However much one repository has learned, it counts for 20 observations with others, and in full with itself."""
    teach(store, decide, react, contribute(5000 * MILLION, 5000 * MILLION, repository="a/a"))
    teach(store, decide, react, contribute(MILLION, 0, repository="b/b"))
    assert read(store, Factor.PROOF) == Cell(weight=21.0, mean=20 / 21, repositories=2)
    assert store.ledger.totals([GLOBAL])[GLOBAL, "guard", Factor.PROOF].weight == 5001.0


@pytest.mark.extended
@pytest.mark.slow
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
    store.ledger.append_decision(decide())
    store.ledger.append_signal(react("s-all", source="all"), parts)
    at_once = store.ledger.cells_digest()
    store.ledger.append_signal(react("s-none", source="none"), negative)
    assert store.ledger.cells_digest() == empty
    store.ledger.append_signals((react(f"s{n}", source=f"e:{n}"), [part]) for n, part in enumerate(parts))
    assert store.ledger.cells_digest() == at_once


def test_nobody_is_an_empty_pool() -> None:
    """No rows, or rows that were taken back, are nobody's."""
    assert pool_of_all({}) == pool_of_all({("a", "1"): (0, 0)}) == Pool()


LEVELS = (GLOBAL, Level(scope="family", key="repair|lookup"), Level(scope="repository", key=f"repair|{HERE}|KeyError"))


def evidence(rng: random.Random, period: int) -> Contribution:
    """What a test or a person may add about this time, somewhere."""
    level = rng.choice(LEVELS)
    teacher = rng.choice(["", "1", "2", "3"])
    weight = rng.randrange(0, 2 * QUOTA)
    return Contribution(
        level=level,
        strategy=rng.choice(["guard", "swap"]),
        factor=Factor.ACCEPTANCE if teacher else Factor.PROOF,
        weight=weight,
        value=rng.randrange(0, weight + 1),
        repository=HERE if level.scope == "repository" else rng.choice([HERE, "a", "b", "c"]),
        teacher=teacher,
        period=period - rng.choice([0, 0, 1, 3]),
    )


def of_rows(
    store: Store, levels: Sequence[Level], repository: str, quorum: int, period: int
) -> dict[tuple[Level, str, Factor], Cell]:
    """The cells that hold evidence for a repository, without pools."""
    with store.database.reading() as connection:
        rows = rows_where(connection, cells.c.key.in_([level.key for level in levels]))
    found = {
        (Level(scope, key), strategy, Factor(factor)): cell_for(
            decayed(each, period), repository, Factor(factor), quorum
        )
        for (scope, key, strategy, factor), each in rows.items()
        if Level(scope, key) in levels
    }
    return {cell_key: cell for cell_key, cell in found.items() if cell is not None}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.extended) for seed in (1, 2))])
def test_pools_say_what_the_rows_say(store: Store, decide: Decide, react: React, now: datetime, seed: int) -> None:
    """After any additions and retractions, in any period, at any quorum, for each repository: bit for bit."""
    rng = random.Random(seed)
    added: list[Contribution] = []
    for step in range(60):
        at = now + step // 20 * PERIOD
        parts = [evidence(rng, period_of(at)) for _ in range(rng.randrange(1, 5))]
        if added and rng.random() < 0.3:
            undone = added.pop(rng.randrange(len(added)))
            parts.append(replace(undone, weight=-undone.weight, value=-undone.value))
        added += [part for part in parts if part.weight >= 0]
        teach(store, decide, react, *parts)
        for repository, quorum in ((HERE, 2), ("a", 1), ("nowhere", 3)):
            levels = LEVELS if repository == HERE else LEVELS[:2]
            wanted = of_rows(store, levels, repository, quorum, period_of(at))
            assert store.ledger.cells(levels, repository=repository, quorum=quorum, at=at) == wanted


def test_a_rebuild_makes_the_pools_anew(store: Store, decide: Decide, react: React, now: datetime) -> None:
    """They are derived from the table that was derived, and say the same as before."""
    rng = random.Random(7)
    teach(store, decide, react, *(evidence(rng, period_of(now)) for _ in range(40)))
    before = store.ledger.cells(LEVELS, repository=HERE, at=now)
    with store.database.writing() as connection:
        connection.execute(delete(pools))
        totals.replace(connection, rows_where(connection, true()))
    assert store.ledger.cells(LEVELS, repository=HERE, at=now) == before
    store.ledger.rebuild(lambda *_: (), lambda *_: ())
    assert store.ledger.cells(LEVELS, repository=HERE, at=now) == {}
