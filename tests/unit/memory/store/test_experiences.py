"""Experiences and their vectors."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

import numpy as np
import pytest

from memory.errors import StoreError
from memory.model import AttemptOutcome, EditShape, Experience, Family
from memory.store import Store
from tests.databases import at_once


def experience(experience_id: str, created_at: datetime, *, repository: str = "o/r") -> Experience:
    return Experience(
        id=experience_id,
        repository=repository,
        task_id="t1",
        error_type="TypeError",
        family=Family.TYPE,
        signature="unsupported operand",
        path="a/b.py",
        strategy="guard",
        outcome=AttemptOutcome.PROVEN,
        reflection="the guard held",
        patch="--- a\n+++ b\n",
        shape=EditShape(template="guard", before="x", after="x or y"),
        created_at=created_at,
    )


def test_experiences_come_back_newest_first(store: Store, now: datetime) -> None:
    """Experiences are listed newest first, of one repository or all, as many as asked for."""
    old, new = experience("a", now), experience("b", now + timedelta(seconds=1))
    other = experience("c", now + timedelta(seconds=2), repository="o/other")
    assert [store.experiences.add(each, f"text of {each.id}") for each in (new, old, other)] == [True] * 3
    assert store.experiences.all() == [other, new, old]
    assert store.experiences.all(limit=2) == [other, new]
    assert store.experiences.all(repository="o/r") == [new, old]
    assert store.experiences.get("a") == old
    assert store.experiences.get("z") is None
    assert store.experiences.texts(repository="o/r") == {"b": "text of b", "a": "text of a"}


def test_a_known_experience_stays_as_it_was(store: Store, now: datetime) -> None:
    """Adding an id again changes neither the experience nor its text."""
    assert store.experiences.add(experience("a", now), "first")
    assert not store.experiences.add(experience("a", now, repository="o/other"), "second")
    assert store.experiences.texts(repository="o/r") == {"a": "first"}


def test_vectors_keep_every_bit(store: Store, now: datetime) -> None:
    """The stored vectors are the very float32 values that were put, for each embedder apart."""
    for name in ("b", "a", "c"):
        store.experiences.add(experience(name, now), name)
    put = {name: np.random.default_rng(seed).random(384, dtype=np.float32) for seed, name in enumerate("ba")}
    store.experiences.put_vectors("mini", put)
    found = store.experiences.vectors_of("mini", "abc")
    assert set(found) == {"a", "b"}
    assert all(found[name].dtype == np.float32 and np.array_equal(found[name], put[name]) for name in "ab")
    assert store.experiences.vectors_of("other", "abc") == {}


def test_a_vector_can_be_put_again(store: Store, now: datetime) -> None:
    """A second vector of the same experience and embedder replaces the first."""
    store.experiences.add(experience("a", now), "")
    for value in (1, 2):
        store.experiences.put_vectors("mini", {"a": np.full(3, value, dtype=np.float32)})
    assert store.experiences.vectors_of("mini", "a")["a"].tolist() == [2.0, 2.0, 2.0]


def test_what_is_forgotten_takes_its_vectors_along(store: Store, now: datetime) -> None:
    """A deleted experience leaves no vector, and a vector that comes late for it is passed over."""
    store.experiences.add(experience("a", now), "")
    late = {"a": np.ones(3, dtype=np.float32)}
    store.experiences.put_vectors("mini", late)
    assert store.experiences.delete("a")
    assert not store.experiences.delete("a")
    store.experiences.put_vectors("mini", late)
    assert store.experiences.vectors_of("mini", "a") == {}


ROUNDS = 25
"""How often two works are done at once, so that they meet."""


def test_of_several_alike_one_is_listed(store: Store, now: datetime) -> None:
    """Whether they are added at once, or the first is forgotten while another is added."""

    def add(experience_id: str, likeness: int) -> None:
        store.experiences.add(experience(experience_id, now), "", likeness=str(likeness))

    for number in range(ROUNDS):
        at_once(*(partial(add, f"{name}{number}", number) for name in "abc"))
        deletions = [partial(store.experiences.delete, f"{name}{number}") for name in "abc"]
        at_once(*deletions, partial(add, f"d{number}", number))
    assert sorted(each.id for each in store.experiences.since(0) if each.listed) == sorted(
        f"d{number}" for number in range(ROUNDS)
    )


def test_a_vector_beside_a_forget_is_passed_over(store: Store, now: datetime) -> None:
    """What is forgotten while its vector is stored keeps none."""
    ids = [f"e{number}" for number in range(ROUNDS)]
    for each in ids:
        store.experiences.add(experience(each, now), "")
        put = partial(store.experiences.put_vectors, "mini", {each: np.ones(3, dtype=np.float32)})
        at_once(put, partial(store.experiences.delete, each))
    assert store.experiences.vectors_of("mini", ids) == {}


def test_vectors_of_one_embedder_have_one_length(store: Store, now: datetime) -> None:
    """A vector of another length under the same embedder id is refused: they could not be compared."""
    store.experiences.add(experience("a", now), "")
    store.experiences.add(experience("b", now), "")
    store.experiences.put_vectors("mini", {"a": np.ones(3, dtype=np.float32)})
    with pytest.raises(StoreError, match="give a new embedder a new id"):
        store.experiences.put_vectors("mini", {"b": np.ones(4, dtype=np.float32)})
    with pytest.raises(StoreError, match="differ in shape"):
        store.experiences.put_vectors("flat", {"a": np.ones((1, 3), dtype=np.float32)})
    assert set(store.experiences.vectors_of("mini", "ab")) == {"a"}


@pytest.mark.extended
def test_many_vectors_can_be_put(store: Store, now: datetime) -> None:
    """More vectors than one statement has room for can be put at once."""
    store.experiences.add(experience("a", now), "")
    many = dict.fromkeys([f"gone{number}" for number in range(70_000)], np.ones(1, dtype=np.float32))
    store.experiences.put_vectors("mini", many | {"a": np.full(1, 2, dtype=np.float32)})
    assert {key: each.tolist() for key, each in store.experiences.vectors_of("mini", [*many, "a"]).items()} == {
        "a": [2.0]
    }
