"""The ledger in the order of time: nothing is predicted from itself, and what is silent is censored."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from memory.evaluation.baseline_policies import hierarchical, q_learning
from memory.evaluation.off_policy import evaluate, replay, targets
from memory.model import (
    STOP,
    Actor,
    Arm,
    Decision,
    Factor,
    LoggedDecision,
    Permission,
    RetryMode,
    SignalKind,
    State,
    TaskKind,
)
from memory.policy import q_table
from memory.policy.learner import Learner
from memory.policy.q_table import CONTROL, PRESENT, Cells
from memory.reflections import retry_arms
from memory.rewards import verdict
from memory.store import Store
from tests.unit.memory.ledgers import at, logged, said

EVEN = {"a": 0.5, "b": 0.5}


@dataclass
class Spy:
    """A policy that remembers what it was shown."""

    cells: list[int] = field(default_factory=list)
    accepted: list[bool] = field(default_factory=list)

    def __call__(self, made: Decision, known: Cells) -> Sequence[float]:
        self.cells.append(len(known))
        self.accepted.append(any(factor is Factor.ACCEPTANCE for _, _, factor in known))
        return [1.0 / len(made.available)] * len(made.available)


def test_a_decision_is_met_before_its_own_outcome() -> None:
    """The first decision sees an empty table, the second one what came of the first."""
    spy = Spy()
    walked = replay([logged(0, EVEN, "a", proven=True), logged(1, EVEN, "a", proven=False)], {"spy": spy})
    assert spy.cells == [0, 4]
    assert walked.steps[0].value.tolist() == [q_table.PROOF_PRIOR] * 2
    assert walked.steps[1].value[0] > walked.steps[1].value[1]


def test_a_decision_is_met_with_the_table_that_it_was_made_with(store: Store) -> None:
    """Faded, and of other repositories only what may reach this one: no more than a quota of each, nothing without a quorum."""
    read: dict[str, Cells] = {}
    for number in range(150):
        now = at(1440 * 2 * number)
        learner = Learner(store, random.Random(number), lambda now=now: now, control_share=0.0)
        repository = ("loud", "loud", "quiet", "new")[number % 4] if number > 60 else "loud"
        state = State(kind=TaskKind.REPAIR, repository=repository, label="KeyError", family="lookup")
        known = learner.cells(state)
        made = learner.decide(f"t{number}", state, ("a", "b"), arm=Arm.LEARNED, prior={})
        read[made.id] = known
        learner.conclude(made, {"suite_green": float(number % 3 == 0)})
        account = Actor(id=number % 3 + 1, login="m")
        learner.record_signal(made.id, SignalKind.FIX_MERGED, account, Permission.WRITE, f"pull:{number}")
    met: dict[str, Cells] = {}

    def spy(made: Decision, cells: Cells) -> Sequence[float]:
        met[made.id] = cells
        return made.probabilities

    replay(store.ledger.logged(TaskKind.REPAIR), {"spy": spy})
    assert met == read


def test_a_verdict_counts_from_when_it_was_given() -> None:
    """What people say late is not known to the decisions in between."""
    spy = Spy()
    log = [
        logged(0, EVEN, "a", proven=True, said=(said(0, minute=1.5),)),
        *(logged(n, EVEN, "a", proven=True) for n in (1, 2)),
    ]
    replay(log, {"spy": spy})
    assert spy.accepted == [False, False, True]


def test_the_order_of_reading_does_not_matter() -> None:
    """A log in any order gives the same evaluation."""
    log = [logged(n, EVEN, "ab"[n % 2], proven=n % 3 == 0) for n in range(90)]
    made = [targets(PRESENT.version, each) for each in (log, log[::-1])]
    assert evaluate(log, made[0]) == evaluate(log[::-1], made[1])


def test_a_decision_without_an_outcome_is_left_out() -> None:
    """The environment kept it from being tried, or it is under way: no evidence for or against."""
    walked = replay([logged(0, EVEN, "a"), logged(1, EVEN, "b", proven=True)], {"spy": Spy()})
    assert [step.id for step in walked.steps] == ["d1"]


def test_how_to_retry_is_no_step() -> None:
    """It is decided beside the attempts, and shares their proof."""
    modes = retry_arms([RetryMode.NONE, RetryMode.BOTH])
    log = [logged(0, modes, next(iter(modes)), proven=True, task="t"), logged(1, EVEN, "a", proven=True, task="t")]
    spy = Spy()
    assert [step.id for step in replay(log, {"spy": spy}).steps] == ["d1"]
    assert spy.cells == [0]


def test_what_is_older_teaches_and_is_not_counted() -> None:
    """`since` leaves older decisions out of the steps; the table has them all the same."""
    spy = Spy()
    walked = replay([logged(n, EVEN, "a", proven=True) for n in range(3)], {"spy": spy}, since=at(2))
    assert [step.id for step in walked.steps] == ["d2"]
    assert spy.cells == [4]


def test_recorded_odds_are_used_where_the_version_decided() -> None:
    """The version's odds are those it recorded; of a control decision nothing is recorded of it."""
    odds = {"a": 0.9, "b": 0.1}
    log = [
        logged(0, odds, "a", proven=True, version=PRESENT.version),
        logged(1, EVEN, "a", proven=True, version=PRESENT.version, arm=Arm.CONTROL),
    ]
    walked = replay(log, {"present": targets(PRESENT.version, log)["present"]})
    assert walked.chances["present"][0].tolist() == [0.9, 0.1]
    assert walked.chances["present"][1].tolist() != [0.5, 0.5]


@pytest.mark.parametrize("name", sorted(targets(PRESENT.version, [])))
def test_every_named_policy_gives_probabilities(name: str) -> None:
    """They sum to 1 at every decision, also once much was learned."""
    log = [logged(n, EVEN, "ab"[n % 2], proven=n % 2 == 0) for n in range(40)]
    for chances in replay(log, {name: targets(PRESENT.version, log)[name]}).chances[name]:
        assert chances.sum() == pytest.approx(1.0)
        assert (chances >= 0.0).all()


def test_policies_differ_as_their_names_say() -> None:
    """After "a" was proven twenty times and "b" never: greedy is certain, control is even, the present one leans."""
    log = [logged(n, EVEN, "ab"[n % 2], proven=n % 2 == 0) for n in range(41)]
    walked = replay(log, targets(PRESENT.version, log))
    last = {name: chances[-1][0] for name, chances in walked.chances.items()}
    assert (last["greedy"], last[CONTROL]) == (1.0, 0.5)
    assert last["prior-only"] < 0.7 < last["present"] < 1.0
    assert last["q-learning"] == last["epsilon-greedy"] == pytest.approx(0.95)
    assert last["softmax"] > 0.999
    assert last["prior-only"] < 0.7 < last["hierarchical"]


def test_the_hierarchical_sampler_goes_by_the_other_levels_where_a_repository_is_new() -> None:
    """What was proven elsewhere for the error type leads; what was learned here outweighs it; it never stops."""
    log = [logged(n, EVEN, "ab"[n % 2], proven=n % 2 == 0, repository=f"o/{n // 2 % 2}") for n in range(20)]
    odds = {"a": 0.4, "b": 0.4, STOP: 0.2}

    def first(repository: str, here: Sequence[LoggedDecision]) -> Sequence[float]:
        last = logged(99, odds, "a", proven=True, repository=repository)
        return replay([*log, *here, last], {"h": hierarchical}).chances["h"][-1].tolist()

    assert first("o/new", [])[0] > 0.7
    other = [logged(n, EVEN, "ab"[n % 2], proven=n % 2 == 1, repository="o/new") for n in range(20, 50)]
    assert first("o/new", other)[0] < 0.3
    assert first("o/new", other)[2] == 0.0


def test_q_learning_looks_one_decision_ahead() -> None:
    """What failed and left "c" to be proven is worth more than what failed and left nothing; the first choice knew neither."""
    log = []
    for n in range(0, 40, 3):
        log += [
            logged(n, EVEN, "a", proven=False, task=f"t{n}"),
            logged(n + 1, {"c": 1.0}, "c", proven=True, task=f"t{n}"),
            logged(n + 2, EVEN, "b", proven=False, task=f"u{n}"),
        ]
    walked = replay(log, {"q": q_learning(log)}).chances["q"]
    assert walked[0].tolist() == [0.5, 0.5]
    assert walked[-1].tolist() == pytest.approx([0.95, 0.05])


def test_a_resolved_thread_is_no_verdict() -> None:
    """Nor is silence, nor what somebody without a say said."""
    assert verdict(()) is None
    assert verdict((said(0, SignalKind.THREAD_RESOLVED),)) is None
    assert verdict((said(0, weight=0.0),)) is None
    assert verdict((said(0, SignalKind.REJECTED), said(0, SignalKind.ACCEPTED))) == pytest.approx(0.5)
