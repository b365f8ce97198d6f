"""The App is installed, and has read what became of old findings before it says its first word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories import town as founding
from tests.stories.town import REPOSITORY

pytestmark = pytest.mark.sandbox


def test_the_past_is_read_at_the_installation(tmp_path: Path) -> None:
    """The repository's one commit is read once, however often GitHub tells of the installation."""
    with founding.town(tmp_path, learn_changes=10) as town:
        town.settle()
        reached = town.context.store.past.position(town.key)
        assert reached is not None
        assert reached.position == 0
        town.redeliver("installation")
        told = [line for line in town.progress if "past change" in line]
        assert [line.split(",")[0] for line in told] == [f"{REPOSITORY}: read 1 past change"]


def test_an_operator_can_do_without(tmp_path: Path) -> None:
    """With none to be read, none is."""
    with founding.town(tmp_path) as town:
        town.settle()
        assert town.context.store.past.position(town.key) is None
