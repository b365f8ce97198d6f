"""What the tests of memory share: a real store in a fresh file, fixed time, a seeded learner."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from memory.learner import Learner
from memory.store import Store, open_store


class Ticking:
    """A clock that is one second later every time it is asked."""

    def __init__(self) -> None:
        self._seconds = count()

    def __call__(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(self._seconds))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'memory.db'}") as opened:
        yield opened


@pytest.fixture
def learner(store: Store) -> Learner:
    return Learner(store, random.Random(7), Ticking(), control_share=0.1)
