"""What earlier attempts at a failure give to the next one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory.model import AttemptOutcome, Failure, Family, NearMiss, Reflection, RetryMode
from memory.reflections import (
    edit_digest,
    latest_reflections,
    of_same_failure,
    retry_arms,
    retry_mode_of,
    reused,
    store_reflection,
)
from memory.store import Store
from tests.unit.memory.test_skills import experience

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MISS = NearMiss(path="a.py", line=3, template="swap", edit="", passed=1, error_type="KeyError", message="'a'")
FIRST = Reflection(
    id="e1",
    repository="o/one",
    failing_tests=("t.py::a", "t.py::b"),
    outcome=AttemptOutcome.NOTHING_PLAUSIBLE,
    ruled_out=("01", "02"),
    nearest=MISS,
    summary="operators: 2 candidates tried.",
    created_at=NOW,
)
SECOND = replace(
    FIRST, id="e2", ruled_out=("02", "03"), nearest=replace(MISS, passed=2), created_at=NOW + timedelta(hours=1)
)
SOURCE = "def f(a):\n    b = a\n    return b\n\n\ndef g(a):\n    b = a\n    return b\n"


def failure(*tests: str) -> Failure:
    return Failure(error_type="KeyError", family=Family.LOOKUP, message="", frames=(), failing_tests=tests)


def test_the_same_failure_is_known_by_its_tests() -> None:
    """At another commit most of the failing tests are the same; other tests fail for other reasons."""
    assert of_same_failure(failure("t.py::a", "t.py::b"), [FIRST]) == (FIRST,)
    assert of_same_failure(failure("t.py::a"), [FIRST]) == (FIRST,)
    assert of_same_failure(failure("t.py::c", "t.py::a", "t.py::d"), [FIRST]) == ()


@pytest.mark.parametrize(
    ("mode", "later", "starts"),
    [
        (RetryMode.NONE, set(), ()),
        (RetryMode.LAST_ATTEMPT, {"01", "02", "03"}, ()),
        (RetryMode.REFLECTION, set(), (SECOND.nearest,)),
        (RetryMode.BOTH, {"01", "02", "03"}, (SECOND.nearest,)),
    ],
)
def test_what_a_mode_gives(mode: RetryMode, later: set[str], starts: tuple[NearMiss, ...]) -> None:
    """What was tried, or what came nearest with the lessons, or both, or nothing."""
    retry = reused(mode, (SECOND, FIRST))
    assert (retry.later, retry.start) == (later, starts)


def test_the_modes_are_arms_of_the_policy() -> None:
    """Each has a name of its own and something that is expected of it."""
    assert {retry_mode_of(arm) for arm in retry_arms(RetryMode)} == set(RetryMode)
    assert all(0.0 < expected < 1.0 for expected in retry_arms(RetryMode).values())


def test_an_edit_is_known_again_where_lines_moved() -> None:
    """The digest is of what is replaced by what and of the line above it; another place or another edit has another."""
    edited = SOURCE.replace("b = a", "b = -a", 1)
    moved, moved_edited = "import os\n\n\n" + SOURCE + "\nx = 1\n", "import os\n\n\n" + edited + "\nx = 1\n"
    assert edit_digest("a.py", SOURCE, edited) == edit_digest("a.py", moved, moved_edited)
    others = [SOURCE.replace("b = a", "b = +a", 1), SOURCE[:20] + SOURCE[20:].replace("b = a", "b = -a")]
    assert (
        len({edit_digest("a.py", SOURCE, each) for each in (edited, *others)} | {edit_digest("b.py", SOURCE, edited)})
        == 4
    )


def test_reflections_are_kept_with_their_experience(store: Store) -> None:
    """The newest of a repository come first, and one goes with its experience."""
    for number, reflection in enumerate((FIRST, SECOND), start=1):
        store.experiences.add(experience(number), "text")
        assert store_reflection(store, reflection)
        assert not store_reflection(store, reflection)
    assert latest_reflections(store, "o/one", 5) == [SECOND, FIRST]
    assert latest_reflections(store, "o/two", 5) == []
    store.experiences.delete("e2")
    assert latest_reflections(store, "o/one", 5) == [FIRST]
