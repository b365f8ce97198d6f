"""Going back from a version that does worse: the rule, the events, and the operator's word."""

from __future__ import annotations

import random
from dataclasses import replace
from types import MappingProxyType

import pytest

from memory.evaluation.rollback import ActiveVersion, check, current, in_use, judge, reinstate, worse_than_control
from memory.intervals import ConfidenceSequence
from memory.model import Arm, LoggedDecision, PolicyEvent, PolicyEventKind, State, TaskKind
from memory.policy.learner import Learner
from memory.policy.q_table import CONTROL, FORMER, PRESENT, VERSIONS, former_of
from memory.store import Store
from tests.unit.memory.conftest import Ticking
from tests.unit.memory.ledgers import at, logged, said

STATE = State(kind=TaskKind.REPAIR, repository="o/r", label="KeyError", family="lookup")


def event(kind: PolicyEventKind, version: str, *, newest: str = PRESENT.version, minute: float = 1.0) -> PolicyEvent:
    return PolicyEvent(
        id=f"e{minute}", kind=kind, version=version, instead_of="x", newest=newest, reason="r", created_at=at(minute)
    )


def arms(tasks: int, *, learned: float, control: float, seed: int = 1) -> list[LoggedDecision]:
    """Repairs of one decision each, one in five of the control arm; every proven one is accepted."""
    rng, log = random.Random(seed), []
    for number in range(tasks):
        arm = Arm.CONTROL if rng.random() < 0.2 else Arm.LEARNED
        odds = {"a": 0.5, "b": 0.5} if arm is Arm.CONTROL else {"a": 0.9, "b": 0.1}
        chosen = rng.choices(("a", "b"), tuple(odds.values()))[0]
        proven = rng.random() < (control if arm is Arm.CONTROL else learned)
        heard = (said(number),) if proven else ()
        log.append(logged(number, odds, chosen, proven=proven, arm=arm, version=PRESENT.version, said=heard))
    return log


def test_the_newest_version_is_in_use_until_something_happens() -> None:
    """Without an event it decides; the last event decides after that, and the newest again once there is a newer one."""
    assert in_use([]) == ActiveVersion(version=PRESENT.version)
    back = event(PolicyEventKind.ROLLED_BACK, FORMER.version)
    again = event(PolicyEventKind.REINSTATED, PRESENT.version, minute=2.0)
    assert in_use([back]) == ActiveVersion(version=FORMER.version, since=at(1))
    assert in_use([back, again]) == ActiveVersion(version=PRESENT.version, since=at(2))
    newer = replace(PRESENT, version="next")
    assert in_use([back], {**VERSIONS, "next": newer}) == ActiveVersion(version="next")


def test_versions_stand_in_a_line() -> None:
    """Each one's former is the one before it; before the first there is control."""
    assert [former_of(name) for name in VERSIONS] == [CONTROL, FORMER.version]
    assert len(VERSIONS) >= 2
    assert {version.version for version in VERSIONS.values()} == set(VERSIONS)


def test_a_version_worse_than_control_gives_way() -> None:
    """Where control fixes far more, the former is used from now on, and the reason gives the figures."""
    judged = judge(arms(600, learned=0.3, control=0.8), ActiveVersion(version=PRESENT.version))
    assert judged.use == FORMER.version
    assert "against control" in judged.reason
    assert "always-valid interval" in judged.reason


def test_a_version_gone_back_from_is_not_gone_back_to() -> None:
    """With the former left before, control follows."""
    log = arms(600, learned=0.3, control=0.8)
    assert judge(log, ActiveVersion(version=PRESENT.version), left={FORMER.version}).use == CONTROL


@pytest.mark.parametrize("learned", [0.5, 0.8])
def test_a_version_that_is_no_worse_stays(learned: float) -> None:
    """Equal arms, or a better one, change nothing."""
    judged = judge(arms(600, learned=learned, control=0.5), ActiveVersion(version=PRESENT.version))
    assert judged.use == PRESENT.version
    assert "not shown to be worse" in judged.reason


def test_only_what_it_did_since_counts() -> None:
    """A reinstated version starts anew: what was held against it before is left out, and little is known yet."""
    log = arms(600, learned=0.3, control=0.8)
    judged = judge(log, ActiveVersion(version=PRESENT.version, since=at(590)))
    assert judged.use == PRESENT.version
    assert all(each.band is None and each.unknown for each in judged.comparisons)


@pytest.mark.parametrize(
    ("fixes", "accepts", "worse"),
    [((-0.3, -0.1), (-0.2, 0.1), True), ((-0.3, -0.1), (-0.1, 0.3), False), ((-0.2, 0.2), (-0.3, -0.1), True)],
)
def test_fewer_fixes_may_be_better_ones(fixes: tuple[float, float], accepts: tuple[float, float], worse: bool) -> None:
    """Fewer fixes tell against a version unless acceptance makes up for them; fewer accepted ones always do."""
    bands = [ConfidenceSequence(mean=(low + high) / 2, low=low, high=high, n=100) for low, high in (fixes, accepts)]
    assert worse_than_control(*bands) is worse
    assert not worse_than_control(None, bands[1])


def test_control_is_not_judged() -> None:
    """It is the yardstick: nothing is compared, and only the operator ends its time."""
    judged = judge(arms(100, learned=0.3, control=0.8), ActiveVersion(version=CONTROL))
    assert (judged.comparisons, judged.use) == ((), CONTROL)


def test_a_version_worse_than_its_former_gives_way() -> None:
    """Control does as badly, so only what the former would have done on the same decisions can tell."""
    rng, log = random.Random(2), []
    for number in range(900):
        chosen = rng.choices(("bad", "good"), (0.7, 0.3))[0]
        proven = rng.random() < (0.9 if chosen == "good" else 0.1)
        log.append(logged(number, {"bad": 0.7, "good": 0.3}, chosen, proven=proven, version="worse"))
    versions = MappingProxyType({FORMER.version: FORMER, "worse": replace(FORMER, version="worse")})
    judged = judge(log, ActiveVersion(version="worse"), versions)
    assert judged.use == FORMER.version
    assert "proof target: -0." in judged.reason
    assert f"against {FORMER.version}" in judged.reason


@pytest.mark.slow
def test_going_back_is_an_event(store: Store) -> None:
    """The check appends what it did once, the store's version is the former, and nothing is found worse afterwards."""
    for entry in arms(600, learned=0.3, control=0.8):
        assert entry.outcome is not None
        store.ledger.append_decision(entry.decision)
        store.ledger.append_outcome(entry.outcome, ())
    went = check(store, at(1000), "e1")
    assert went is not None
    assert (went.kind, went.version, went.instead_of) == (PolicyEventKind.ROLLED_BACK, FORMER.version, PRESENT.version)
    assert current(store) == ActiveVersion(version=FORMER.version, since=at(1000))
    assert check(store, at(1001), "e2") is None
    assert store.policy_events.all() == [went]


def test_the_operator_takes_it_back(store: Store) -> None:
    """A reinstated version is in use from then on; one that does not exist is refused."""
    store.policy_events.append(event(PolicyEventKind.ROLLED_BACK, CONTROL))
    assert current(store).version == CONTROL
    reinstate(store, PRESENT.version, at(5), "e9")
    assert current(store) == ActiveVersion(version=PRESENT.version, since=at(5))
    with pytest.raises(KeyError):
        reinstate(store, "nope", at(6), "e10")


def test_the_learner_decides_with_the_version_it_is_given(store: Store) -> None:
    """Under control every task is of the control arm; under a former version decisions carry its name."""
    yardstick = Learner(store, random.Random(1), Ticking(), control_share=0.0, policy_version=CONTROL)
    assert yardstick.arm("anything") is Arm.CONTROL
    former = Learner(store, random.Random(1), Ticking(), control_share=0.0, policy_version=FORMER.version)
    decision = former.decide("t", STATE, ("a", "b"), arm=former.arm("t"), prior={})
    assert (decision.arm, decision.policy_version) == (Arm.LEARNED, FORMER.version)
