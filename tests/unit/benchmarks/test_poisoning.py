"""What poisoning may and may not do, with the real learner and store."""

from __future__ import annotations

import pytest

from benchmarks.poisoning import BAD, EVIL, GOOD, MALLORY, Town, accept_anything, attack, flood, lie, sybils, town
from memory.forget import feedback_of, forget
from memory.model import Actor, Permission, SignalKind
from memory.policy.learner import opaque_id
from memory.rewards import SIGNALS_ON_ONE_LABEL


def test_sybils_change_nothing() -> None:
    """Fifty accounts without rights leave the table as it is, bit for bit."""
    found = attack("sybils", 2, 6, lambda here: sybils(here, 50, 2))
    assert not found.table_moved
    assert found.is_unmoved()


def test_a_malicious_maintainer_alone_moves_nobody() -> None:
    """However much is taught in one repository, another one where nobody else taught chooses as before, to the bit."""
    found = attack("lie", 0, 0, lambda here: lie(here, 60))
    assert found.table_moved
    assert found.is_unmoved()
    assert found.undone


def test_letting_in_accounts_makes_no_quorum() -> None:
    """A maintainer who gives write access to accounts of their own is still one repository."""
    with town() as here:
        before = here.odds()
        for number in range(10):
            here.teach(EVIL, BAD, Actor(id=number, login=f"puppet-{number}"), proven=True, accepted=True)
        assert here.odds() == before


def test_owning_repositories_makes_no_quorum_of_people() -> None:
    """What one person accepts and rejects in many repositories reaches no other: a quorum of people is missing."""
    with town() as here:
        before = here.value(BAD)
        for number in range(5):
            decision = here.decide(f"evil-{number}/repository", BAD)
            _reject(here, decision.id)
        assert here.value(BAD) == before


def test_tests_that_accept_anything_move_nobody() -> None:
    """A repository whose tests pass whatever is done teaches itself alone, and forgetting it is exact."""
    found = attack("tests", 0, 0, lambda here: accept_anything(here, 30))
    assert found.table_moved
    assert found.is_unmoved()
    assert found.undone


@pytest.mark.extended
@pytest.mark.slow
def test_the_quota_bounds_the_shift() -> None:
    """Among honest repositories a liar is heard, up to the quota: more lies beyond it change nothing at all."""
    few, many = (attack("lie", 3, 10, lambda here, n=lies: lie(here, n)) for lies in (44, 88))
    assert few.before != few.after
    assert many.after == few.after
    assert many.after.good == few.after.good
    assert few.undone
    assert many.undone


def test_a_flood_keeps_little_weight() -> None:
    """Of what one account says within a minute of one rule, only so much counts."""
    with town() as here:
        assert flood(here, SIGNALS_ON_ONE_LABEL + 10) == SIGNALS_ON_ONE_LABEL
        forget(here.store, feedback_of(here.store, MALLORY.id), now=here.clock(), new_id=opaque_id)
        assert here.value(GOOD) == pytest.approx(0.18)


def _reject(here: Town, decision_id: str) -> None:
    here.learner.record_signal(decision_id, SignalKind.REJECTED, MALLORY, Permission.ADMIN, "comment:1")
