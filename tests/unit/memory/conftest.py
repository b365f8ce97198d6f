"""What the tests of memory share: a real store in a fresh file, fixed time, a seeded learner."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from memory.policy.learner import Learner
from memory.store import Store
from tests.databases import migrated_store


class Ticking:
    """A clock that is later every time it is asked, by default a second."""

    def __init__(self, step: timedelta = timedelta(seconds=1)) -> None:
        self._steps = count()
        self._step = step

    def __call__(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + self._step * next(self._steps)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with migrated_store(tmp_path / "memory.db") as opened:
        yield opened


@pytest.fixture
def learner(store: Store) -> Learner:
    return Learner(store, random.Random(7), Ticking(), control_share=0.1)
