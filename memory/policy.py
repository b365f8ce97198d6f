"""The Q-table: what a strategy is worth in a state, and with which probability to choose it. Pure; the generator is passed in.

A cell holds a sum and a count, so the running average's step size is 1/n: evidence commutes, can be taken back exactly,
and the table can be rebuilt from the ledger bit for bit. That is why the learning target is computed when an outcome is
recorded, and recorded with it, instead of being bootstrapped again at every rebuild.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from memory.model import Arm, Cell, Factor, Level, State
from memory.rewards import clipped, shaped

Cells = Mapping[tuple[Level, str, Factor], Cell]
"""The part of the table that a choice reads; a missing cell has no evidence."""

POLICY_VERSION = "levelled-thompson-1"

GAMMA = 0.3
"""Discount of the next step. Low: a strategy that fails is worth little, however good those are that remain after it."""

PULL: Mapping[str, float] = MappingProxyType({"repository": 8.0, "label": 8.0, "family": 8.0, "global": 4.0})
"""Pseudo-counts by level: how many observations the next level's mean is worth there.

The best of those tried in the simulated world of the tests, where the repository alone learned nothing in 300 episodes.
"""

PROOF_PRIOR = 0.3
ACCEPTANCE_PRIOR = 0.6

FLOOR = 0.1
"""Share of the probability that is spread evenly; it keeps off-policy estimates possible and costs little."""

DRAWS = 400
NEIGHBOUR_WEIGHT = 1.0

_FLOOR_KEPT = 0.2
_FLOOR_HALVES_AT = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """A Beta distribution, by its mean and its strength (the number of observations it is worth)."""

    mean: float
    strength: float

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return float((self.mean * (1.0 - self.mean) / (self.strength + 1.0)) ** 0.5)

    def shape(self) -> tuple[float, float]:
        """Beta's two parameters, kept above 0: a certain belief has no distribution."""
        return max(self.mean * self.strength, 1e-3), max((1.0 - self.mean) * self.strength, 1e-3)

    def with_evidence(self, *, weight: float, value: float) -> Belief:
        """The belief after `weight` more observations whose mean is `value`."""
        strength = self.strength + weight
        return Belief(mean=(self.mean * self.strength + weight * value) / strength, strength=strength)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What is believed of one strategy in one state; `n` is the evidence for its proof at the most specific level."""

    proof: Belief
    acceptance: Belief
    n: float

    @property
    def q(self) -> float:
        """Expected value: how likely a proof is, times how likely people are to accept it."""
        return self.proof.mean * self.acceptance.mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A remembered case: what was tried, whether it was proven, and how near it is, within [0, 1]."""

    strategy: str
    success: bool
    similarity: float


def believe(
    state: State, strategy: str, factor: Factor, cells: Cells, *, prior: float, pull: Mapping[str, float] = PULL
) -> Belief:
    """Empirical-Bayes back-off over the state's levels: each level's mean is pulled to the mean of the next one.

    mean = (sum + m * mean of the next level) / (n + m), with m from `pull` and `prior` below the last level
    (Efron and Morris 1975). What is uncertain is the most specific level, so its count and m make the strength.
    """
    mean, strength = prior, 0.0
    for level in reversed(state.levels()):
        cell = cells.get((level, strategy, factor), Cell(weight=0.0, mean=0.0))
        strength = max(cell.weight, 0.0) + pull[level.scope]
        mean = clipped((max(cell.weight, 0.0) * cell.mean + pull[level.scope] * mean) / strength)
    return Belief(mean=mean, strength=strength)


def values(
    state: State,
    strategies: Sequence[str],
    cells: Cells,
    prior: Mapping[str, float],
    evidence: Sequence[Neighbour] = (),
) -> dict[str, Estimate]:
    """An estimate for each strategy. `prior` holds the mean of proof expected before any evidence, where one is known.

    `evidence` from the nearest remembered cases counts as fractions of an observation of proof.
    """
    return {name: _estimate(state, name, cells, prior.get(name, PROOF_PRIOR), evidence) for name in strategies}


def _estimate(state: State, strategy: str, cells: Cells, prior: float, evidence: Sequence[Neighbour]) -> Estimate:
    proof = believe(state, strategy, Factor.PROOF, cells, prior=prior)
    for neighbour in evidence:
        if neighbour.strategy == strategy:
            weight = NEIGHBOUR_WEIGHT * clipped(neighbour.similarity)
            proof = proof.with_evidence(weight=weight, value=float(neighbour.success))
    here = cells.get((state.levels()[0], strategy, Factor.PROOF))
    return Estimate(
        proof=proof,
        acceptance=believe(state, strategy, Factor.ACCEPTANCE, cells, prior=ACCEPTANCE_PRIOR),
        n=here.weight if here else 0.0,
    )


def draw(beliefs: Sequence[Belief], rng: random.Random, *, draws: int = DRAWS) -> NDArray[np.float64]:
    """`draws` samples of each belief, an array (draws, beliefs). One number is taken from `rng` to seed them."""
    generator = np.random.default_rng(rng.getrandbits(64))
    first, second = np.array([belief.shape() for belief in beliefs]).T
    return generator.beta(first, second, size=(draws, len(beliefs)))


def probabilities(estimates: Mapping[str, Estimate], rng: random.Random, *, floor: float = FLOOR) -> dict[str, float]:
    """Thompson sampling (1933) with known probabilities: the share of draws that each strategy wins, over a floor.

    They sum to 1 and every one is above 0. What is sampled is the product of both factors.
    """
    proof = draw([estimate.proof for estimate in estimates.values()], rng)
    acceptance = draw([estimate.acceptance for estimate in estimates.values()], rng)
    wins = np.bincount(np.argmax(proof * acceptance, axis=1), minlength=len(estimates)) / DRAWS
    evidence = sum(estimate.n for estimate in estimates.values())
    return dict(zip(estimates, with_floor(wins.tolist(), evidence, floor=floor), strict=True))


def with_floor(shares: Sequence[float], evidence: float, *, floor: float = FLOOR) -> list[float]:
    """`shares` mixed with an even spread of `floor`, which shrinks with the evidence to a fifth and never to 0."""
    halving = _FLOOR_HALVES_AT / (_FLOOR_HALVES_AT + max(evidence, 0.0))
    spread = floor * (_FLOOR_KEPT + (1.0 - _FLOOR_KEPT) * halving)
    return [(1.0 - spread) * share + spread / len(shares) for share in shares]


def uniform(strategies: Sequence[str]) -> dict[str, float]:
    """The control arm's probabilities."""
    return {strategy: 1.0 / len(strategies) for strategy in strategies}


def pick(chances: Mapping[str, float], rng: random.Random) -> str:
    """One key, drawn with these probabilities."""
    return rng.choices(list(chances), weights=list(chances.values()))[0]


def choose(
    state: State,
    available: Sequence[str],
    cells: Cells,
    prior: Mapping[str, float],
    rng: random.Random,
    *,
    arm: Arm,
    evidence: Sequence[Neighbour] = (),
    floor: float = FLOOR,
) -> tuple[str, dict[str, float]]:
    """A strategy that this episode has not tried, and the probabilities it was drawn with, in the order of `available`.

    The control arm chooses uniformly and reads nothing. Raises ValueError when every strategy was tried.
    """
    names = remaining(state, available)
    if not names:
        raise ValueError("no strategy is left to choose: end the episode")
    if arm is Arm.CONTROL:
        chances = uniform(names)
    else:
        chances = probabilities(values(state, names, cells, prior, evidence), rng, floor=floor)
    return pick(chances, rng), chances


def remaining(state: State, available: Sequence[str]) -> tuple[str, ...]:
    """What this episode has not tried yet, in the order given, each once."""
    return tuple(name for name in dict.fromkeys(available) if name not in state.tried)


def q_target(
    components: Mapping[str, float], *, terminal: bool, next_values: Iterable[float], gamma: float = GAMMA
) -> float:
    """r + gamma * max over the next state's values (Watkins 1989), clipped to [0, 1]; r alone at the end of an episode.

    The target teaches the PROOF factor, so `next_values` are means of proof: acceptance is multiplied in once, at choice.
    """
    reward = shaped(components)
    if terminal:
        return reward
    return clipped(reward + gamma * max(next_values, default=0.0))
