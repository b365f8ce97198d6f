"""Who plays: Apprentice's learner as it is in production, the classical agents, chance, and one that knows the truth."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Protocol, cast

import numpy as np

from benchmarks.learner import baselines
from benchmarks.learner.world import VIEW, Case, Floats, World, best_first
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
from memory.policy.learner import USUAL, Learner
from memory.policy.q_table import PRESENT, Neighbour
from memory.rewards import repair_components
from memory.store import Store, totals

NOW = datetime(2026, 1, 1, tzinfo=UTC)

UNLIKE = 0.4
"""Cosine below which two cases are not alike."""

HALF_LIFE = 2000
"""So many attempts later a remembered case says half as much: strategies and code change."""

HALF = 0.5
"""The reward of a proof that nobody judged yet, for agents that learn one number: what they are told later replaces nothing."""


class Player(Protocol):
    """Chooses strategies by number, and hears what came of them."""

    def choose(self, case: Case, tried: Sequence[int]) -> int:
        """What to try next."""

    def proved(self, case: Case, strategy: int, tried: Sequence[int], *, proven: bool) -> None:
        """What the tests said at once; `tried` holds what was tried before."""

    def judged(self, case: Case, strategy: int, *, accepted: bool) -> None:
        """What somebody said later of something proven."""


class Chance:
    """Tries anything that was not tried."""

    def __init__(self, world: World, seed: int) -> None:
        self._strategies = world.structure.strategies
        self._rng = random.Random(f"{seed}:player")

    def choose(self, case: Case, tried: Sequence[int]) -> int:  # noqa: ARG002
        return self._rng.choice([i for i in range(self._strategies) if i not in tried])

    def proved(self, case: Case, strategy: int, tried: Sequence[int], *, proven: bool) -> None:
        """Learns nothing."""

    def judged(self, case: Case, strategy: int, *, accepted: bool) -> None:
        """Learns nothing."""


class Oracle(Chance):
    """Knows every chance, and plans with them."""

    def __init__(self, world: World, seed: int) -> None:
        super().__init__(world, seed)
        self._world = world

    def choose(self, case: Case, tried: Sequence[int]) -> int:
        s = self._world.structure
        left = [i for i in range(s.strategies) if i not in tried]
        proof, acceptance = self._world.proof(case)[left], self._world.acceptance(case)[left]
        return left[best_first(proof, acceptance, s.attempts - len(tried), s.attempt_cost)]


class Classical:
    """A classical agent: one row for each error type, one reward. Textbook ones may try again what failed."""

    def __init__(self, world: World, seed: int, name: str) -> None:
        self._names = [str(i) for i in range(world.structure.strategies)]
        self._attempts = world.structure.attempts
        self._cost = world.structure.attempt_cost
        self._agent = baselines.AGENTS[name]()
        self._rng = random.Random(f"{seed}:player")

    def choose(self, case: Case, tried: Sequence[int]) -> int:  # noqa: ARG002
        return int(self._agent.choose(case.error_type, self._names, self._rng))

    def proved(self, case: Case, strategy: int, tried: Sequence[int], *, proven: bool) -> None:
        over = proven or len(tried) + 1 == self._attempts
        reward = HALF * proven - self._cost
        self._agent.learn(case.error_type, str(strategy), max(reward, 0.0), following=() if over else self._names)

    def judged(self, case: Case, strategy: int, *, accepted: bool) -> None:
        self._agent.learn(case.error_type, str(strategy), float(accepted))


def maintainer_of(repository: str) -> Actor:
    """Every repository has one, who teaches nowhere else."""
    return Actor(id=int(repository.removeprefix("r")) + 1, login=f"maintainer-of-{repository}")


class Table:
    """The part of the ledger that a learner uses, in memory: a life has some ten thousand decisions."""

    def __init__(self) -> None:
        self.sums: defaultdict[Level, totals.Sums] = defaultdict(dict)
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
            totals.fold(self.sums[part.level], [part])
        return True

    def cells(
        self,
        levels: Sequence[Level],
        *,
        repository: str,
        quorum: int,  # noqa: ARG002  the default's
    ) -> Mapping[tuple[Level, str, Factor], Cell]:
        """See `Ledger`."""
        found = {
            (level, strategy, Factor(factor)): totals.reaching(rows, repository, Factor(factor), totals.QUORUM)
            for level in levels
            for (_, _, strategy, factor), rows in self.sums[level].items()
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
            lambda: NOW,
            control_share=0.0,
            policy_version=version,
            new_id=lambda: str(next(ids)),
        )
        self._decision: Decision | None = None
        self._proven: dict[int, str] = {}
        self._neighbours = neighbours
        self._views: Floats = np.zeros((world.structure.episodes * world.structure.attempts, VIEW))
        self._remembered: list[tuple[str, bool, float]] = []

    def choose(self, case: Case, tried: Sequence[int]) -> int:
        """What the learner decides."""
        state = State(
            kind=TaskKind.REPAIR,
            repository=f"r{case.repository}",
            label=f"E{case.error_type}",
            family=f"F{case.family}",
            tried=tuple(str(i) for i in tried),
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

    def _evidence(self, case: Case) -> list[Neighbour]:
        """The nearest cases, those that are hardly alike left out, older ones less."""
        known = len(self._remembered)
        if not self._neighbours or not known:
            return []
        nearness = (self._views[:known] @ case.view - UNLIKE) / (1.0 - UNLIKE)
        nearest = np.argpartition(-nearness, min(self._neighbours, known) - 1)[: self._neighbours]
        return [
            Neighbour(
                strategy=strategy,
                success=success,
                similarity=float(nearness[i]) * 0.5 ** ((known - i) / HALF_LIFE),
                expected=expected,
            )
            for i in nearest.tolist()
            if nearness[i] > 0.0
            for strategy, success, expected in [self._remembered[i]]
        ]

    def proved(self, case: Case, strategy: int, tried: Sequence[int], *, proven: bool) -> None:  # noqa: ARG002
        """Conclude, and remember the case."""
        assert self._decision is not None, "something was chosen"
        components = repair_components(
            failing_before=1, fixed=int(proven), broken=0, moved=False, proven=proven, patch_lines=2, candidates=20
        )
        self._learner.conclude(self._decision, components)
        self._views[len(self._remembered)] = case.view
        self._remembered.append((str(strategy), proven, float(self._decision.features[USUAL])))
        if proven:
            self._proven[case.number] = self._decision.id

    def judged(self, case: Case, strategy: int, *, accepted: bool) -> None:  # noqa: ARG002  the decision tells
        """The repository's maintainer merges or closes."""
        kind = SignalKind.FIX_MERGED if accepted else SignalKind.FIX_CLOSED
        decision = self._proven[case.number]
        maintainer = maintainer_of(f"r{case.repository}")
        self._learner.record_signal(decision, kind, maintainer, Permission.WRITE, f"merge:{decision}")
