from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest

from memory.errors import StoreError
from memory.model import (
    Action,
    Actor,
    Arm,
    Decision,
    Finding,
    Permission,
    Severity,
    Sighting,
    SignalKind,
    TaskKind,
)
from memory.policy.learner import Learner
from memory.policy.review_policy import decide_posting
from memory.preferences import (
    activate,
    judged_options,
    known_models,
    learn_preferences,
    option_of_finding,
    preference_model,
)
from memory.store import Store
from tests.unit.memory.conftest import Ticking

ADA, EVE = Actor(id=1, login="ada"), Actor(id=2, login="eve")
sources = count()


def finding(name: str, *, path: str = "src/a.py", severity: Severity = Severity.MINOR) -> Finding:
    return Finding(
        fingerprint=name, path=path, line=3, end_line=3, tool="ruff", rule="B006", category="style",
        severity=severity, message="m", anchor="def f(x=[]):",
    )  # fmt: skip


def seen(store: Store, learner: Learner, what: Finding, *, task: str = "t1", arm: Arm = Arm.LEARNED) -> Decision:
    """Decide on a finding and remember having seen it."""
    decision = decide_posting(learner, task, "o/r", what, arm=arm, suggestion_proven=False, slots_left=9).decision
    sighting = Sighting(
        repository="o/r", number=1, sha="0" * 40, decision_id=decision.id, finding=what,
        action=Action(decision.chosen), created_at=decision.created_at,
    )  # fmt: skip
    store.posts.add_sightings([sighting])
    return decision


def say(learner: Learner, decision: Decision, kind: SignalKind, who: Actor = ADA, role: str = "write") -> str:
    source = f"comment:{next(sources)}"
    learner.record_signal(decision.id, kind, who, Permission(role), source)
    return source


def test_silence_and_outsiders_are_no_data(store: Store, learner: Learner) -> None:
    """Only what somebody whose word counts was for or against is collected; the control arm is."""
    silent, outside, liked = (seen(store, learner, finding(name), arm=arm) for name, arm in
                              (("silent", Arm.LEARNED), ("outside", Arm.LEARNED), ("liked", Arm.CONTROL)))  # fmt: skip
    say(learner, outside, SignalKind.REJECTED, role="read")
    say(learner, liked, SignalKind.ACCEPTED)
    (found,) = judged_options(store)
    assert (found.decision_id, found.verdict, found.label) == (liked.id, 1.0, "B006")
    assert silent.id != found.decision_id


def test_what_is_taken_back_is_forgotten(store: Store, learner: Learner) -> None:
    """A retracted verdict leaves nothing to train on."""
    decision = seen(store, learner, finding("f"))
    source = say(learner, decision, SignalKind.REJECTED)
    assert len(judged_options(store)) == 1
    learner.retract(decision.id, SignalKind.REJECTED, source)
    assert judged_options(store) == []


@pytest.fixture
def unhurried(store: Store) -> Learner:
    """Its people have a day for every few verdicts: more of them would weigh nothing."""
    return Learner(store, random.Random(7), Ticking(timedelta(hours=6)), control_share=0.1)


def judged_reviews(store: Store, learner: Learner, reviews: int) -> None:
    """Reviews of four findings by two people who want to hear of sources, and not of tests."""
    rng = random.Random(3)
    for review in range(reviews):
        for number in range(4):
            source = rng.random() < 0.5
            path = "src/a.py" if source else "tests/test_a.py"
            decision = seen(store, learner, finding(f"{review}.{number}", path=path), task=f"t{review:03}")
            wanted = source if rng.random() < 0.9 else not source
            kind = SignalKind.ACCEPTED if wanted else SignalKind.REJECTED
            say(learner, decision, kind, (ADA, EVE)[review % 2])


@pytest.mark.extended
@pytest.mark.slow
def test_a_model_is_trained_kept_and_put_in_force(store: Store, unhurried: Learner) -> None:
    """From the verdicts in the store to a taste that tells source files from tests; the same data is kept once."""
    judged_reviews(store, unhurried, 110)
    now = unhurried._clock()
    trained = learn_preferences(store, now)
    learn_preferences(store, now + timedelta(days=1))
    assert trained.evaluation.refusal == ""
    assert preference_model(store, "o/r") is None, "trained is not in force"
    activate(store, trained.id)
    assert [(t.id, active) for t, active in known_models(store)] == [(trained.id, True)]
    known = preference_model(store, "o/other")
    assert known is not None
    liked, not_liked = strengths(known.strengths, "src/b.py", "tests/test_b.py")
    assert liked > not_liked
    assert store.models_in_use.remove(TaskKind.REVIEW)
    assert not store.models_in_use.remove(TaskKind.REVIEW)
    assert preference_model(store, "o/r") is None


def strengths(of: object, *paths: str) -> Sequence[float]:
    assert callable(of)
    found: list[float] = of([option_of_finding(finding("x", path=path)) for path in paths])
    return found


def test_a_model_that_shows_nothing_is_not_put_in_force(store: Store, learner: Learner) -> None:
    """Activation is refused with the reason; so is a model that does not exist."""
    trained = learn_preferences(store, learner._clock())
    with pytest.raises(StoreError, match="may not be used: too little to tell"):
        activate(store, trained.id)
    with pytest.raises(StoreError, match="no reward model nowhere"):
        activate(store, "nowhere")
    assert preference_model(store, "o/r") is None


def test_one_model_is_in_use(store: Store, learner: Learner) -> None:
    """Another one takes its place; a known id is left as it is, a wrong one changes nothing."""
    untrained = learn_preferences(store, learner._clock())
    usable = replace(untrained, evaluation=replace(untrained.evaluation, refusal=""), teachers=2)
    for name in ("m1", "m2"):
        made = replace(usable, id=name)
        assert store.models.add(name, made, owner=made.kind, now=learner._clock())
        assert not store.models.add(name, usable, owner=made.kind, now=learner._clock())
        activate(store, name)
    with pytest.raises(StoreError, match="no reward model m4"):
        activate(store, "m4")
    in_use = [(model.id, active) for model, active in known_models(store)]
    assert in_use == [("m2", True), ("m1", False), (untrained.id, False)]
    assert preference_model(store, "o/r") == replace(usable, id="m2")
