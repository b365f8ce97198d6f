from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from memory.model import (
    Actor,
    Arm,
    AttemptOutcome,
    Decision,
    EditShape,
    Experience,
    Family,
    Permission,
    Recollection,
    SignalKind,
    State,
    TaskKind,
)
from memory.policy.learner import Learner
from memory.retrieval.embeddings import HashedWords
from memory.retrieval.experiences import Experiences
from memory.skills import fitting
from memory.store import Store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = timedelta(days=365)
SHAPE = EditShape(template="guard", before="_.get(_)", after="_.get(_) or _")
KEY = "'unit_price' missing in Basket.total test_total_of_basket"


class Counting(HashedWords):
    """Counts the texts it was given and how often it was warmed."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded = 0
        self.warmed = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += len(texts)
        return super().embed(texts)

    def warm(self) -> None:
        self.warmed += 1


def experience(
    id_: str = "e1", *, signature: str = KEY, error_type: str = "KeyError", repository: str = "o/r",
    outcome: AttemptOutcome = AttemptOutcome.PROVEN, shape: EditShape | None = SHAPE, task_id: str = "t1",
    patch: str = "", strategy: str = "guard",
) -> Experience:  # fmt: skip
    return Experience(
        id=id_, repository=repository, task_id=task_id, error_type=error_type, family=Family.LOOKUP,
        signature=signature, path="shop/cart.py", strategy=strategy, outcome=outcome, reflection="", patch=patch,
        shape=shape, created_at=NOW,
    )  # fmt: skip


def recalled_ids(experiences: Experiences, signature: str = KEY, error_type: str = "KeyError", k: int = 5) -> list[str]:
    found = experiences.recall(signature=signature, error_type=error_type, family="lookup", repository="o/r", k=k)
    assert [r.score for r in found] == sorted((r.score for r in found), reverse=True)
    assert all(0.0 <= r.score <= 1.0 for r in found)
    return [r.experience.id for r in found]


@pytest.fixture
def embedder() -> Counting:
    return Counting()


@pytest.fixture
def experiences(store: Store, embedder: Counting) -> Experiences:
    return Experiences(store, embedder)


def test_empty_memory_does_not_touch_the_embedder(experiences: Experiences, embedder: Counting) -> None:
    """With nothing remembered, recall is empty and loads nothing; neither does warming."""
    experiences.warm()
    assert recalled_ids(experiences) == []
    assert (embedder.embedded, embedder.warmed) == (0, 0)


def test_each_experience_is_embedded_once(experiences: Experiences, embedder: Counting) -> None:
    """Vectors are computed at the first recall that needs them, and kept."""
    experiences.remember(experience())
    assert embedder.embedded == 0
    recalled_ids(experiences)
    recalled_ids(experiences)
    assert embedder.embedded == 2 + 2 * 2, "both views of the experience once, and both of each query"
    experiences.warm()
    assert embedder.warmed == 1


def test_nobody_waits_for_the_embedder(store: Store, embedder: Counting) -> None:
    """While it is loaded the same is found by words, and the embedder is asked for nothing."""
    experiences = Experiences(store, embedder)
    experiences.remember(experience())
    embedder.ready = False
    assert recalled_ids(experiences.at_hand()) == ["e1"]
    assert embedder.embedded == 0
    embedder.ready = True
    assert experiences.at_hand() is experiences


def test_similar_failures_come_first(experiences: Experiences) -> None:
    """The failure that shares names with the query is recalled before unrelated ones, and scores clearly higher."""
    experiences.remember(experience("far", signature="division by zero in stats.mean", error_type="ZeroDivisionError"))
    experiences.remember(experience("near", signature="'unit_price' missing in Order.total"))
    found = experiences.recall(signature=KEY, error_type="KeyError", family="lookup", repository="o/r")
    assert found[0].experience.id == "near"
    assert found[0].score > 2 * max([r.score for r in found[1:]], default=0.0)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({}, {"outcome": AttemptOutcome.NOTHING_PLAUSIBLE}),
        ({}, {"repository": "other/repo"}),
    ],
)
def test_useful_memories_come_before_equally_near_ones(
    experiences: Experiences, better: dict[str, object], worse: dict[str, object]
) -> None:
    """Of equals, what was proven and what happened in this repository is more useful."""
    experiences.remember(experience("a-worse", **worse))  # type: ignore[arg-type]
    experiences.remember(experience("b-better", **better))  # type: ignore[arg-type]
    assert recalled_ids(experiences) == ["b-better", "a-worse"]


@pytest.mark.parametrize("ids", ["abc", "cba"])
def test_of_equally_near_memories_the_newest_comes_first(experiences: Experiences, ids: str) -> None:
    """Whatever their random ids are, the scores are the same: a seed repeats what was recalled."""
    for hours, id_ in enumerate(ids):
        experiences.remember(replace(experience(id_, strategy=id_), created_at=NOW + timedelta(hours=hours)))
    found = experiences.recall(signature=KEY, error_type="KeyError", family="lookup", repository="o/r")
    assert [each.experience.id for each in found] == list(reversed(ids))
    ratios = [each.score / found[0].score for each in found]
    assert ratios == pytest.approx([11 / (11 + rank) for rank in range(3)], abs=1e-3)


def test_at_most_k_are_recalled(experiences: Experiences) -> None:
    """k bounds what comes back."""
    for i in range(6):
        experiences.remember(experience(f"e{i}", strategy=f"s{i}"))
    assert len(recalled_ids(experiences, k=4)) == 4


def test_new_memories_are_found_at_once_and_forgotten_ones_never(store: Store, experiences: Experiences) -> None:
    """The index follows the store."""
    experiences.remember(experience("one"))
    assert recalled_ids(experiences) == ["one"]
    experiences.remember(experience("two", strategy="swap"))
    assert set(recalled_ids(experiences)) == {"one", "two"}
    assert store.experiences.delete("one")
    assert recalled_ids(experiences) == ["two"]
    assert not store.experiences.delete("one")


def test_remembering_twice_changes_nothing(experiences: Experiences) -> None:
    """A known id is left as it is."""
    assert experiences.remember(experience())
    assert not experiences.remember(experience(outcome=AttemptOutcome.UNPROVEN))


def replayed_of(found: Sequence[Recollection]) -> dict[EditShape, float]:
    """The edits that what is recalled alone says to try."""
    return fitting((), found, family="lookup", repository="o/r")


def test_only_proven_edits_are_replayed(experiences: Experiences) -> None:
    """Failed attempts and attempts without a shape give nothing to replay; weights lie in (0, 1]."""
    other = EditShape(template="swap", before="a", after="b")
    experiences.remember(experience("proven"))
    experiences.remember(experience("failed", outcome=AttemptOutcome.UNPROVEN, shape=other))
    experiences.remember(experience("shapeless", shape=None))
    found = experiences.recall(signature=KEY, error_type="KeyError", family="lookup", repository="o/r")
    shapes = replayed_of(found)
    assert set(shapes) == {SHAPE}
    assert 0.0 < shapes[SHAPE] <= 1.0


def test_all_that_is_alike_is_evidence(experiences: Experiences) -> None:
    """However many there are, failed attempts too, the newer the more; what has another story is none."""
    for number in range(120):
        outcome = AttemptOutcome.PROVEN if number % 3 else AttemptOutcome.UNPROVEN
        past = experience(f"e{number}", outcome=outcome, strategy=f"guard {number}")
        experiences.remember(replace(past, created_at=NOW - number * YEAR / 100))
    experiences.remember(experience("other", signature="ZeroDivisionError\nfloat division by zero\nmean\ntest_mean"))
    found = experiences.alike(signature=KEY, error_type="KeyError")
    assert set(found) == {f"guard {number}" for number in range(120)}
    assert {name for name, each in found.items() if not each.gain} == {f"guard {number}" for number in range(0, 120, 3)}
    weights = [found[f"guard {number}"].weight for number in range(120)]
    assert weights == sorted(weights, reverse=True)
    assert 0.1 < weights[-1] < 0.25 < weights[0] <= 1.0


@pytest.mark.parametrize(
    ("permission", "replayed"), [(Permission.WRITE, False), (Permission.READ, True)], ids=["maintainer", "outsider"]
)
def test_what_people_rejected_is_remembered_but_not_replayed(
    store: Store, experiences: Experiences, permission: Permission, replayed: bool
) -> None:
    """A maintainer's rejection takes an edit out of replay until it is taken back; an outsider's does not."""
    learner = Learner(store, random.Random(1), lambda: NOW, control_share=0.0)
    decision = _decided(learner)
    experiences.remember(experience())
    learner.record_signal(decision.id, SignalKind.FIX_CLOSED, Actor(id=1, login="ada"), permission, "pull:1")

    def shapes() -> set[EditShape]:
        found = experiences.recall(signature=KEY, error_type="KeyError", family="lookup", repository="o/r")
        assert len(found) == 1
        return set(replayed_of(found))

    assert shapes() == ({SHAPE} if replayed else set())
    learner.retract(decision.id, SignalKind.FIX_CLOSED, "pull:1")
    assert shapes() == {SHAPE}


def test_the_same_again_is_kept_not_listed(store: Store, experiences: Experiences) -> None:
    """The same failure, edit and outcome in one repository is one memory; forgetting it leaves its copy in its place."""
    for id_ in ("first", "second", "third"):
        assert experiences.remember(experience(id_))
    experiences.remember(experience("other", outcome=AttemptOutcome.UNPROVEN))
    found = experiences.recall(signature=KEY, error_type="KeyError", family="lookup", repository="o/r")
    assert [each.experience.id for each in found] == ["first", "other"]
    assert store.experiences.delete("first")
    found = experiences.recall(signature=KEY, error_type="KeyError", family="lookup", repository="o/r")
    assert {each.experience.id for each in found} == {"second", "other"}
    assert not experiences.remember(experience("first")), "what was forgotten is not learned again"


def test_another_process_sees_what_came_and_went(store: Store, embedder: Counting) -> None:
    """Two memories over one store: each finds what the other added, and not what it deleted."""
    ours, theirs = Experiences(store, embedder), Experiences(store, embedder)
    ours.remember(experience("one"))
    assert recalled_ids(theirs) == ["one"]
    theirs.remember(experience("two", strategy="swap"))
    assert set(recalled_ids(ours)) == {"one", "two"}
    store.experiences.delete("one")
    assert recalled_ids(theirs) == ["two"]


def test_a_recall_reads_only_what_is_new(store: Store, embedder: Counting) -> None:
    """What was read once is neither read nor embedded again: a second recall embeds its query and nothing else."""
    experiences = Experiences(store, embedder)
    for i in range(20):
        experiences.remember(experience(f"e{i}", strategy=f"s{i}"))
    recalled_ids(experiences)
    before = embedder.embedded
    experiences.remember(experience("new", strategy="new"))
    recalled_ids(experiences)
    assert embedder.embedded - before == 2 + 2


def test_only_what_is_of_the_repository_comes_back(experiences: Experiences) -> None:
    experiences.remember(experience("here"))
    experiences.remember(experience("there", repository="o/other"))
    experiences.remember(experience("type", repository="o/t", error_type="TypeError", outcome=AttemptOutcome.UNPROVEN))
    found = experiences.recall(signature=KEY, error_type="KeyError", family="lookup", repository="o/r", only_here=True)
    assert [each.experience.id for each in found] == ["here"]


PATCH = "--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ -1,2 +1,2 @@\n def total(b):\n-    return b.get(1)\n+    return b.get(1) or 0\n"


@pytest.mark.parametrize(
    ("source", "stale"),
    [
        ("def total(b):\n    return b.get(1)\n", False),
        ("def total(b):\n\n        return b.get(1) or 0\n", False),
        ("def total(b):\n    return sum(b)\n", True),
        (None, True),
    ],
    ids=["as found", "as left", "changed", "gone"],
)
def test_cited_code_is_looked_at_again(experiences: Experiences, source: str | None, stale: bool) -> None:
    """A memory that cites code comes back without its edit when this checkout has that code no more."""
    experiences.remember(experience(patch=PATCH))
    asked = {"signature": KEY, "error_type": "KeyError", "family": "lookup"}
    (found,) = experiences.recall(**asked, repository="o/r", read={"shop/cart.py": source}.get)  # type: ignore[arg-type]
    assert (found.experience.shape is None) is stale
    (elsewhere,) = experiences.recall(**asked, repository="o/else", read=lambda path: None)  # type: ignore[arg-type]
    assert elsewhere.experience.shape is not None, "what is cited of another repository cannot be looked up in this one"


def test_room_is_made_by_forgetting_what_proved_nothing(store: Store, embedder: Counting) -> None:
    """Beyond the capacity the oldest that proved nothing goes; a proven one stays."""
    experiences = Experiences(store, embedder, capacity=20)
    for i in range(21):
        outcome = AttemptOutcome.UNPROVEN if i else AttemptOutcome.PROVEN
        made = experience(f"e{i:02}", strategy=f"s{i}", outcome=outcome)
        experiences.remember(replace(made, created_at=NOW + timedelta(hours=i)))
    left = {each.id for each in store.experiences.all(limit=100)}
    assert len(left) == 19
    assert "e00" in left
    assert not {"e01", "e02"} & left


def _decided(learner: Learner) -> Decision:
    state = State(kind=TaskKind.REPAIR, repository="o/r", label="KeyError", family="lookup")
    return learner.decide("t1", state, ("guard",), arm=Arm.LEARNED, prior={})
