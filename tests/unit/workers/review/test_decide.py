"""Who chooses first while there are inline comments left."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from memory.embed import HashedWords
from memory.model import Finding, Severity, TaskKind
from memory.preferences.collecting import Taste
from memory.preferences.reward import Hyperparameters, RewardModel
from memory.preferences.training import train
from workers.review.decide import queue


def finding(path: str, severity: Severity = Severity.MINOR) -> Finding:
    return Finding(
        fingerprint=path, path=path, line=1, end_line=1, tool="ruff", rule="B006", category="style",
        severity=severity, message="m", anchor="a",
    )  # fmt: skip


def taste(**weights: float) -> Taste:
    """People who like these features."""
    empty = train([], {}, embedder="e", kind=TaskKind.REVIEW, now=datetime(2026, 1, 1, tzinfo=UTC))
    model = RewardModel(
        weights=weights, dimensions=(), embedder="", hyperparameters=Hyperparameters(l2=1.0, embedding=0.0)
    )
    return Taste(replace(empty, model=model), HashedWords())


def test_the_worst_chooses_first_and_of_equals_the_first_in_the_change() -> None:
    """Where no taste is known."""
    found = [finding("b.py"), finding("a.py"), finding("z.py", Severity.MAJOR)]
    assert [each.path for each in queue(found, None)] == ["z.py", "a.py", "b.py"]


def test_of_equals_the_most_liked_chooses_first() -> None:
    """A taste orders findings that are as bad as each other, and never puts one before a worse one."""
    found = [finding("a.py"), finding("tests/b.py"), finding("z.py", Severity.MAJOR)]
    liked = taste(**{"path=test": 50.0})
    assert [each.path for each in queue(found, liked)] == ["z.py", "tests/b.py", "a.py"]
