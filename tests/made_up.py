"""A memory that is made up: repairs that people merged, and the other patches that they were shown beside them."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from memory.model import (
    Actor,
    Arm,
    Attempt,
    AttemptOutcome,
    Confidence,
    Decision,
    DistinguishingCall,
    EditShape,
    Experience,
    Family,
    Permission,
    Proof,
    SignalKind,
    State,
    SuiteCount,
    Task,
    TaskKind,
)
from memory.policy.learner import Learner
from memory.store import Store

REPOSITORY = "made/up"
NAMES = ("total", "price", "count", "width", "height", "weight", "rate", "share")


def made_up(store: Store, begin: datetime, repairs: int = 24, *, odd: str = "") -> str:
    """Fill a store with repairs that were merged, closed or questioned; the name of their repository.

    Names, messages and patches end with `odd`.
    """
    rng = random.Random("made up")
    for number in range(repairs):
        _repair(store, rng, number, begin + timedelta(hours=number), odd)
    return REPOSITORY + odd


def _repair(store: Store, rng: random.Random, number: int, at: datetime, odd: str) -> None:
    name, other = (each + odd for each in rng.sample(NAMES, 2))
    state = State(kind=TaskKind.REPAIR, repository=REPOSITORY + odd, label="AssertionError", family=Family.ASSERTION)
    learner = Learner(store, rng, lambda: at, control_share=0.0, new_id=lambda: f"d{number}{rng.getrandbits(32):08x}")
    store.tasks.add(
        Task(id=f"t{number}", kind=state.kind, repository=state.repository, sha="0" * 40, number=1, created_at=at)
    )
    decision = learner.decide(f"t{number}", state, ("operators",), arm=Arm.LEARNED, prior={})
    patch, rival = _diff(name, f"{name} * {other}"), _diff(name, f"{name} - {other}")
    shape = EditShape(template="operators", before="A + B", after="A * B")
    attempt = Attempt(
        decision_id=decision.id,
        strategy="operators",
        probability=1.0,
        candidates=3,
        outcome=AttemptOutcome.PROVEN,
        patch=patch,
        shape=shape,
        proof=_proof(rival),
    )
    store.tasks.add_attempt(f"t{number}", attempt)
    store.experiences.add(_experience(decision, f"t{number}", name, patch, shape, at), name)
    kind = SignalKind.FIX_MERGED if number % 4 else SignalKind.FIX_CLOSED
    learner.record_signal(
        decision.id, kind, Actor(id=1 + number % 2, login=f"ada{odd}"), Permission.WRITE, f"pull:{number}"
    )


def _diff(name: str, after: str) -> str:
    path = f"shop/{name}.py"
    old = f"{name} + {after.split()[-1]}"
    return (
        f"--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n def {name}s({name}):\n-    return {old}\n+    return {after}\n"
    )


def _proof(rival: str) -> Proof:
    suite = SuiteCount(passed=9, failed=0, skipped=0, collected=9)
    return Proof(
        failed_before=("test_shop.py::test_it",),
        passed_after=("test_shop.py::test_it",),
        before=SuiteCount(passed=8, failed=1, skipped=0, collected=9),
        suite=suite,
        repeats=2,
        command="python -m pytest",
        confidence=Confidence.DISPUTED,
        plausible=2,
        clusters=2,
        share=0.6,
        telling=DistinguishingCall(call="it(2, 3)", this="6", other="-1", patch=rival),
    )


def _experience(decision: Decision, task_id: str, name: str, patch: str, shape: EditShape, at: datetime) -> Experience:
    return Experience(
        id=decision.id,
        repository=decision.state.repository,
        task_id=task_id,
        error_type="AssertionError",
        family=Family.ASSERTION,
        signature=f"AssertionError\nassert 5 == 6\n{name}s\ntest_it",
        path=f"shop/{name}.py",
        strategy="operators",
        outcome=AttemptOutcome.PROVEN,
        reflection="",
        patch=patch,
        shape=shape,
        created_at=at,
    )
