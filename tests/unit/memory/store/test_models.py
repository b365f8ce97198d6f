from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from memory.model import Decision, Signal, TaskKind
from memory.store import Store, StoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    id: str
    weights: dict[str, float]


def test_a_model_comes_back_as_it_was_saved(store: Store, now: datetime) -> None:
    """The document is what it was; a known id is left as it is."""
    one = Document(id="m1", weights={"severity": 0.25})
    assert store.models.save("m1", TaskKind.REVIEW, one, now=now)
    assert not store.models.save("m1", TaskKind.REVIEW, Document(id="m1", weights={}), now=now)
    assert store.models.get("m1", Document) == one
    assert store.models.get("m2", Document) is None


def test_one_model_of_a_kind_is_in_force(store: Store, now: datetime) -> None:
    """Another one takes its place; the other kind's stays."""
    for name, kind in (("m1", TaskKind.REVIEW), ("m2", TaskKind.REVIEW), ("m3", TaskKind.REPAIR)):
        store.models.save(name, kind, Document(id=name, weights={}), now=now + timedelta(seconds=int(name[1])))
    for name, kind in (("m1", TaskKind.REVIEW), ("m3", TaskKind.REPAIR), ("m2", TaskKind.REVIEW)):
        store.models.activate(name, kind)
    assert [(model.id, active) for model, active in store.models.all(Document)] == [
        ("m3", True),
        ("m2", True),
        ("m1", False),
    ]
    assert store.models.deactivate(TaskKind.REVIEW)
    assert not store.models.deactivate(TaskKind.REVIEW)
    assert store.models.active(TaskKind.REVIEW, Document) is None


def test_what_is_not_there_puts_nothing_out_of_force(store: Store, now: datetime) -> None:
    """A wrong id, or one of the other kind, is refused, and the model in force stays."""
    store.models.save("m1", TaskKind.REVIEW, Document(id="m1", weights={}), now=now)
    store.models.activate("m1", TaskKind.REVIEW)
    for name, kind in (("m2", TaskKind.REVIEW), ("m1", TaskKind.REPAIR)):
        with pytest.raises(StoreError, match=f"no reward model {name}"):
            store.models.activate(name, kind)
    assert store.models.active(TaskKind.REVIEW, Document) == Document(id="m1", weights={})


def test_only_decisions_that_somebody_heard_of_are_read(
    store: Store, decide: Callable[..., Decision], react: Callable[..., Signal], now: datetime
) -> None:
    """Newest first, of one kind, since a time and so many at most."""
    made = [decide(f"d{n}", created_at=now + timedelta(hours=n)) for n in range(4)]
    store.ledger.append_decisions(made)
    for n in (0, 1, 3):
        store.ledger.append_signal(react(f"s{n}", f"d{n}"), [])
    assert [d.id for d in store.ledger.with_feedback(TaskKind.REPAIR)] == ["d3", "d1", "d0"]
    assert [d.id for d in store.ledger.with_feedback(TaskKind.REPAIR, limit=1)] == ["d3"]
    assert [d.id for d in store.ledger.with_feedback(TaskKind.REPAIR, since=made[1].created_at)] == ["d3", "d1"]
    assert store.ledger.with_feedback(TaskKind.REVIEW) == []
