"""Who chooses first while there are inline comments left."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.model import Arm, Finding, Severity
from memory.policy.learner import Learner
from memory.preferences import PreferenceModel, train
from tests.databases import migrated_store
from workers.review.plan import decide, in_posting_order

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def finding(path: str, severity: Severity = Severity.MINOR) -> Finding:
    return Finding(
        fingerprint=path, path=path, line=1, end_line=1, tool="ruff", rule="B006", category="style",
        severity=severity, message="m", anchor="a",
    )  # fmt: skip


def taste(**weights: float) -> PreferenceModel:
    """A model that prefers these features."""
    return replace(train([], now=NOW), weights=weights)


def test_the_worst_chooses_first_and_of_equals_the_first_in_the_change() -> None:
    """Where no taste is known."""
    found = [finding("b.py"), finding("a.py"), finding("z.py", Severity.MAJOR)]
    assert [each.path for each in in_posting_order(found, None)] == ["z.py", "a.py", "b.py"]


def test_of_equals_the_most_liked_chooses_first() -> None:
    """A taste orders findings that are as bad as each other, and never puts one before a worse one."""
    found = [finding("a.py"), finding("tests/b.py"), finding("z.py", Severity.MAJOR)]
    liked = taste(**{"path=test": 50.0})
    assert [each.path for each in in_posting_order(found, liked)] == ["z.py", "tests/b.py", "a.py"]


@pytest.mark.parametrize(("arm", "heard"), [(Arm.LEARNED, "tests/b.py"), (Arm.CONTROL, "a.py")])
def test_the_last_inline_comment_goes_to_the_most_liked(arm: Arm, heard: str, tmp_path: Path) -> None:
    """Except in the control arm, which uses nothing learned."""
    found = [replace(finding(path), severity=Severity.MAJOR) for path in ("a.py", "tests/b.py")]
    with migrated_store(tmp_path / "memory.db") as store:
        learner = Learner(store, random.Random(5), lambda: NOW, control_share=0.0)
        liked = taste(**{"path=test": 50.0})
        decided = decide(found, learner, task_id="t", repository="o/r", arm=arm, slots=1, preferences=liked)
    first = min(decided.values(), key=lambda each: -len(each.decision.available))
    assert first.decision.subject == heard
