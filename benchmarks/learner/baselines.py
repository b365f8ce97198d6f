"""The baseline agents of the textbooks, by name: what the levelled table is compared with. They choose nothing for users.

Each learns one number a (key, strategy); `key` names a row of the table, such as an error type.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol


class BaselineAgent(Protocol):
    """Chooses, and learns from rewards within [0, 1]."""

    def choose(self, key: Hashable, available: Sequence[str], rng: random.Random) -> str:
        """One of `available`, which is not empty."""

    def learn(self, key: Hashable, strategy: str, reward: float, *, following: Sequence[str] = ()) -> None:
        """Learn a reward; `following` is what can be chosen next in the same episode, nothing at its end."""


@dataclass(slots=True)
class ValueLearner:
    """Q(s, a) += step * (r + gamma * max Q(s', .) - Q(s, a)) (Watkins 1989), epsilon-greedy.

    Without `alpha` the step is 1/n, which makes Q an average. `epsilon` is multiplied by `decay` at every choice; the state
    is the key alone, so that s' is s.
    """

    alpha: float | None = None
    gamma: float = 0.0
    epsilon: float = 0.1
    decay: float = 1.0
    q: defaultdict[tuple[Hashable, str], float] = field(default_factory=lambda: defaultdict(float))
    count: defaultdict[tuple[Hashable, str], int] = field(default_factory=lambda: defaultdict(int))

    def choose(self, key: Hashable, available: Sequence[str], rng: random.Random) -> str:
        """The best, or with probability `epsilon` anything (Sutton and Barto 2018, section 2.4)."""
        share, self.epsilon = self.epsilon, self.epsilon * self.decay
        if rng.random() < share:
            return rng.choice(available)
        best = max(self.q[key, name] for name in available)
        return rng.choice([name for name in available if self.q[key, name] == best])

    def learn(self, key: Hashable, strategy: str, reward: float, *, following: Sequence[str] = ()) -> None:
        """Move a step towards the reward and what may follow."""
        self.count[key, strategy] += 1
        step = self.alpha or 1.0 / self.count[key, strategy]
        target = reward + self.gamma * max((self.q[key, name] for name in following), default=0.0)
        self.q[key, strategy] += step * (target - self.q[key, strategy])


@dataclass(slots=True)
class UpperConfidence(ValueLearner):
    """The best mean plus its confidence bound, `width` * sqrt(ln t / n) (UCB1, Auer, Cesa-Bianchi and Fischer 2002)."""

    width: float = 0.5**0.5

    def choose(self, key: Hashable, available: Sequence[str], rng: random.Random) -> str:
        """An untried one comes first."""
        counts = {name: self.count[key, name] for name in available}
        untried = [name for name, count in counts.items() if not count]
        if untried:
            return rng.choice(untried)
        known = math.log(max(sum(counts.values()), 2))
        return max(available, key=lambda name: self.q[key, name] + self.width * math.sqrt(known / counts[name]))


@dataclass(slots=True)
class FlatThompson(ValueLearner):
    """A draw from a Beta posterior of the one reward each (Thompson 1933; fractions as in Agrawal and Goyal 2012)."""

    def choose(self, key: Hashable, available: Sequence[str], rng: random.Random) -> str:
        """The highest draw."""
        rows = {name: (self.count[key, name], self.count[key, name] * self.q[key, name]) for name in available}
        return max(rows, key=lambda name: rng.betavariate(1 + rows[name][1], 1 + rows[name][0] - rows[name][1]))


AGENTS: Mapping[str, Callable[[], BaselineAgent]] = MappingProxyType(
    {
        "epsilon-greedy": ValueLearner,
        "q-learning": lambda: ValueLearner(alpha=0.1, gamma=0.9, epsilon=0.2),
        "q-learning-decaying": lambda: ValueLearner(alpha=0.1, gamma=0.9, epsilon=0.5, decay=0.999),
        "ucb": UpperConfidence,
        "flat-thompson": FlatThompson,
    }
)
"""The agents by the names that the benchmark uses."""
