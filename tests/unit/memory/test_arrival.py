"""Whatever the order in which outcomes, signals and retractions arrive, the table is the same."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.model import Actor, Arm, Decision, Outcome, Permission, Signal, SignalKind, State, TaskKind
from memory.rewards import (
    contributions_of_feedback,
    contributions_of_outcome,
    contributions_of_outcomes,
    contributions_of_signal,
)
from tests.databases import migrated_store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
Entry = tuple[Decision, Outcome | Signal]


def decision(number: int) -> Decision:
    kind = TaskKind.REVIEW if number % 4 == 3 else TaskKind.REPAIR
    state = State(kind=kind, repository=f"r{number % 3}", label=f"E{number % 2}", family="f")
    return Decision(
        id=f"d{number}", task_id="t", state=state, available=("a",), probabilities=(1.0,), chosen="a",
        arm=Arm.LEARNED, policy_version="v", created_at=NOW,
    )  # fmt: skip


def signal(about: Decision, number: int, teacher: int, weight: float, retracts: str) -> Signal:
    return Signal(
        id=f"{'r' if retracts else 's'}{number}", decision_id=about.id, kind=list(SignalKind)[number % len(SignalKind)],
        actor=Actor(id=teacher, login="x"), permission=Permission.WRITE, source=f"e:{number}", created_at=NOW,
        weights_version="1", weight=weight, retracts=retracts,
    )  # fmt: skip


@st.composite
def histories(draw: st.DrawFn) -> list[Entry]:
    """Outcomes, signals of several people, and retractions of some of them, in any order: retractions may come first."""
    made = [decision(number) for number in range(6)]
    entries: list[Entry] = [
        (about, Outcome(decision_id=about.id, components={}, target=draw(st.floats(0, 1)), weights_version="1", created_at=NOW))
        for about in made
        if draw(st.booleans())
    ]  # fmt: skip
    for number in range(draw(st.integers(0, 12))):
        about, teacher, weight = draw(st.sampled_from(made)), draw(st.integers(1, 3)), draw(st.floats(0, 1))
        entries.append((about, signal(about, number, teacher, weight, "")))
        if draw(st.booleans()):
            entries.append((about, signal(about, number, teacher, weight, f"s{number}")))
    return draw(st.permutations(entries))


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_any_order_of_arrival_gives_the_same_table(entries: list[Entry]) -> None:
    """The table that grew in one order, the one that grew in another, and the one rebuilt have one digest."""
    digests = set()
    with tempfile.TemporaryDirectory() as home:
        for name, order in (("given", entries), ("sorted", sorted(entries, key=lambda each: repr(each[1])))):
            with migrated_store(Path(home, f"{name}.db")) as store:
                for each in {about.id: about for about, _ in entries}.values():
                    store.ledger.append_decision(each)
                for about, entry in order:
                    if isinstance(entry, Outcome):
                        store.ledger.append_outcome(entry, contributions_of_outcome(about, entry))
                    else:
                        store.ledger.append_signal(entry, contributions_of_signal(about, entry))
                digests.add(store.ledger.cells_digest())
                store.ledger.rebuild(contributions_of_outcomes, contributions_of_feedback)
                digests.add(store.ledger.cells_digest())
    assert len(digests) == 1
