"""Undo by teacher, repository and decision: the table is bit for bit what it would be without them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from memory.errors import StoreError
from memory.forget import OPERATOR, SignalsToForget, feedback_of, forget, learned_from, learned_in
from memory.model import (
    Actor,
    Arm,
    AttemptOutcome,
    Decision,
    NearMiss,
    Permission,
    Reflection,
    Signal,
    SignalKind,
    State,
    TaskKind,
)
from memory.policy.learner import Learner, opaque_id
from memory.reflections import latest_reflections, store_reflection
from memory.store import Store
from tests.unit.memory.test_skills import experience

NOW = datetime(2026, 2, 1, tzinfo=UTC)
STATE = State(kind=TaskKind.REPAIR, repository="o/r", label="KeyError", family="lookup")
ELSEWHERE = replace(STATE, repository="other/repo")
ADA, MALLORY = Actor(id=1, login="ada"), Actor(id=666, login="mallory")


def decide(learner: Learner, state: State = STATE) -> Decision:
    return learner.decide("t1", state, ("swap", "guard"), arm=Arm.LEARNED, prior={})


def say(learner: Learner, decision: Decision, actor: Actor, kind: SignalKind = SignalKind.REJECTED) -> None:
    source = f"comment:{actor.id}:{kind}"
    assert learner.record_signal(decision.id, kind, actor, Permission.WRITE, source) is not None


def undo(store: Store, lessons: SignalsToForget) -> int:
    return forget(store, lessons, now=NOW, new_id=opaque_id)


@pytest.fixture
def taught(learner: Learner) -> list[Decision]:
    """Decisions in two repositories, with outcomes and Ada's verdicts."""
    made = [decide(learner, state) for state in (STATE, STATE, ELSEWHERE)]
    for decision in made:
        learner.conclude(decision, {"suite_green": 1.0})
        say(learner, decision, ADA, SignalKind.FIX_MERGED)
    return made


def test_a_teacher_is_forgotten_exactly(learner: Learner, store: Store, taught: list[Decision]) -> None:
    """After a teacher is forgotten the table is the one before they came; doing it again does nothing."""
    before = store.ledger.cells_digest()
    for decision in taught:
        say(learner, decision, MALLORY)
        say(learner, decision, MALLORY, SignalKind.REACTION_DOWN)
    assert store.ledger.cells_digest() != before
    assert undo(store, feedback_of(store, MALLORY.id)) == 6
    assert store.ledger.cells_digest() == before
    assert undo(store, feedback_of(store, MALLORY.id)) == 0
    assert {signal.actor for signal in store.ledger.live_signals([d.id for d in taught])} == {ADA}


def test_a_teacher_is_forgotten_in_one_repository(learner: Learner, store: Store, taught: list[Decision]) -> None:
    """What the teacher taught elsewhere stays."""
    say(learner, taught[2], MALLORY)
    before = store.ledger.cells_digest()
    say(learner, taught[0], MALLORY)
    assert undo(store, feedback_of(store, MALLORY.id, "o/r")) == 1
    assert store.ledger.cells_digest() == before


def test_a_repository_is_forgotten_with_its_tests(learner: Learner, store: Store, taught: list[Decision]) -> None:
    """A repository whose tests accept anything leaves no trace once it is forgotten."""
    before = store.ledger.cells_digest()
    bad = [decide(learner, replace(STATE, repository="bad/repo")) for _ in range(5)]
    for decision in bad:
        learner.conclude(decision, {"suite_green": 1.0, "tests_fixed": 1.0})
        say(learner, decision, MALLORY, SignalKind.ACCEPTED)
    assert undo(store, learned_in(store, "bad/repo")) == 10
    assert store.ledger.cells_digest() == before
    learner.rebuild()
    assert store.ledger.cells_digest() == before


def test_a_decision_is_forgotten(learner: Learner, store: Store, taught: list[Decision]) -> None:
    """What was learned from one decision is undone; its outcome stays in the ledger, and cannot be learned again."""
    before = store.ledger.cells_digest()
    decision = decide(learner)
    outcome = learner.conclude(decision, {"suite_green": 1.0})
    say(learner, decision, ADA)
    assert undo(store, learned_from(store, decision.id)) == 2
    assert store.ledger.cells_digest() == before
    assert learner.conclude(decision, {"suite_green": -1.0}) == outcome
    assert store.ledger.cells_digest() == before
    assert learned_from(store, decision.id) == SignalsToForget()
    (told,) = (each for each in store.ledger.logged(TaskKind.REPAIR) if each.decision.id == decision.id)
    assert (told.outcome, told.signals) == (None, ())


def test_a_second_run_deletes_the_experiences_that_the_first_one_left(
    learner: Learner, store: Store, taught: list[Decision]
) -> None:
    """An outcome counts as forgotten once its experience is gone, so that an interrupted run can be repeated."""
    store.experiences.add(experience(1, id=taught[0].id), "text")
    with store.database.writing() as connection:
        connection.execute(text("CREATE TRIGGER t BEFORE UPDATE ON experiences BEGIN SELECT RAISE(ABORT, 'full'); END"))
    with pytest.raises(StoreError):
        undo(store, learned_in(store, "o/r"))
    with store.database.writing() as connection:
        connection.execute(text("DROP TRIGGER t"))
    assert len(store.experiences.all()) == 1
    assert undo(store, learned_in(store, "o/r")) == 2
    assert (store.experiences.all(), learned_in(store, "o/r")) == ([], SignalsToForget())


def reject(learner: Learner, store: Store, decision: Decision, actor: Actor, words: str) -> Signal:
    """A rejection with its reason, kept as the worker keeps it."""
    given = learner.record_signal(decision.id, SignalKind.REJECTED, actor, Permission.WRITE, f"comment:{actor.id}")
    assert given is not None
    store.reasons.add(given.id, words)
    near = NearMiss(path="", line=0, template="", edit="", passed=1, error_type="rejected", message=words)
    reflection = Reflection(
        id=decision.id, repository="o/r", failing_tests=("t",), outcome=AttemptOutcome.PROVEN, ruled_out=("01",),
        nearest=near, summary=f"Rejected: {words}", created_at=NOW,
    )  # fmt: skip
    store_reflection(store, reflection)
    return given


def test_a_forgotten_reason_is_neither_kept_nor_given_to_repairs(
    learner: Learner, store: Store, taught: list[Decision]
) -> None:
    """A reflection goes with the only reason for it; where another account gave one too, it has those words."""
    alone = reject(learner, store, taught[0], MALLORY, "never")
    both = [reject(learner, store, taught[1], *said) for said in ((MALLORY, "no"), (ADA, "it hides the cause"))]
    undo(store, feedback_of(store, MALLORY.id))
    (left,) = latest_reflections(store, "o/r")
    assert (left.id, left.summary, left.ruled_out) == (taught[1].id, "Rejected: it hides the cause", ("01",))
    assert left.nearest is not None and left.nearest.message == "it hides the cause"
    assert store.reasons.several([alone.id, *(each.id for each in both)], str) == {both[1].id: "it hides the cause"}


def test_a_rejection_that_is_taken_back_steers_no_repair(
    learner: Learner, store: Store, taught: list[Decision]
) -> None:
    """Its reason and the reflection go; a reflection on an attempt that failed by itself stays."""
    given = reject(learner, store, taught[0], ADA, "never")
    failed = reject(learner, store, taught[1], ADA, "no")
    (own,) = (each for each in latest_reflections(store, "o/r") if each.id == taught[1].id)
    store.reflections.put(own.id, replace(own, outcome=AttemptOutcome.NOTHING_PLAUSIBLE), owner="o/r", now=NOW)
    for signal in (given, failed):
        assert learner.retract(signal.decision_id, signal.kind, signal.source) is not None
    assert [each.id for each in latest_reflections(store, "o/r")] == [taught[1].id]
    assert store.reasons.several([given.id, failed.id], str) == {}


def test_a_rebuild_remembers_what_was_forgotten(learner: Learner, store: Store, taught: list[Decision]) -> None:
    """Retractions and withdrawals are entries of the ledger: a rebuild gives the same table."""
    say(learner, taught[0], MALLORY)
    undo(store, feedback_of(store, MALLORY.id))
    undo(store, learned_from(store, taught[1].id))
    digest = store.ledger.cells_digest()
    assert learner.rebuild() == 3 + 3 + 1 + 1 + 1 + 1
    assert store.ledger.cells_digest() == digest


def test_who_undid_it_is_kept(learner: Learner, store: Store, taught: list[Decision]) -> None:
    """A retraction says whose evidence it takes back and who took it."""
    say(learner, taught[0], MALLORY)
    undo(store, feedback_of(store, MALLORY.id))
    (retraction,) = [signal for signal in store.ledger.signals(taught[0].id) if signal.retracts]
    assert (retraction.actor, retraction.by) == (MALLORY, OPERATOR)


def test_an_account_is_found_by_name(learner: Learner, store: Store, taught: list[Decision]) -> None:
    """A login leads to every account that taught under it: a name can change hands."""
    say(learner, taught[0], replace(MALLORY, login="ada"))
    assert store.ledger.accounts("ada") == [1, 666]
    assert store.ledger.accounts("nobody") == []
