"""A simulated world of repairs, and logs of it as the ledger would hold them: for the commands that read one."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count

import numpy as np
from numpy.typing import NDArray

from memory.evaluation.off_policy import RunningTable
from memory.model import (
    Actor,
    Arm,
    Decision,
    LoggedDecision,
    Outcome,
    Permission,
    Signal,
    SignalKind,
    State,
    TaskKind,
    period_of,
)
from memory.policy import q_table
from memory.policy.q_table import Parameters
from memory.rewards import contributions_of_outcome, contributions_of_signal

START = datetime(2026, 1, 1, tzinfo=UTC)
STRATEGIES = tuple(f"s{n}" for n in range(6))
LABELS = {f"E{n}": f"F{n % 4}" for n in range(12)}
REPOSITORIES = ("r0", "r1", "r2")
ATTEMPTS = 3
JUDGED = 0.4
CONTROL_SHARE = 0.1
MAINTAINER = Actor(id=1, login="m")
Numbers = NDArray[np.float64]


class World:
    """True chances of proof and acceptance: mostly the family's, a little the error type's and the repository's."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        shape = (len(STRATEGIES),)
        self._family: defaultdict[str, Numbers] = defaultdict(lambda: rng.random(shape) ** 2)
        self._label: defaultdict[str, Numbers] = defaultdict(lambda: rng.random(shape))
        self._local: defaultdict[str, Numbers] = defaultdict(lambda: rng.random(shape))
        self._liked = 0.2 + 0.7 * rng.random(shape)

    def proof(self, state: State, name: str) -> float:
        """How likely a strategy is to be proven."""
        local = self._local[state.repository + state.label]
        mixed = 0.6 * self._family[state.family] + 0.25 * self._label[state.label] + 0.15 * local
        return float(mixed[STRATEGIES.index(name)])

    def acceptance(self, name: str) -> float:
        """How likely a proven one is to be accepted."""
        return float(self._liked[STRATEGIES.index(name)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """A log, and the world it came from."""

    world: World
    log: tuple[LoggedDecision, ...]


class _Author:
    """Writes one log: an episode after the other, with the table that they fill."""

    def __init__(self, world: World, seed: int, version: Parameters) -> None:
        self._world, self._version = world, version
        self._rng = random.Random(seed)
        self._table = RunningTable()
        self._clock = (START + timedelta(minutes=n) for n in count())
        self.log: list[LoggedDecision] = []

    def episode(self, number: int) -> None:
        rng, state = self._rng, self._rng.choice(states())
        arm = Arm.CONTROL if rng.random() < CONTROL_SHARE else Arm.LEARNED
        for _ in range(ATTEMPTS):
            entry = self._decided(number, state, arm)
            self.log.append(entry)
            if entry.outcome is not None and entry.outcome.target == 1.0:
                return
            state = replace(state, tried=(*state.tried, entry.decision.chosen))

    def _decided(self, number: int, state: State, arm: Arm) -> LoggedDecision:
        names, rng = q_table.remaining(state, STRATEGIES), self._rng
        chances = (
            q_table.uniform(names)
            if arm is Arm.CONTROL
            else q_table.choose(
                state, names, self._table.cells(state, period_of(START)), {}, rng, arm=arm, parameters=self._version
            )[0]
        )
        decision = Decision(
            id=f"d{len(self.log)}",
            task_id=f"t{number}",
            state=state,
            available=names,
            probabilities=tuple(chances.values()),
            chosen=q_table.pick(chances, rng),
            arm=arm,
            policy_version=self._version.version,
            created_at=next(self._clock),
        )
        proven = rng.random() < self._world.proof(state, decision.chosen)
        outcome = Outcome(
            decision_id=decision.id,
            components={"suite_green": float(proven)},
            target=float(proven),
            weights_version="1",
            created_at=next(self._clock),
        )
        self._table.add(contributions_of_outcome(decision, outcome))
        signals = (self._said(decision),) if proven and rng.random() < JUDGED else ()
        for signal in signals:
            self._table.add(contributions_of_signal(decision, signal))
        return LoggedDecision(decision=decision, outcome=outcome, signals=signals)

    def _said(self, decision: Decision) -> Signal:
        accepted = self._rng.random() < self._world.acceptance(decision.chosen)
        return Signal(
            id=f"g{decision.id}",
            decision_id=decision.id,
            kind=SignalKind.ACCEPTED if accepted else SignalKind.REJECTED,
            actor=MAINTAINER,
            permission=Permission.WRITE,
            source="s",
            created_at=next(self._clock),
            weights_version="1",
            weight=1.0,
        )


def simulate(world: World, seed: int, tasks: int, version: Parameters) -> Simulated:
    """The log of `tasks` repairs by a version of the policy."""
    author = _Author(world, seed, version)
    for number in range(tasks):
        author.episode(number)
    return Simulated(world=world, log=tuple(author.log))


def states() -> list[State]:
    """Every state that an episode may begin in."""
    return [
        State(kind=TaskKind.REPAIR, repository=repository, label=label, family=family)
        for repository in REPOSITORIES
        for label, family in LABELS.items()
    ]
