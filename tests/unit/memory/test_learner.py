from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory import rewards
from memory.explain import explain
from memory.model import (
    EVERYTHING,
    STOP,
    Actor,
    Arm,
    AttemptEffect,
    Contribution,
    Decision,
    Factor,
    Permission,
    SignalKind,
    State,
    TaskKind,
)
from memory.policy.learner import Learner, draw_again
from memory.rewards import SIGNALS_ON_ONE_LABEL
from memory.store import Store
from tests.databases import migrated_store

STATE = State(kind=TaskKind.REPAIR, repository="o/r", label="KeyError", family="lookup")
NAMES = ("swap", "guard", "rename")
ADA = Actor(id=1, login="ada")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def now() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


def decide(learner: Learner, state: State = STATE, arm: Arm = Arm.LEARNED) -> Decision:
    return learner.decide("t1", state, NAMES, arm=arm, prior={})


def accept(learner: Learner, decision: Decision, source: str, kind: SignalKind = SignalKind.FIX_MERGED) -> None:
    assert learner.record_signal(decision.id, kind, ADA, Permission.WRITE, source) is not None


def test_decision_is_recorded_before_anything_is_done(learner: Learner, store: Store) -> None:
    """What decide returns stands in the ledger, whole, with its probabilities."""
    decision = decide(learner)
    assert store.ledger.decision(decision.id) == decision
    assert sum(decision.probabilities) == pytest.approx(1.0)
    assert decision.probability > 0


def test_arm_is_stable(store: Store) -> None:
    """The same task is in the same arm for every learner with the same share."""
    one, other = (Learner(store, random.Random(i), now, control_share=0.5) for i in range(2))
    keys = [f"owner/repository#{i}" for i in range(50)]
    arms = [one.arm(key) for key in keys]
    assert arms == [other.arm(key) for key in keys]
    assert set(arms) == set(Arm)


def test_control_share_is_kept(learner: Learner) -> None:
    """About a tenth of many tasks is the control arm."""
    control = sum(learner.arm(f"task-{i}") is Arm.CONTROL for i in range(5000))
    assert 400 < control < 600


def test_control_decides_uniformly_though_the_table_knows_better(learner: Learner) -> None:
    """A control decision carries equal probabilities after any amount of learning."""
    for _ in range(5):
        learner.conclude(decide(learner), {"suite_green": 1.0})
    assert decide(learner, arm=Arm.CONTROL).probabilities == pytest.approx((1 / 3,) * 3)


def practise(learner: Learner, state: State) -> None:
    """Thirty repairs in which only one strategy works."""
    won = {"tests_fixed": 1.0, "suite_green": 1.0, "few_candidates": 1.0}
    for _ in range(30):
        decision = decide(learner, state)
        learner.conclude(decision, won if decision.chosen == "guard" else {})


def odds(decision: Decision) -> dict[str, float]:
    return dict(zip(decision.available, decision.probabilities, strict=True))


def test_success_makes_a_strategy_likelier(learner: Learner) -> None:
    """After proofs of one strategy the next decision prefers it."""
    practise(learner, STATE)
    assert odds(decide(learner))["guard"] > 0.6


def test_a_quorum_of_repositories_teaches_another(learner: Learner) -> None:
    """What one repository learned is its own; what a second one learned as well helps a third."""
    elsewhere = replace(STATE, repository="other/repo")
    practise(learner, STATE)
    assert learner.cells(elsewhere) == {}
    practise(learner, replace(STATE, repository="second/repo"))
    assert odds(decide(learner, elsewhere))["guard"] > 0.6


def test_evidence_decays(store: Store) -> None:
    """What a repair taught counts a half after 180 days, for the period that it was made in, however late its verdict comes."""
    later = Learner(store, random.Random(1), lambda: NOW + timedelta(days=180), control_share=0.0)
    early = Learner(store, random.Random(1), now, control_share=0.0)
    decision = decide(early)
    early.conclude(decision, {"suite_green": 1.0})
    accept(later, decision, "comment:1")
    for learner, left in ((early, 1.0), (later, 0.5)):
        found = {factor: cell for (level, _, factor), cell in learner.cells(STATE).items() if level == STATE.here}
        assert {factor: cell.weight for factor, cell in found.items()} == {
            Factor.PROOF: pytest.approx(left),
            Factor.ACCEPTANCE: pytest.approx(left),
        }
        assert found[Factor.PROOF].mean == pytest.approx(0.45)


def test_what_the_last_attempt_did_has_a_row(learner: Learner) -> None:
    """A choice after an attempt teaches the row of what that attempt did, which other error types read."""
    moved = replace(STATE, after=AttemptEffect.MOVED, tried=("swap",))
    decision = decide(learner, moved)
    learner.conclude(decision, {"suite_green": 1.0})
    elsewhere = replace(moved, label="TypeError", family="type")
    assert moved.effect_level is not None
    assert learner.cells(elsewhere)[moved.effect_level, decision.chosen, Factor.PROOF].mean == pytest.approx(0.45)
    assert moved.effect_level not in {level for level, _, _ in learner.cells(STATE)}


def test_a_decision_can_be_drawn_again(learner: Learner) -> None:
    """The recorded probabilities and seed give the choice, whatever else was drawn in between; so do those of posting."""
    made = [decide(learner) for _ in range(20)]
    made.append(learner.settle("t1", STATE, {"a": 0.5, "b": 0.5}, arm=Arm.LEARNED))
    assert len({decision.seed for decision in made}) == len(made)
    assert all(draw_again(odds(decision), decision.seed) == decision.chosen for decision in made)


def test_a_decision_keeps_what_was_expected_of_it(learner: Learner, store: Store) -> None:
    """The table's expectation is among its features; the control arm reads no table and expects nothing."""
    decision = learner.decide("t1", STATE, NAMES, arm=Arm.LEARNED, prior={"swap": 0.3})
    assert decision.features == {"expected": pytest.approx(0.18), "expected_proof": 0.3, "usual": 0.3}
    assert store.ledger.decision(decision.id) == decision
    assert decide(learner, arm=Arm.CONTROL).features == {}


def test_the_strategy_of_the_edit_that_won_is_credited_with_the_advantage(learner: Learner, store: Store) -> None:
    """A search that finds another strategy's edit teaches that one too, by as much as it did better than expected.

    What was expected anyway, what failed, and the chosen strategy's own edit credit nothing further.
    """
    decision = learner.decide("t1", STATE, ["everything"], arm=Arm.LEARNED, prior={"everything": 0.3})
    found = learner.conclude(decision, {"suite_green": 1.0, "tests_fixed": 1.0}, made_by="guards")
    assert (found.credited, found.credit) == ("guards", pytest.approx(found.target - 0.3))
    cell = learner.cells(STATE)[STATE.here, "guards", Factor.PROOF]
    assert (cell.weight, cell.mean) == (pytest.approx(found.credit, abs=1e-6), 1.0)
    sure = learner.decide("t2", STATE, ["everything"], arm=Arm.LEARNED, prior={"everything": 1.0})
    assert learner.conclude(sure, {"suite_green": 1.0}, made_by="guards").credit == 0.0
    own = learner.decide("t3", STATE, ["guards"], arm=Arm.LEARNED, prior={})
    assert learner.conclude(own, {"suite_green": 1.0}, made_by="guards").credited == ""
    grown = store.ledger.cells_digest()
    learner.rebuild()
    assert store.ledger.cells_digest() == grown


def stopping(learner: Learner, cost: float, failures: int) -> float:
    """The odds of stopping after a failed turn, where so many repairs of this failure found nothing."""
    costs = {"swap": 0.02, EVERYTHING: cost}
    for _ in range(failures):
        for name in costs:
            learner.conclude(learner.decide("t", STATE, [name], arm=Arm.LEARNED, prior={}), {})
    now = replace(STATE, tried=("swap",), after=AttemptEffect.SAME)
    return odds(learner.decide("t", now, [EVERYTHING, STOP], arm=Arm.LEARNED, prior={}, costs=costs)).get(STOP, 0.0)


@pytest.mark.parametrize(("cost", "failures", "low", "high"), [(0.05, 8, 0.5, 1.0), (0.02, 10, 0.0, 0.4)])
def test_stopping_takes_many_failures(learner: Learner, cost: float, failures: int, low: float, high: float) -> None:
    """A search that costs a twentieth of a fix is soon given up; at a fiftieth ten failures in a row do not do it."""
    assert low < stopping(learner, cost, failures) + 1e-9 < high + 1e-9


def test_stopping_teaches_nothing(learner: Learner, store: Store) -> None:
    """It is a decision with a result, and no row of the table says how often stopping was proven; `why` says the reason."""
    digest = store.ledger.cells_digest()
    decision = learner.settle("t1", STATE, {STOP: 1.0}, arm=Arm.LEARNED)
    assert learner.conclude(decision, {}).target == 0.0
    assert store.ledger.cells_digest() == digest
    why = explain(store, learner, decision.id)
    assert why is not None
    assert why.reason == "nothing that was left was expected to be worth its cost"


def test_outcome_records_the_shaped_reward(learner: Learner) -> None:
    """What an outcome teaches is its own reward: what may follow is looked up when it is chosen."""
    assert learner.conclude(decide(learner), {"tests_fixed": 0.5}).target == pytest.approx(0.15)
    assert learner.conclude(decide(learner), {}).target == 0.0


def test_a_decision_is_concluded_once(learner: Learner, store: Store) -> None:
    """A job that runs again after a crash learns nothing twice, and gets the outcome that counts."""
    decision = decide(learner)
    first = learner.conclude(decision, {"suite_green": 1.0})
    digest = store.ledger.cells_digest()
    again = learner.conclude(decision, {"suite_green": -1.0})
    assert again == first
    assert store.ledger.cells_digest() == digest


def test_the_same_event_is_heard_once(learner: Learner, store: Store) -> None:
    """A signal with a known source is None and moves nothing."""
    decision = decide(learner)
    accept(learner, decision, "reaction:1")
    digest = store.ledger.cells_digest()
    assert learner.record_signal(decision.id, SignalKind.FIX_MERGED, ADA, Permission.WRITE, "reaction:1") is None
    assert store.ledger.cells_digest() == digest


def test_taking_back_restores_the_table_exactly(learner: Learner, store: Store) -> None:
    """A signal and its retraction leave the table bit for bit as it was; a second retraction does nothing."""
    decision = decide(learner)
    accept(learner, decision, "reaction:1", SignalKind.REACTION_UP)
    before = store.ledger.cells_digest()
    accept(learner, decision, "reaction:2", SignalKind.REACTION_DOWN)
    assert store.ledger.cells_digest() != before
    undone = learner.retract(decision.id, SignalKind.REACTION_DOWN, "reaction:2")
    assert undone is not None
    assert undone.retracts
    assert store.ledger.cells_digest() == before
    assert learner.retract(decision.id, SignalKind.REACTION_DOWN, "reaction:2") is None
    assert store.ledger.cells_digest() == before


def test_a_retraction_keeps_the_weight_of_what_it_takes_back(learner: Learner, store: Store) -> None:
    """Whoever takes a signal back, and whatever they may do by then, exactly the given weight is undone."""
    decision = decide(learner)
    learner.record_signal(decision.id, SignalKind.REJECTED, ADA, Permission.TRIAGE, "comment:1")
    learner.retract(decision.id, SignalKind.REJECTED, "comment:1", actor=Actor(id=9, login="admin"))
    assert store.ledger.totals(STATE.levels()) == {}


def test_order_of_signals_does_not_matter(tmp_path: Path) -> None:
    """The same signals in any order give the same table."""
    kinds = [SignalKind.REACTION_UP, SignalKind.REJECTED, SignalKind.FIX_CLOSED] * 2
    digests = set()
    for seed in range(4):
        order = random.Random(seed).sample(range(6), 6)
        with migrated_store(tmp_path / f"{seed}.db") as store:
            learner = Learner(store, random.Random(3), now, control_share=0.0)
            decision = decide(learner)
            for i in order:
                accept(learner, decision, f"event:{i}", kinds[i])
            digests.add(store.ledger.cells_digest())
    assert len(digests) == 1


def test_outsiders_are_recorded_without_weight(learner: Learner, store: Store) -> None:
    """What an account without rights does is in the ledger, and the table does not move."""
    decision = decide(learner)
    heard = learner.record_signal(decision.id, SignalKind.REJECTED, ADA, Permission.NONE, "comment:1")
    assert heard is not None
    assert heard.weight == 0.0
    assert store.ledger.signals(decision.id) == [heard]
    assert store.ledger.totals(STATE.levels()) == {}


def test_unknown_decision_is_an_error(learner: Learner) -> None:
    """A signal about nothing is refused loudly."""
    with pytest.raises(LookupError, match="no decision"):
        learner.record_signal("nope", SignalKind.ACCEPTED, ADA, Permission.ADMIN, "comment:1")


def test_rebuild_gives_the_same_table_bit_for_bit(learner: Learner, store: Store) -> None:
    """Everything learned is derived from the ledger."""
    for i in range(8):
        decision = decide(learner)
        learner.conclude(decision, {"tests_fixed": i / 8})
        accept(learner, decision, f"reaction:{i}", list(SignalKind)[i])
    learner.retract(decision.id, list(SignalKind)[7], "reaction:7")
    digest = store.ledger.cells_digest()
    assert learner.rebuild() == 17
    assert store.ledger.cells_digest() == digest


def test_changed_weights_are_taken_over(learner: Learner, store: Store) -> None:
    """A table that grew under the weights of another version is derived anew, once: taking a signal back then undoes it."""
    decision = decide(learner)
    empty = store.ledger.cells_digest()
    accept(learner, decision, "pull:1")
    grown = store.ledger.cells_digest()

    def halved(
        state: State, chosen: str, period: int, teacher: int, kind: SignalKind, weight: int, count: int
    ) -> tuple[Contribution, ...]:
        return rewards.contributions_of_feedback(state, chosen, period, teacher, kind, weight // 2, count)

    store.ledger.rebuild(rewards.contributions_of_outcomes, halved, "former")
    assert store.ledger.cells_digest() != grown
    learner.keep_up()
    assert store.ledger.cells_digest() == grown
    assert store.ledger.derived_by() == rewards.WEIGHTS_VERSION
    learner.retract(decision.id, SignalKind.FIX_MERGED, "pull:1")
    assert store.ledger.cells_digest() == empty


def test_proof_and_acceptance_are_kept_apart(learner: Learner, store: Store) -> None:
    """Outcomes fill the proof cells, signals the acceptance cells, at all four levels."""
    decision = decide(learner)
    learner.conclude(decision, {"suite_green": 1.0})
    accept(learner, decision, "pull:1", SignalKind.FIX_CLOSED)
    cells = store.ledger.totals(STATE.levels())
    assert len(cells) == 8
    for (_, strategy, factor), cell in cells.items():
        assert strategy == decision.chosen
        if factor is Factor.PROOF:
            assert (cell.weight, cell.mean) == (1.0, pytest.approx(rewards.shaped({"suite_green": 1.0})))
        else:
            assert (cell.weight, cell.mean) == (0.8, 0.0)


def test_a_repeated_seed_does_not_repeat_ids(store: Store) -> None:
    """Two runs with one seed choose alike, and both are in the ledger."""
    runs = [decide(Learner(store, random.Random(1), now, control_share=0.0)) for _ in range(2)]
    assert runs[0].chosen == runs[1].chosen
    assert len(store.ledger.logged(TaskKind.REPAIR)) == 2


def test_a_flood_is_recorded_without_weight(store: Store) -> None:
    """Beyond a day's limit on one label a signal has no weight and says why; another label, account or day counts."""
    times = iter(NOW + timedelta(seconds=second) for second in range(10_000))
    learner = Learner(store, random.Random(1), lambda: next(times), control_share=0.0)

    def said(learner: Learner, actor: Actor, label: str = "KeyError") -> float:
        decision = decide(learner, replace(STATE, label=label))
        signal = learner.record_signal(decision.id, SignalKind.REJECTED, actor, Permission.WRITE, "comment:1")
        assert signal is not None
        assert signal.limited is (signal.weight == 0.0)
        return signal.weight

    assert [said(learner, ADA) for _ in range(SIGNALS_ON_ONE_LABEL)] == [1.0] * SIGNALS_ON_ONE_LABEL
    before = store.ledger.cells_digest()
    assert said(learner, ADA) == 0.0
    assert store.ledger.cells_digest() == before
    assert said(learner, ADA, "TypeError") == 1.0
    assert said(learner, Actor(id=2, login="bob")) == 1.0
    later = Learner(store, random.Random(2), lambda: NOW + timedelta(days=2), control_share=0.0)
    assert said(later, ADA) == 1.0
    digest = store.ledger.cells_digest()
    learner.rebuild()
    assert store.ledger.cells_digest() == digest
