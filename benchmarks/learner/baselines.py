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

Row = tuple[Hashable, int]
"""What a value is learned for: a key, such as an error type, and a strategy."""


class BaselineAgent(Protocol):
    """Chooses, and learns from rewards within [0, 1]."""

    def choose(self, rows: Sequence[Row], rng: random.Random) -> Row:
        """One of `rows`, which is not empty."""

    def learn(self, row: Row, reward: float, *, following: Sequence[Row] = ()) -> None:
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
    q: defaultdict[Row, float] = field(default_factory=lambda: defaultdict(float))
    count: defaultdict[Row, int] = field(default_factory=lambda: defaultdict(int))

    def choose(self, rows: Sequence[Row], rng: random.Random) -> Row:
        """The best, or with probability `epsilon` anything (Sutton and Barto 2018, section 2.4)."""
        share, self.epsilon = self.epsilon, self.epsilon * self.decay
        if rng.random() < share:
            return rng.choice(rows)
        best = max(self.q[row] for row in rows)
        return rng.choice([row for row in rows if self.q[row] == best])

    def learn(self, row: Row, reward: float, *, following: Sequence[Row] = ()) -> None:
        """Move a step towards the reward and what may follow."""
        self.count[row] += 1
        step = self.alpha or 1.0 / self.count[row]
        target = reward + self.gamma * max((self.q[row] for row in following), default=0.0)
        self.q[row] += step * (target - self.q[row])


@dataclass(slots=True)
class UpperConfidence(ValueLearner):
    """The best mean plus its confidence bound, `width` * sqrt(ln t / n) (UCB1, Auer, Cesa-Bianchi and Fischer 2002)."""

    width: float = 0.5**0.5

    def choose(self, rows: Sequence[Row], rng: random.Random) -> Row:
        """An untried one comes first."""
        counts = {row: self.count[row] for row in rows}
        untried = [row for row, count in counts.items() if not count]
        if untried:
            return rng.choice(untried)
        known = math.log(max(sum(counts.values()), 2))
        return max(rows, key=lambda row: self.q[row] + self.width * math.sqrt(known / counts[row]))


@dataclass(slots=True)
class FlatThompson(ValueLearner):
    """A draw from a Beta posterior of the one reward each (Thompson 1933; fractions as in Agrawal and Goyal 2012)."""

    def choose(self, rows: Sequence[Row], rng: random.Random) -> Row:
        """The highest draw."""
        wins = {row: self.count[row] * self.q[row] for row in rows}
        return max(rows, key=lambda row: rng.betavariate(1 + wins[row], 1 + self.count[row] - wins[row]))


@dataclass(slots=True)
class Softmax(ValueLearner):
    """Chances in proportion to exp(Q / temperature) (Sutton and Barto 2018, section 2.8)."""

    temperature: float = 0.05

    def choose(self, rows: Sequence[Row], rng: random.Random) -> Row:
        """A draw from these chances."""
        best = max(self.q[row] for row in rows)
        weights = [math.exp((self.q[row] - best) / self.temperature) for row in rows]
        return rng.choices(rows, weights)[0]


@dataclass(slots=True)
class BayesianQLearning:
    """A normal-gamma belief over the mean and precision of each return (Dearden, Friedman and Russell 1998).

    Choices are by Q-value sampling, updates by moments: of the reward plus `gamma` times the best mean that may follow, with
    that one's second moment. `prior` is (mean, strength, shape, rate).
    """

    gamma: float = 1.0
    prior: tuple[float, float, float, float] = (0.15, 1.0, 2.0, 0.1)
    rows: defaultdict[Row, tuple[float, float, float, float]] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = defaultdict(lambda: self.prior)

    def choose(self, rows: Sequence[Row], rng: random.Random) -> Row:
        """The highest draw."""

        def drawn(row: Row) -> float:
            mean, strength, shape, rate = self.rows[row]
            return rng.gauss(mean, (strength * rng.gammavariate(shape, 1.0 / rate)) ** -0.5)

        return max(rows, key=drawn)

    def learn(self, row: Row, reward: float, *, following: Sequence[Row] = ()) -> None:
        """One observation of the moments of the return."""
        first = second = 0.0
        if following:
            first, strength, shape, rate = max(self.rows[row] for row in following)
            second = first**2 + (strength + 1.0) / strength * rate / (shape - 1.0)
        mean = reward + self.gamma * first
        square = reward**2 + 2.0 * self.gamma * reward * first + self.gamma**2 * second
        old, strength, shape, rate = self.rows[row]
        spread = 0.5 * (square - mean**2) + strength * (mean - old) ** 2 / (2.0 * (strength + 1.0))
        self.rows[row] = (
            (strength * old + mean) / (strength + 1.0), strength + 1.0, shape + 0.5, rate + max(spread, 0.0)
        )  # fmt: skip


AGENTS: Mapping[str, Callable[[], BaselineAgent]] = MappingProxyType(
    {
        "epsilon-greedy": ValueLearner,
        "q-learning": lambda: ValueLearner(alpha=0.1, gamma=0.9, epsilon=0.2),
        "q-learning-decaying": lambda: ValueLearner(alpha=0.1, gamma=0.9, epsilon=0.5, decay=0.999),
        "ucb": UpperConfidence,
        "flat-thompson": FlatThompson,
        "softmax": Softmax,
        "bayesian q-learning": BayesianQLearning,
    }
)
"""The agents by the names that the benchmark uses."""
