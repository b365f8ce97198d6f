"""Whether issues in words are answered: what reactions change, and what they must not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from memory.model import Actor, Arm, Permission, SignalKind
from memory.policy.issue_policy import ANSWER, SILENT, asked_answer, belief, decide_answer, reason, state_of
from memory.policy.learner import Learner
from memory.store import Store

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HERE = state_of("77", "words")


@pytest.fixture
def learner(store: Store) -> Iterator[Learner]:
    yield Learner(store, random.Random(1), lambda: NOW, control_share=0.5)


def judged(learner: Learner, kind: SignalKind, times: int, repository: str = "77") -> None:
    """So many answers there, asked for, each with one reaction of another maintainer."""
    for number in range(times):
        made = asked_answer(learner, f"{repository}:{number}", state_of(repository, "words"), arm=Arm.LEARNED)
        actor = Actor(id=number, login=f"m{number}")
        learner.record_signal(made.id, kind, actor, Permission.WRITE, f"reaction:{number}")


def chance(learner: Learner, arm: Arm = Arm.LEARNED) -> float:
    made = decide_answer(learner, "task", HERE, arm=arm)
    assert made.available == (ANSWER, SILENT)
    return made.probabilities[0]


def test_reactions_decide(learner: Learner) -> None:
    """Rejected answers end in near silence, accepted ones in answers; the control arm stays where it began."""
    first, control = chance(learner), chance(learner, Arm.CONTROL)
    assert first == pytest.approx(control, abs=0.05)
    judged(learner, SignalKind.REACTION_DOWN, 12)
    assert chance(learner) < 0.2 < first
    assert chance(learner, Arm.CONTROL) == pytest.approx(control, abs=0.05)


def test_praise(learner: Learner) -> None:
    """Answers that help are given more often, and silence keeps a small chance."""
    before = chance(learner)
    judged(learner, SignalKind.REACTION_UP, 12)
    assert before < chance(learner) < 1.0


def test_another_repository_hardly_counts(learner: Learner) -> None:
    """What one team rejects does not silence the answers of another."""
    before = chance(learner)
    judged(learner, SignalKind.REACTION_DOWN, 12, repository="88")
    assert chance(learner) == pytest.approx(before, abs=0.1)


def test_the_reason_names_the_feedback(learner: Learner) -> None:
    """`why` says whether there was a choice, and what the feedback is."""
    made = decide_answer(learner, "one", HERE, arm=Arm.LEARNED)
    assert reason(made, {}).startswith("no verdict on such answers here yet; acceptance 0.50")
    judged(learner, SignalKind.REACTION_DOWN, 5)
    cells = learner.cells(HERE)
    assert reason(made, cells).startswith("feedback worth 3.0 verdicts here, 0.00 of it in favour")
    assert belief(HERE, cells).mean < 0.4
    assert reason(asked_answer(learner, "two", HERE, arm=Arm.LEARNED), cells) == "a user asked for the answer"
