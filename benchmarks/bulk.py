"""A ledger of any size, made quickly: repositories with maintainers, error types in families, and what came of repairs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from memory import policy, rewards
from memory.model import (
    Actor,
    Arm,
    Decision,
    Judgement,
    Outcome,
    Permission,
    Signal,
    SignalKind,
    State,
    TaskKind,
    Verdict,
)
from memory.store import Store
from memory.store.bodies import dump
from memory.store.engine import insert_bare
from memory.store.tables import decisions, outcomes, signals

AT = "2026-01-01 00:00:00.000000"
STRATEGIES = tuple(f"strategy-{number}" for number in range(12))
FAMILIES = 6
KINDS = tuple(SignalKind)
WEIGHTS = (1_000_000, 1_000_000, 500_000)

Row = tuple[str | int | float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A world of repositories with maintainers, and error types in families."""

    repositories: int
    labels: int = 25
    teachers: int = 3

    def state(self, rng: random.Random) -> State:
        """A state of a random repository; some error types are much more frequent than others."""
        label = min(int(rng.expovariate(1.0) * self.labels / 4), self.labels - 1)
        return State(
            kind=TaskKind.REPAIR,
            repository=f"owner-{rng.randrange(self.repositories)}/repository",
            label=f"ErrorType{label}",
            family=f"family-{label % FAMILIES}",
        )

    def teacher(self, repository: str, rng: random.Random) -> int:
        """One of a repository's maintainers."""
        return int(repository[6:].partition("/")[0]) * self.teachers + rng.randrange(self.teachers)


@dataclass(frozen=True, slots=True)
class Event:
    """A decision with what the tests said and, for two of three, a person; every fifth of those was taken back."""

    number: int
    judgement: Judgement
    verdict: Verdict | None
    retracted: bool


def history(events: int, scale: Scale, seed: int) -> Iterator[Event]:
    """Outcomes, signals and retractions, `events` of them together; the decisions come on top."""
    rng = random.Random(seed)
    for number in range(events * 5 // 9):
        state, chosen = scale.state(rng), rng.choice(STRATEGIES)
        judgement = Judgement(state=state, chosen=chosen, count=1, target=rng.randrange(1_000_001))
        said = {(rng.choice(KINDS), rng.choice(WEIGHTS)): 1}
        teacher = scale.teacher(state.repository, rng)
        verdict = Verdict(state=state, chosen=chosen, teacher=teacher, said=said) if number % 3 else None
        yield Event(number, judgement, verdict, retracted=number % 15 in (1, 8))


def fill(store: Store, events: int, scale: Scale, seed: int) -> None:
    """Write a whole history past the nouns, each row with a body of the usual size; the table is left to a rebuild."""
    rows: tuple[list[Row], ...] = ([], [], [])
    bodies = [dump(noun) for noun in _samples()]
    for event in history(events, scale, seed):
        rows[0].append(_decision(event, bodies[0]))
        rows[1].append(_outcome(event, bodies[1]))
        rows[2].extend(_signals(event, bodies[2]))
    random.Random(seed).shuffle(rows[2])
    with store.database.writing() as connection:
        for table, each in zip((decisions, outcomes, signals), rows, strict=True):
            insert_bare(connection, table, each)


def _decision(event: Event, body: str) -> Row:
    state, key = event.judgement.state, f"{event.number:016x}"
    task = f"t{event.number // 3}"
    about = (str(state.kind), state.repository, state.label, state.family, state.place)
    return (key, task, "", *about, "learned", event.judgement.chosen, AT, body)


def _outcome(event: Event, body: str) -> Row:
    return (f"{event.number:016x}", event.judgement.target / 1e6, event.judgement.target, AT, body)


def _signals(event: Event, body: str) -> Iterator[Row]:
    if event.verdict is None:
        return
    ((kind, weight),) = event.verdict.said
    who = (event.verdict.teacher, f"teacher-{event.verdict.teacher}", weight, rewards.WEIGHTS_VERSION, AT, body)
    about = (f"{event.number:016x}", str(kind), "comment:1")
    yield (f"s{event.number}", *about, "", *who)
    if event.retracted:
        yield (f"r{event.number}", *about, f"s{event.number}", *who)


def _samples() -> tuple[Decision, Outcome, Signal]:
    """One noun of each kind, for bodies of the usual size."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    state = Scale(repositories=100).state(random.Random(0))
    decision = Decision(
        id="0" * 16, task_id="t" * 16, state=state, available=STRATEGIES,
        probabilities=(1 / len(STRATEGIES),) * len(STRATEGIES), chosen=STRATEGIES[0], arm=Arm.LEARNED,
        policy_version=policy.PRESENT.version, created_at=now, seed=2**52, features={"expected": 1 / 3},
    )  # fmt: skip
    outcome = Outcome(
        decision_id=decision.id, components=dict.fromkeys(rewards.COMPONENT_WEIGHTS, 1 / 3), target=1 / 3,
        weights_version=rewards.WEIGHTS_VERSION, created_at=now,
    )  # fmt: skip
    signal = Signal(
        id="s" * 16, decision_id=decision.id, kind=SignalKind.ACCEPTED, actor=Actor(id=1, login="teacher-1"),
        permission=Permission.WRITE, source="comment:1", created_at=now,
        weights_version=rewards.WEIGHTS_VERSION, weight=1.0,
    )  # fmt: skip
    return decision, outcome, signal
