"""Every input that fuzzing kept is replayed: what it reached once is checked in each run of the tests."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.__main__ import MAX_KEPT, mutated
from tests.fuzz.seeds import SEEDS
from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).with_name("corpus")


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_holds(name: str) -> None:
    """Each kept input and each seed is refused with a typed error or read within its limits."""
    kept = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    assert len(SEEDS[name]) >= 2
    for data in (*SEEDS[name], *kept):
        TARGETS[name](data)


def test_the_corpus_is_small_and_of_targets_that_exist() -> None:
    """Fuzzing keeps what reaches more, and no more."""
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
    for place in CORPUS.iterdir():
        assert 1 <= len(list(place.iterdir())) <= MAX_KEPT + 5
        assert all(path.stat().st_size <= 20_000 for path in place.iterdir())


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "configuration"])
@settings(max_examples=30, derandomize=True)
@given(data=st.data())
def test_near_a_seed(name: str, data: st.DataObject) -> None:
    """What is a few changes away from an accepted input holds as well."""
    text = data.draw(st.sampled_from(SEEDS[name]))
    for seed in data.draw(st.lists(st.integers(0, 10**6), max_size=4)):
        text = mutated(text, random.Random(seed))
    at, cut = data.draw(st.integers(0, len(text))), data.draw(st.binary(max_size=6))
    TARGETS[name](text[:at] + cut + text[at + data.draw(st.integers(0, 6)) :])
