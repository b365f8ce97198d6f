"""Policies that can be asked what they would have done, by name."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from memory import policy
from memory.model import State
from memory.versions import CONTROL, VERSIONS, Version

DRAWS = 200
"""How often an agent that only chooses is asked, to know with which probabilities it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a policy may know of a choice: nothing of what was chosen, and the table as it stood just before.

    `recorded` are the odds of the version that decided, in the order of `available`; None where the control arm did.
    """

    state: State
    available: tuple[str, ...]
    cells: policy.Cells
    version: str
    recorded: tuple[float, ...] | None
    rng: random.Random


class Target(Protocol):
    """A policy to be estimated. It is led through the log in the order of time, and may learn from it as it goes."""

    def chances(self, situation: Situation) -> Sequence[float]:
        """Its probabilities in the order of what is available; they sum to 1."""

    def learn(self, state: State, chosen: str, reward: float, following: Sequence[str]) -> None:
        """What came of a decision: 1 for a proof, 0 for none, and what could be chosen next."""


class _Taught:
    """A policy that learns from nothing but the table."""

    def learn(self, state: State, chosen: str, reward: float, following: Sequence[str]) -> None:
        """The table has it already."""


@dataclass(frozen=True, slots=True)
class OfVersion(_Taught):
    """A version of the policy. Where it decided itself, its odds are those recorded; elsewhere they are derived anew,
    without the priors and neighbours of then, which the ledger does not hold.
    """

    version: Version

    def chances(self, situation: Situation) -> Sequence[float]:
        if situation.recorded is not None and situation.version == self.version.version:
            return situation.recorded
        names, cells = situation.available, situation.cells
        return list(self.version.chances(situation.state, names, cells, {}, (), situation.rng).values())


@dataclass(frozen=True, slots=True)
class PriorOnly(_Taught):
    """A version on its first day: with an empty table."""

    version: Version

    def chances(self, situation: Situation) -> Sequence[float]:
        return list(self.version.chances(situation.state, situation.available, {}, {}, (), situation.rng).values())


class Control(_Taught):
    """Every strategy alike."""

    def chances(self, situation: Situation) -> Sequence[float]:
        return list(policy.uniform(situation.available).values())


class Greedy(_Taught):
    """Whatever the table thinks best, always; of equals each alike."""

    def chances(self, situation: Situation) -> Sequence[float]:
        estimates = policy.values(situation.state, situation.available, situation.cells, {})
        best = max(estimate.q for estimate in estimates.values())
        share = sum(estimate.q == best for estimate in estimates.values())
        return [(estimate.q == best) / share for estimate in estimates.values()]


class Agent(Protocol):
    """A classical agent: it chooses, and does not say with which probabilities."""

    def choose(self, key: Hashable, available: Sequence[str], rng: random.Random) -> str:
        """One of `available`."""

    def learn(self, key: Hashable, strategy: str, reward: float, *, following: Sequence[str] = ()) -> None:
        """Take in a reward; `following` is what can be chosen next."""


@dataclass(frozen=True, slots=True)
class OfAgent:
    """An agent that learns from this log alone, by error type; its probabilities are the shares of `DRAWS` choices."""

    agent: Agent

    def chances(self, situation: Situation) -> Sequence[float]:
        key, names = situation.state.label, situation.available
        # A copy for each: choosing may change the agent, as where its epsilon decays.
        chosen = Counter(copy.copy(self.agent).choose(key, names, situation.rng) for _ in range(DRAWS))
        return [chosen[name] / DRAWS for name in names]

    def learn(self, state: State, chosen: str, reward: float, following: Sequence[str]) -> None:
        self.agent.learn(state.label, chosen, reward, following=following)


def targets(
    active: str, versions: Mapping[str, Version] = VERSIONS, agents: Mapping[str, Callable[[], Agent]] | None = None
) -> dict[str, Callable[[], Target]]:
    """Every policy that can be evaluated; `present` is the version in use. Each call makes one that has learned nothing."""
    named: dict[str, Callable[[], Target]] = {"present": partial(_of, active, versions), CONTROL: Control}
    named |= {"greedy": Greedy, "prior-only": partial(PriorOnly, list(versions.values())[-1])}
    named |= {name: partial(_of, name, versions) for name in versions}
    return named | {name: partial(_agent, make) for name, make in (agents or {}).items()}


def _agent(make: Callable[[], Agent]) -> Target:
    return OfAgent(make())


def _of(name: str, versions: Mapping[str, Version]) -> Target:
    return Control() if name == CONTROL else OfVersion(versions[name])
