"""The agents of the textbooks, by name: what the levelled table is compared with. Each learns one number a (key, strategy).

None of them knows levels, two factors, or with which probability it chose; they are for comparison, and choose nothing
for people. `key` is whatever a row of the table stands for, such as an error type.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol


class Agent(Protocol):
    """Chooses, and learns from rewards within [0, 1]."""

    def choose(self, key: Hashable, available: Sequence[str], rng: random.Random) -> str:
        """One of `available`, which is not empty."""

    def learn(self, key: Hashable, strategy: str, reward: float, *, following: Sequence[str] = ()) -> None:
        """Take in a reward; `following` is what can be chosen next in the same episode, nothing at its end."""


@dataclass(slots=True)
class _Mean:
    count: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0


@dataclass(slots=True)
class _Averages:
    rows: defaultdict[tuple[Hashable, str], _Mean] = field(default_factory=lambda: defaultdict(_Mean))

    def learn(self, key: Hashable, strategy: str, reward: float, *, following: Sequence[str] = ()) -> None:  # noqa: ARG002
        """Take in a reward. What follows is not looked at: these are bandits."""
        row = self.rows[key, strategy]
        row.count += 1
        row.total += reward


@dataclass(slots=True)
class EpsilonGreedy(_Averages):
    """The best average reward, or with probability `epsilon` anything (Sutton and Barto 2018, section 2.4)."""

    epsilon: float = 0.1

    def choose(self, key: Hashable, available: Sequence[str], rng: random.Random) -> str:
        """Greedy but for a share."""
        return _greedy(available, lambda name: self.rows[key, name].mean, self.epsilon, rng)


@dataclass(slots=True)
class UpperConfidence(_Averages):
    """The best mean plus its confidence bound, `width` * sqrt(ln t / n) (UCB1, Auer, Cesa-Bianchi and Fischer 2002)."""

    width: float = 0.5**0.5

    def choose(self, key: Hashable, available: Sequence[str], rng: random.Random) -> str:
        """What was never tried comes first."""
        rows = {name: self.rows[key, name] for name in available}
        untried = [name for name, row in rows.items() if not row.count]
        if untried:
            return rng.choice(untried)
        told = math.log(max(sum(row.count for row in rows.values()), 2))
        return max(rows, key=lambda name: rows[name].mean + self.width * math.sqrt(told / rows[name].count))


@dataclass(slots=True)
class FlatThompson(_Averages):
    """A draw from a Beta posterior of the one reward each (Thompson 1933; fractions as in Agrawal and Goyal 2012)."""

    def choose(self, key: Hashable, available: Sequence[str], rng: random.Random) -> str:
        """The highest draw."""
        rows = {name: self.rows[key, name] for name in available}
        return max(
            rows, key=lambda name: rng.betavariate(1 + rows[name].total, 1 + rows[name].count - rows[name].total)
        )


@dataclass(slots=True)
class QLearning:
    """Q(s, a) += alpha * (r + gamma * max Q(s', .) - Q(s, a)) (Watkins 1989), epsilon-greedy.

    `epsilon` is multiplied by `decay` at every choice; the state is the key alone, so that s' is s.
    """

    alpha: float = 0.1
    gamma: float = 0.9
    epsilon: float = 0.2
    decay: float = 1.0
    q: defaultdict[tuple[Hashable, str], float] = field(default_factory=lambda: defaultdict(float))

    def choose(self, key: Hashable, available: Sequence[str], rng: random.Random) -> str:
        """Greedy but for a share."""
        share, self.epsilon = self.epsilon, self.epsilon * self.decay
        return _greedy(available, lambda name: self.q[key, name], share, rng)

    def learn(self, key: Hashable, strategy: str, reward: float, *, following: Sequence[str] = ()) -> None:
        """Move a step towards the reward and what may follow."""
        target = reward + self.gamma * max((self.q[key, name] for name in following), default=0.0)
        self.q[key, strategy] += self.alpha * (target - self.q[key, strategy])


AGENTS: Mapping[str, Callable[[], Agent]] = MappingProxyType(
    {
        "epsilon-greedy": EpsilonGreedy,
        "q-learning": QLearning,
        "q-learning-decaying": lambda: QLearning(epsilon=0.5, decay=0.999),
        "ucb": UpperConfidence,
        "flat-thompson": FlatThompson,
    }
)
"""The agents by the names that benchmarks and evaluations know them by."""


def _greedy(available: Sequence[str], worth: Callable[[str], float], epsilon: float, rng: random.Random) -> str:
    if rng.random() < epsilon:
        return rng.choice(available)
    best = max(map(worth, available))
    return rng.choice([name for name in available if worth(name) == best])
