"""The town of the stories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories import town as founding
from tests.stories.town import Town


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    """A town of the test's own."""
    with founding.town(tmp_path) as made:
        yield made


@pytest.fixture
def hurried_town(tmp_path: Path) -> Iterator[Town]:
    """A town where a repair must end soon."""
    with founding.town(tmp_path, budget_seconds=16.0) as made:
        yield made
