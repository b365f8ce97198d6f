from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.model import AttemptOutcome
from memory.retrieval.experiences import CONTESTED, edit_weight
from memory.store import Store
from tests.databases import migrated_store
from tests.unit.memory.test_skills import experience

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EXPERIENCE = experience(1)


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
    assert edit_weight(here, elsewhere) == weight


KEPT = st.lists(st.tuples(st.sampled_from(AttemptOutcome), st.integers(0, 50), st.integers(0, 4)), max_size=12)


@settings(deadline=None, max_examples=25)
@given(KEPT, st.integers(0, 12))
def test_nothing_proven_goes_before_what_never_was(kept: list[tuple[AttemptOutcome, int, int]], keep: int) -> None:
    """As many go as have to, and no proven original while a copy or one that proved nothing stays."""
    with TemporaryDirectory() as folder, migrated_store(Path(folder, "memory.db")) as store:
        for number, (outcome, hours, alike) in enumerate(kept):
            made = replace(EXPERIENCE, id=f"e{number:02}", outcome=outcome, created_at=NOW + timedelta(hours=hours))
            store.experiences.add(made, "text", likeness=f"{outcome}{alike}" if alike else "")
        gone = store.experiences.trim(keep, keep)
        left = store.experiences.all()
    assert gone == max(0, len(kept) - keep)
    proven = {f"{outcome}{alike}" if alike else str(number) for number, (outcome, _, alike) in enumerate(kept)
              if outcome is AttemptOutcome.PROVEN}  # fmt: skip
    assert sum(each.outcome is AttemptOutcome.PROVEN for each in left) >= min(keep, len(proven))


def test_a_copy_goes_before_an_original_and_the_old_before_the_new(store: Store) -> None:
    """What another memory has too, what proved nothing, and what is old is missed least."""
    for hours, (name, outcome, likeness) in enumerate(
        (("proven", AttemptOutcome.PROVEN, ""), ("old", AttemptOutcome.UNPROVEN, "a"),
         ("new", AttemptOutcome.UNPROVEN, ""), ("copy", AttemptOutcome.UNPROVEN, "a"))
    ):  # fmt: skip
        made = replace(EXPERIENCE, id=name, outcome=outcome, created_at=NOW + timedelta(hours=hours))
        store.experiences.add(made, "text", likeness=likeness)
    assert store.experiences.trim(4, 0) == 0
    order = []
    for keep in (3, 2, 1, 0):
        before = {each.id for each in store.experiences.all()}
        assert store.experiences.trim(keep, keep) == 1
        order += before - {each.id for each in store.experiences.all()}
    assert order == ["copy", "old", "new", "proven"]
