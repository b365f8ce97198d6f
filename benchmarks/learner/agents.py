"""Who plays: Apprentice's learner as it is in production, the classical agents, chance, and one that knows the truth."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.learner import baselines
from benchmarks.learner.world import VIEW, Case, Floats, Plan, World
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
    period_of,
)
from memory.policy.learner import USUAL, Learner
from memory.policy.q_table import PRESENT, Remembered
from memory.rewards import repair_components
from memory.store import Store, evidence, pools

NOW = datetime(2026, 1, 1, tzinfo=UTC)

UNLIKE = 0.4
"""Cosine below which two cases are not alike."""

HALF_LIFE = 2000
"""So many attempts later a remembered case says half as much: strategies and code change."""

ATTEMPT = evidence.HALF_LIFE / HALF_LIFE
"""The time of an attempt, with which the table's evidence decays as fast: some eleven a day."""

HALF = 0.5
"""The reward of a proof that is not judged yet, for agents that learn one number: what they learn later replaces nothing."""


class Player(Protocol):
    """Chooses strategies by number, and hears what came of them."""

    def choose(self, case: Case, tried: Sequence[int], mode: int) -> int:
        """What to try next; `mode` is what the last attempt left the failure in, 0 at first."""

    def proved(self, case: Case, strategy: int, tried: Sequence[int], mode: int, *, proven: bool) -> None:
        """What the tests showed at once; `tried` holds what was tried before."""

    def judged(self, case: Case, strategy: int, *, accepted: bool) -> None:
        """A later judgement of something proven."""


class Chance:
    """Tries anything that was not tried."""

    def __init__(self, world: World, seed: int) -> None:
        self._strategies = world.structure.strategies
        self._rng = random.Random(f"{seed}:player")

    def choose(self, case: Case, tried: Sequence[int], mode: int) -> int:  # noqa: ARG002
        return self._rng.choice([i for i in range(self._strategies) if i not in tried])

    def proved(self, case: Case, strategy: int, tried: Sequence[int], mode: int, *, proven: bool) -> None:
        """Learns nothing."""

    def judged(self, case: Case, strategy: int, *, accepted: bool) -> None:
        """Learns nothing."""


class Oracle(Chance):
    """Knows every chance, and plans with them."""

    def __init__(self, world: World, seed: int) -> None:
        super().__init__(world, seed)
        self._world = world

    def choose(self, case: Case, tried: Sequence[int], mode: int) -> int:
        s = self._world.structure
        if not tried:
            truth = (self._world.proof(case), self._world.acceptance(case), self._world.ways(case))
            self._plan = Plan(*truth, s.attempts, s.attempt_cost)
        return int(np.argmax(self._plan.q(tried, mode)))


class Classical(Chance):
    """A classical agent: one row for each error type, one reward. With `repeats` it may try again what failed."""

    def __init__(self, world: World, seed: int, name: str, *, repeats: bool = False) -> None:
        super().__init__(world, seed)
        self._attempts = world.structure.attempts
        self._cost = world.structure.attempt_cost
        self._agent = baselines.AGENTS[name]()
        self._repeats = repeats
        self._last: tuple[baselines.Row, float] | None = None
        self._proven: dict[int, baselines.Row] = {}

    def choose(self, case: Case, tried: Sequence[int], mode: int) -> int:  # noqa: ARG002
        """Learn of the last attempt, now that it is known what it led to, and choose."""
        rows = [(case.error_type, i) for i in range(self._strategies) if self._repeats or i not in tried]
        if self._last:
            self._agent.learn(*self._last, following=rows)
        self._last = None
        return self._agent.choose(rows, self._rng)[1]

    def proved(self, case: Case, strategy: int, tried: Sequence[int], mode: int, *, proven: bool) -> None:  # noqa: ARG002
        """A proof, and the last attempt, lead to nothing; of another the next choice tells what it led to."""
        row = (case.error_type, strategy)
        reward = max(HALF * proven - self._cost, 0.0)
        if proven or len(tried) + 1 == self._attempts:
            self._agent.learn(row, reward)
        else:
            self._last = (row, reward)

    def judged(self, case: Case, strategy: int, *, accepted: bool) -> None:
        """One more reward for the same row."""
        self._agent.learn((case.error_type, strategy), float(accepted))


class Hierarchical(Chance):
    """Thompson sampling in a linear model of mixed effects (Hong, Kveton, Zaheer and Ghavamzadeh 2022), one a strategy.

    Its effects are those of all failures, the family, the error type, the repository and the mode, with normal priors of
    `spread`; proof and acceptance apart, the value is their product. Spread and noise were chosen in the worlds for tuning.
    """

    def __init__(self, world: World, seed: int, *, spread: float = 0.1, noise: float = 0.2) -> None:
        super().__init__(world, seed)
        s = world.structure
        self._sizes = (1, s.families, s.error_types, s.repositories, s.repositories * s.error_types, s.modes + 1)
        self._repeated = s.error_types
        self._starts = np.cumsum((0, *self._sizes[:-1]))
        size = sum(self._sizes)
        self._noise = noise
        self._covariance = np.tile(spread**2 * np.eye(size), (2, self._strategies, 1, 1))
        self._mean = np.zeros((2, self._strategies, size))
        self._mean[0, :, 0], self._mean[1, :, 0] = 0.25, 0.5
        self._draws = np.random.default_rng([seed, 5])

    def _features(self, case: Case, mode: int) -> NDArray[np.intp]:
        pair = case.repository * self._repeated + case.error_type
        here = (0, case.family, case.error_type, case.repository, pair, mode)
        return np.asarray(self._starts + np.array(here), dtype=np.intp)

    def choose(self, case: Case, tried: Sequence[int], mode: int) -> int:
        """The highest draw of the product."""
        on = self._features(case, mode)
        mean = self._mean[:, :, on].sum(axis=2)
        deviation = np.sqrt(self._covariance[:, :, on[:, np.newaxis], on].sum(axis=(2, 3)))
        drawn = np.clip(self._draws.normal(mean, deviation), 0.0, 1.0) + 1e-6 * mean
        value = drawn.prod(axis=0)
        value[list(tried)] = -np.inf
        return int(np.argmax(value))

    def _learn(self, model: int, case: Case, strategy: int, mode: int, reward: float) -> None:
        """Exact, by one step of a Kalman filter."""
        on = self._features(case, mode)
        covariance, mean = self._covariance[model, strategy], self._mean[model, strategy]
        gain = covariance[:, on].sum(axis=1)
        step = gain / (gain[on].sum() + self._noise**2)
        mean += step * (reward - mean[on].sum())
        covariance -= np.outer(step, gain)

    def proved(self, case: Case, strategy: int, tried: Sequence[int], mode: int, *, proven: bool) -> None:  # noqa: ARG002
        """One observation of the model of proofs."""
        self._learn(0, case, strategy, mode, float(proven))

    def judged(self, case: Case, strategy: int, *, accepted: bool) -> None:
        """One observation of the model of acceptance."""
        self._learn(1, case, strategy, 0, float(accepted))


def maintainer_of(repository: str) -> Actor:
    """Every repository has one, who teaches nowhere else."""
    return Actor(id=int(repository.removeprefix("r")) + 1, login=f"maintainer-of-{repository}")


@dataclass(slots=True)
class CellEvidence:
    """One cell of the table: its rows, and what they make in a period, until a row is added."""

    rows: dict[evidence.EvidenceKey, evidence.Sum] = field(default_factory=dict)
    period: int = pools.NEVER
    sums: dict[evidence.Contributor, evidence.Sum] = field(default_factory=dict)
    whole: evidence.Pool = field(default_factory=evidence.Pool)
    own: dict[str, evidence.Pool] = field(default_factory=dict)

    def reaching(self, repository: str, factor: Factor, period: int) -> Cell | None:
        """See `pools.read`."""
        if self.period != period:
            self.period, self.sums, self.own = period, evidence.decayed(self.rows, period), {}
            self.whole = evidence.pool_of_all(self.sums)
        own = self.own.get(repository)
        if own is None:
            own = evidence.pool_of_one(
                {contributor: each for contributor, each in self.sums.items() if contributor[0] == repository}
            )
            self.own[repository] = own
        known = evidence.sums_for(evidence.QUORUM, factor is Factor.ACCEPTANCE, *self.whole, *own)
        if known is None:
            return evidence.cell_for(self.sums, repository, factor, evidence.QUORUM)
        return evidence.cell_of(*known)


class Table:
    """The part of the ledger that a learner uses, in memory: a life has some ten thousand decisions."""

    def __init__(self) -> None:
        self.spots: defaultdict[Level, dict[tuple[str, Factor], CellEvidence]] = defaultdict(dict)
        self.decisions: dict[str, Decision] = {}
        self.ledger = self

    def append_decision(self, decision: Decision) -> bool:
        """See `Ledger`."""
        return self.decisions.setdefault(decision.id, decision) is decision

    def decision(self, decision_id: str) -> Decision | None:
        """See `Ledger`."""
        return self.decisions.get(decision_id)

    def taught(self, _actor: int, _label: str, _since: datetime, _kinds: object) -> tuple[int, int]:
        """See `Ledger`. Nobody teaches too much here: all of it happens at one moment."""
        return 0, 0

    def append_outcome(self, _outcome: Outcome, contributions: Iterable[Contribution]) -> bool:
        """See `Ledger`."""
        return self._add(contributions)

    def append_signal(self, _signal: Signal, contributions: Iterable[Contribution]) -> bool:
        """See `Ledger`."""
        return self._add(contributions)

    def _add(self, contributions: Iterable[Contribution]) -> bool:
        for part in contributions:
            spot = self.spots[part.level].setdefault((part.strategy, part.factor), CellEvidence())
            entry = (part.repository, part.teacher, part.period)
            weight, value = spot.rows.get(entry, (0, 0))
            spot.rows[entry], spot.period = (weight + part.weight, value + part.value), pools.NEVER
        return True

    def cells(
        self,
        levels: Sequence[Level],
        *,
        repository: str,
        quorum: int,  # noqa: ARG002  the default's
        at: datetime,
    ) -> Mapping[tuple[Level, str, Factor], Cell]:
        """See `Ledger`."""
        period = period_of(at)
        found = {
            (level, strategy, factor): spot.reaching(repository, factor, period)
            for level in levels
            for (strategy, factor), spot in self.spots[level].items()
        }
        return {key: cell for key, cell in found.items() if cell is not None}


class Ours:
    """The learner of production over a table in memory, with or without remembered cases as evidence."""

    def __init__(self, world: World, seed: int, *, neighbours: int = 0, version: str = PRESENT.version) -> None:
        self._structure = world.structure
        self._names = [str(i) for i in range(world.structure.strategies)]
        ids = count()
        self._learner = Learner(
            cast("Store", Table()),
            random.Random(f"{seed}:player"),
            lambda: NOW + self._known * ATTEMPT,
            control_share=0.0,
            policy_version=version,
            new_id=lambda: str(next(ids)),
        )
        self._decision: Decision | None = None
        self._proven: dict[int, str] = {}
        self._neighbours = neighbours
        most = world.structure.episodes * world.structure.attempts
        self._views: Floats = np.zeros((most, VIEW))
        self._tried = np.zeros(most, dtype=np.intp)
        self._surprise = np.zeros(most)
        self._known = 0

    def choose(self, case: Case, tried: Sequence[int], mode: int) -> int:
        """What the learner decides."""
        state = State(
            kind=TaskKind.REPAIR,
            repository=f"r{case.repository}",
            label=f"E{case.error_type}",
            family=f"F{case.family}",
            tried=tuple(str(i) for i in tried),
            after=f"mode {mode}" if tried else "",
        )
        self._decision = self._learner.decide(
            "task",
            state,
            self._names,
            arm=Arm.LEARNED,
            prior={},
            evidence=self._evidence(case),
            attempts=self._structure.attempts - len(tried),
        )
        return int(self._decision.chosen)

    def _evidence(self, case: Case) -> dict[str, Remembered]:
        """The nearest cases, those that are hardly alike left out, older ones less; summed as in `q_table.summed`."""
        known = self._known
        if not self._neighbours or not known:
            return {}
        nearness = (self._views[:known] @ case.view - UNLIKE) / (1.0 - UNLIKE)
        nearest = np.argpartition(-nearness, min(self._neighbours, known) - 1)[: self._neighbours]
        near = nearest[nearness[nearest] > 0.0]
        weight = np.minimum(nearness[near], 1.0) * 0.5 ** ((known - near) / HALF_LIFE)
        sums = (
            np.bincount(self._tried[near], each, minlength=len(self._names)).tolist()
            for each in (weight, weight * self._surprise[near])
        )
        return {name: Remembered(weight=w, gain=gain) for name, w, gain in zip(self._names, *sums, strict=True)}

    def proved(self, case: Case, strategy: int, tried: Sequence[int], mode: int, *, proven: bool) -> None:  # noqa: ARG002
        """Conclude, and remember the case."""
        assert self._decision is not None, "something was chosen"
        components = repair_components(
            failing_before=1, fixed=int(proven), broken=0, moved=False, proven=proven, patch_lines=2, candidates=20
        )
        self._learner.conclude(self._decision, components)
        self._views[self._known], self._tried[self._known] = case.view, strategy
        self._surprise[self._known] = proven - float(self._decision.features[USUAL])
        self._known += 1
        if proven:
            self._proven[case.number] = self._decision.id

    def judged(self, case: Case, strategy: int, *, accepted: bool) -> None:  # noqa: ARG002  the decision tells
        """The repository's maintainer merges or closes."""
        kind = SignalKind.FIX_MERGED if accepted else SignalKind.FIX_CLOSED
        decision = self._proven[case.number]
        maintainer = maintainer_of(f"r{case.repository}")
        self._learner.record_signal(decision, kind, maintainer, Permission.WRITE, f"merge:{decision}")
