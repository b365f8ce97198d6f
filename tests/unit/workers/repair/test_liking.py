"""What a reward model makes of plausible candidates."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from memory.model import EditShape, TaskKind
from memory.preferences.model import PreferenceModel
from memory.preferences.training import train
from workers.repair.engines.search.candidates import Candidate
from workers.repair.judging.ranking import liking

BEFORE = "def f(x):\n    return x\n"


def candidate(template: str, source: str) -> Candidate:
    shape = EditShape(template=template, before="", after="")
    return Candidate(
        path="a.py", source=source, line=2, function="f", template=template, strategy="s", shape=shape, score=0.5
    )


def taste(**weights: float) -> PreferenceModel:
    """A model that prefers these features."""
    return replace(train([], kind=TaskKind.REPAIR, now=datetime(2026, 1, 1, tzinfo=UTC)), weights=weights)


def test_templates_that_people_like_are_liked() -> None:
    """Candidates are told apart by what made them, and are otherwise alike."""
    both = [candidate("guards", "def f(x):\n    return x or 0\n"), candidate("operators", "def f(x):\n    return -x\n")]
    guards, operators = liking(taste(**{"template=operators": 2.0}), both, [BEFORE] * 2)
    assert operators - guards == 2.0
    assert len(set(liking(taste(), both, [BEFORE] * 2))) == 1
