"""The learner in a simulated world of repositories, error types and strategies, against choosing uniformly."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import mean

import pytest

from memory import rewards
from memory.model import (
    Actor,
    Arm,
    Cell,
    Contribution,
    Decision,
    Factor,
    Level,
    Outcome,
    Permission,
    Signal,
    SignalKind,
    State,
    TaskKind,
)
from memory.policy import q_table

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STRATEGIES = tuple(f"s{i}" for i in range(8))
LABELS = {f"E{i}": f"F{i % 4}" for i in range(12)}
REPOSITORIES = tuple(f"r{i}" for i in range(5))
ATTEMPTS = 3
MAINTAINER = Actor(id=1, login="m")


def fixed_noise(*names: str) -> float:
    """A number in [0, 1) that depends on the names alone."""
    return int.from_bytes(hashlib.sha256("|".join(names).encode()).digest()[:6], "big") / 2**48


@dataclass
class World:
    """True chances of proof and acceptance: mostly the family's, a little the label's and the repository's."""

    salt: str

    def proof(self, state: State, strategy: str) -> float:
        family = fixed_noise(self.salt, "p", state.family, strategy) ** 2
        label = fixed_noise(self.salt, "p", state.label, strategy)
        local = fixed_noise(self.salt, "p", state.repository, state.label, strategy)
        return 0.6 * family + 0.25 * label + 0.15 * local

    def acceptance(self, state: State, strategy: str) -> float:
        return 0.2 + 0.7 * (
            0.7 * fixed_noise(self.salt, "a", strategy) + 0.3 * fixed_noise(self.salt, "a", state.repository, strategy)
        )


@dataclass
class Table:
    """Sums of contributions, as the ledger keeps them."""

    sums: defaultdict[tuple[Level, str, Factor], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))

    def add(self, contributions: tuple[Contribution, ...]) -> None:
        for c in contributions:
            total = self.sums[(c.level, c.strategy, c.factor)]
            total[0] += c.weight
            total[1] += c.value

    def cells(self) -> dict[tuple[Level, str, Factor], Cell]:
        return {key: Cell(weight=w / 1e6, mean=v / w) for key, (w, v) in self.sums.items() if w}


def run_episode(world: World, table: Table, rng: random.Random, state: State, arm: Arm) -> float:
    """One repair of up to three attempts; 1 when a fix was proven and accepted, less for every attempt before it."""
    for step in range(ATTEMPTS):
        cells = table.cells()
        chances, _ = q_table.choose(state, STRATEGIES, cells, {}, rng, arm=arm, attempts=ATTEMPTS - step)
        chosen = q_table.pick(chances, rng)
        decision = Decision(
            id="d", task_id="t", state=state, available=tuple(chances), probabilities=tuple(chances.values()),
            chosen=chosen, arm=arm, policy_version="v", created_at=NOW,
        )  # fmt: skip
        proven = rng.random() < world.proof(state, chosen)
        after = State(
            kind=state.kind, repository=state.repository, label=state.label, family=state.family,
            tried=(*state.tried, chosen),
        )  # fmt: skip
        components = rewards.repair_components(
            failing_before=1, fixed=int(proven), broken=0, moved=False, proven=proven, patch_lines=2, candidates=20
        )
        outcome = Outcome(
            decision_id="d",
            components=components,
            target=rewards.shaped(components),
            weights_version="1",
            created_at=NOW,
        )
        table.add(rewards.contributions_of_outcome(decision, outcome))
        if proven:
            accepted = rng.random() < world.acceptance(state, chosen)
            signal = Signal(
                id="g", decision_id="d", kind=SignalKind.FIX_MERGED if accepted else SignalKind.FIX_CLOSED,
                actor=MAINTAINER, permission=Permission.WRITE, source="s", created_at=NOW,
                weights_version="1", weight=1.0,
            )  # fmt: skip
            table.add(rewards.contributions_of_signal(decision, signal))
            return float(accepted) * 0.8**step
        state = after
    return 0.0


def live(seed: int, arm: Arm, episodes: int) -> float:
    """Mean reward over the episodes of one world."""
    rng = random.Random(seed)
    world, table = World(salt=str(seed)), Table()
    earned = []
    for _ in range(episodes):
        label = rng.choice(sorted(LABELS))
        state = State(kind=TaskKind.REPAIR, repository=rng.choice(REPOSITORIES), label=label, family=LABELS[label])
        earned.append(run_episode(world, table, rng, state, arm))
    return mean(earned)


@pytest.mark.parametrize("episodes", [400])
@pytest.mark.extended
def test_learning_beats_uniform_choice(episodes: int) -> None:
    """Over several worlds, the learner earns clearly more than the control arm does in the same worlds."""
    gains = [live(seed, Arm.LEARNED, episodes) - live(seed, Arm.CONTROL, episodes) for seed in range(5)]
    assert mean(gains) > 0.03
    assert sum(gain > 0 for gain in gains) >= 4


@pytest.mark.extended
@pytest.mark.slow
def test_a_world_without_differences_gives_no_gain() -> None:
    """Where every strategy is equally good the learner earns what uniform choice does: the yardstick is honest."""

    class Flat(World):
        def proof(self, state: State, strategy: str) -> float:
            return 0.5

        def acceptance(self, state: State, strategy: str) -> float:
            return 0.5

    def earned(seed: int, arm: Arm) -> float:
        rng, table = random.Random(seed), Table()
        state = State(kind=TaskKind.REPAIR, repository="r0", label="E0", family="F0")
        return mean(run_episode(Flat(salt=""), table, rng, state, arm) for _ in range(300))

    gains = [earned(seed, Arm.LEARNED) - earned(seed + 100, Arm.CONTROL) for seed in range(4)]
    assert abs(mean(gains)) < 0.05
