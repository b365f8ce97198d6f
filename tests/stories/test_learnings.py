"""A repository keeps `.apprentice/learnings.yml`; what that changes in a review, and what a pull request can do with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from memory.model import TaskKind
from memory.rewards import PATTERN
from memory.sharing import PATH, Learnings, Lesson, render
from tests.stories import town as founding
from tests.stories.pantry import FILES
from tests.stories.town import Town

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

EMPTY: dict[str, str | bytes | None] = {"pantry/empty.py": 'def empty():\n    return f"empty"\n'}
"""A change with one finding, F541."""


def file(source: str, mean: float) -> str:
    """What `source` learned of F541."""
    day = date(2026, 1, 1)
    lesson = Lesson(
        about=TaskKind.REVIEW, label="F541", family="style", strategy=PATTERN, mean=mean, weight=50.0, teachers=3,
        since=day, until=day, decisions=(), taught_by=("https://example.org/acme/shop/pull/1",),
    )  # fmt: skip
    return render(Learnings(source=source, lessons=(lesson,)))


@pytest.fixture
def sharing_town(tmp_path: Path) -> Iterator[Town]:
    """A town with learnings on its base branch, where they are read."""
    with founding.town(tmp_path, {**FILES, PATH: file("acme/shop", 0.05)}, share_learnings=True) as made:
        yield made


def inline_chance(town: Town, number: int) -> float:
    """How likely F541 was to be said beside the code."""
    (sighting,) = [each for each in town.sightings(number) if each.finding.rule == "F541"]
    decision = town.context.store.ledger.decision(sighting.decision_id)
    assert decision is not None
    return sum(p for name, p in zip(decision.available, decision.probabilities, strict=True) if "inline" in name)


def test_learnings_of_the_base_branch_are_a_prior(sharing_town: Town) -> None:
    """What others did not want is hardly said beside the code here, though its suggestion was tested."""
    number = sharing_town.propose("empty", EMPTY)
    assert inline_chance(sharing_town, number) < 0.4


def test_a_pull_request_cannot_teach_by_changing_the_file(sharing_town: Town) -> None:
    """Learnings in the head have no effect, however large their claims."""
    number = sharing_town.propose("praise", {**EMPTY, PATH: file("acme/shop", 1.0)})
    assert inline_chance(sharing_town, number) < 0.4


def test_nothing_is_read_where_nobody_opted_in(tmp_path: Path) -> None:
    """The file on the base branch has no effect by default."""
    with founding.town(tmp_path, {**FILES, PATH: file("acme/shop", 0.05)}) as town:
        number = town.propose("empty", EMPTY)
        assert inline_chance(town, number) > 0.6


def test_a_file_of_no_use_is_told(tmp_path: Path) -> None:
    """The review takes place without it, and says under "Not read" which line is wrong."""
    with founding.town(tmp_path, {**FILES, PATH: "version: 1\nversion: 1\n"}, share_learnings=True) as town:
        number = town.propose("empty", EMPTY)
        (review,) = town.reviews(number)
        assert "- `.apprentice/learnings.yml`: on the base branch, line 2: 'version' occurs twice" in review.body
        assert inline_chance(town, number) > 0.6
