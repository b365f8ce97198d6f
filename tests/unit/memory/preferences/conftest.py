"""Options that somebody judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import pytest

from memory.preferences import JudgedOption, PreferenceOption


@pytest.fixture
def judge() -> Callable[..., JudgedOption]:
    """Make something that people judged; by default accepted by person 1, `at` so many hours after the first."""

    def make(
        name: str,
        verdict: float = 1.0,
        *,
        task: str = "t",
        label: str = "B006",
        repository: str = "o/r",
        teacher: int = 1,
        at: int = 0,
        prior: float = 0.5,
        features: Mapping[str, float] | None = None,
    ) -> JudgedOption:
        return JudgedOption(
            decision_id=name,
            task_id=task,
            repository=repository,
            label=label,
            teacher=teacher,
            known_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=at),
            verdict=verdict,
            option=PreferenceOption(prior=prior, features=dict(features or {})),
        )

    return make
