from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.model import AttemptOutcome
from memory.retrieval.experiences import CONTESTED, least_useful, verdict
from memory.store.experiences import Usefulness

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("here", "elsewhere", "weight"),
    [
        ([], [], 1.0),
        ([0.0, 0.0], [], 1.0),
        ([-0.4], [], 0.0),
        ([-0.4], [0.9], 0.0),
        ([0.4], [-0.9], 1.0),
        ([], [-0.4], CONTESTED),
        ([-0.2, 0.4], [], 1.0),
        ([-0.4, 0.2], [-0.1], 0.0),
    ],
)
def test_the_word_of_the_own_people_wins(here: list[float], elsewhere: list[float], weight: float) -> None:
    """A rejection here beats proofs and praise from elsewhere; one from elsewhere halves what nobody here judged."""
    assert verdict(here, elsewhere) == weight


KEPT = st.lists(
    st.builds(
        Usefulness,
        id=st.text("abcdefgh", min_size=1, max_size=3),
        outcome=st.sampled_from(AttemptOutcome),
        copy=st.booleans(),
        helped=st.integers(0, 2),
        created_at=st.integers(0, 50).map(lambda hours: NOW + timedelta(hours=hours)),
    ),
    unique_by=lambda each: each.id,
    max_size=30,
)


@given(KEPT, st.sets(st.text("abcdefgh", min_size=1, max_size=3)), st.integers(0, 20))
def test_nothing_proven_and_accepted_goes_before_what_never_was(
    kept: list[Usefulness], accepted: set[str], keep: int
) -> None:
    """As many go as have to, and none that was proven and accepted while one that was not stays."""
    gone = set(least_useful(kept, accepted, keep))
    assert len(gone) == max(0, len(kept) - keep)
    best = {each.id for each in kept if each.outcome is AttemptOutcome.PROVEN and each.id in accepted}
    assert not gone & best or not {each.id for each in kept} - best - gone


def test_a_copy_goes_before_an_original_and_the_old_before_the_new() -> None:
    """What another memory says too, and what is old, is missed least."""

    def entry(id_: str, copy: bool, hours: int, helped: int = 0) -> Usefulness:
        made = NOW + timedelta(hours=hours)
        return Usefulness(id=id_, outcome=AttemptOutcome.UNPROVEN, copy=copy, helped=helped, created_at=made)

    kept = [
        entry("helped", True, 0, 1),
        entry("old", False, 1),
        entry("new", False, 2),
        entry("copy", True, 3),
    ]
    assert least_useful(kept, set(), 0) == ["copy", "old", "new", "helped"]
