"""What a past comes down to, and what that does to a review's expectations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean

import msgspec
import pytest

from memory.history.lessons import ENOUGH, MAX_LIFT, HistoryHint, HistoryLessons, lessons
from memory.model import Action, Arm, Fate, Finding, Severity
from memory.policy import review_policy
from memory.policy.learner import Learner
from memory.store import Store
from memory.store.documents import HistoryPosition
from tests.unit.memory.history.pasts import past

HABITS = [
    past(at, rule=rule, line=line, fate=fate)
    for at in range(60)
    for line, (rule, fate) in enumerate((("F401", Fate.FIXED), ("B904", Fate.LEFT), ("S110", Fate.LEFT)))
]
FINDING = Finding(
    fingerprint="f" * 32,
    path="a.py",
    line=1,
    end_line=1,
    tool="ruff",
    rule="F401",
    category="maintainability",
    severity=Severity.MINOR,
    message="`os` imported but unused",
    anchor="import os",
)


@dataclass(frozen=True)
class Sight:
    rule: str
    path: str = "a.py"
    tool: str = "ruff"
    severity: Severity = Severity.MINOR
    fixable: bool = False
    standing: int = 0
    burst: int = 1


def learned() -> HistoryLessons:
    found = lessons(HABITS, lambda _: True)
    assert found is not None
    return found


def test_habits_lift_and_lower() -> None:
    """What people fix untold is expected to be welcome, what they leave is not; both within bounds."""
    fixed, left = (learned().hint(Sight(rule)) for rule in ("F401", "B904"))
    assert -MAX_LIFT <= left.lift < 0.0 < fixed.lift <= MAX_LIFT
    assert fixed.addressed == pytest.approx(fixed.of)
    assert left.addressed == 0.0 < left.of


def test_one_change_is_not_what_is_usual() -> None:
    """One change that brings hundreds of a rule hardly moves what is usual, so that other rules do not look better by it."""
    crowd = [past(60, rule="UP025", line=line, burst=300) for line in range(300)]
    found = lessons([*HABITS, *crowd], lambda _: True)
    assert found is not None
    habits = fmean(found.odds(Sight(rule)) for rule in ("F401", "B904", "S110"))
    assert found.usual_odds == pytest.approx(habits, abs=1.0)


def test_what_stands_all_over_a_file_is_tolerated() -> None:
    """The more often a rule is broken where nobody looked, the less its next breach is expected to bother anybody."""
    chances = [learned().odds(Sight("F401", standing=count)) for count in (0, 3, 30)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > chances[-1]


def test_a_short_past_says_nothing() -> None:
    """Nor does one without telling fates."""
    assert lessons(HABITS[: ENOUGH - 1], lambda _: True) is None
    assert lessons([replace(each, fate=Fate.GONE) for each in HABITS], lambda _: True) is None


def test_lessons_are_kept(store: Store) -> None:
    """They come back as they were, survive reading on, and go with the past."""
    store.past.add("o/r", HABITS, HistoryPosition(reading="1", sha="a", position=61))
    assert store.past.lessons("o/r", HistoryLessons) is None
    store.past.conclude("o/r", learned())
    store.past.add("o/r", HABITS[:3], HistoryPosition(reading="1", sha="b", position=62))
    assert store.past.lessons("o/r", HistoryLessons) == learned()
    assert store.past.of("o/r") == HABITS
    assert store.past.count("o/r") == len(HABITS)
    store.past.forget("o/r")
    assert store.past.count("o/r") == 0
    assert store.past.lessons("o/r", HistoryLessons) is None


def _appraised(learner: Learner, word: HistoryHint | None, arm: Arm = Arm.LEARNED, finding: Finding = FINDING) -> float:
    return review_policy.appraise(learner, "o/r", finding, arm=arm, suggestion_proven=False, past=word).belief.mean


def test_the_past_is_a_prior_for_the_learned_arm_alone(learner: Learner) -> None:
    """Fixed untold lifts the expectation, left lowers it; the control arm does not hear of it."""
    fixed, left = (learned().hint(Sight(rule)) for rule in ("F401", "B904"))
    assert _appraised(learner, left) < _appraised(learner, None) < _appraised(learner, fixed)
    assert _appraised(learner, fixed, Arm.CONTROL) == _appraised(learner, None, Arm.CONTROL)


def test_a_past_that_left_everything_never_silences_security(learner: Learner) -> None:
    """Whatever the past says, a security finding reaches the summary."""
    hole = replace(FINDING, rule="S110", tool="bandit", category="security")
    word = HistoryHint(lift=-MAX_LIFT, addressed=0.0, of=1000.0)
    for number in range(200):
        decision = review_policy.decide_posting(
            learner, f"t{number}", "o/r", hole, arm=Arm.LEARNED, suggestion_proven=False, slots_left=1, past=word
        ).decision
        assert decision.chosen != Action.HOLD


def test_the_reason_tells_of_the_past(learner: Learner) -> None:
    """Before any verdict people read what the past showed."""
    word = HistoryHint(lift=1.0, addressed=12.4, of=14.6)
    decision = review_policy.decide_posting(
        learner, "t", "o/r", FINDING, arm=Arm.LEARNED, suggestion_proven=False, slots_left=1, past=word
    ).decision
    appraisal = review_policy.appraise(learner, "o/r", FINDING, arm=Arm.LEARNED, suggestion_proven=False, past=word)
    assert review_policy.reason(decision, appraisal).startswith(
        "developers fixed 12 of 15 past F401 on their own; acceptance "
    )


def test_lessons_of_a_former_version() -> None:
    """Lessons without the usual odds are read, and lift nothing."""
    former = {name: value for name, value in msgspec.to_builtins(learned()).items() if name != "usual_odds"}
    hint = msgspec.convert(former, HistoryLessons).hint(Sight("F401"))
    assert hint.lift == 0.0
    assert hint.of > 0.0
