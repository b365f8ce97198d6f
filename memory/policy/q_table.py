"""The Q-table: what a strategy is worth in a state, and with which probability to choose it. Pure; the generator is passed in.

A cell holds a sum and a count for each period, so the running average's step size is 1/n, of evidence that decays: evidence
commutes, can be retracted exactly, and the table can be rebuilt from the ledger bit for bit. The table holds the two factors
that a value is made of. Values themselves are not stored and not bootstrapped: an episode is short and what a failed attempt
leads to is known (the same failure with one strategy fewer), so r + gamma max Q(s', .) with gamma = 1 is solved exactly at
every choice, for draws from the posterior. Bayesian Q-learning, which stores values, does worse (docs/learning.md). Stopping
is a choice like any other, with a value of 0.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from memory.model import ENDING, STOP, Arm, Cell, Factor, Level, State
from memory.rewards import clipped

Cells = Mapping[tuple[Level, str, Factor], Cell]
"""The part of the table that a choice reads; a missing cell has no evidence."""

PROOF_PRIOR = 0.3
ACCEPTANCE_PRIOR = 0.6

DRAWS = 200

_EMPTY = Cell(weight=0.0, mean=0.0)

_LEAST = 0.005
"""Nothing is certain: what a row of another kind or remembered cases say moves no mean nearer to 0 or 1."""

FLOOR_KEPT = 0.2
FLOOR_HALVES_AT = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What makes one version of the policy.

    `pseudo_counts` say by level how many observations the mean of the next level is worth there.
    `sharpness` multiplies the strength of the beliefs that are drawn from: the greater, the less is tried out.
    `lookahead` is how many attempts ahead it plans at most, `attempt_cost` what an attempt costs as a share of an accepted
    fix, where its engine does not say. `floor` is the share of the probability that is spread evenly where there is no
    evidence; it keeps off-policy estimates possible. `caution` is how many observations the expectation for a very similar
    case is worth against what the remembered cases say.
    """

    version: str
    pseudo_counts: Mapping[str, float]
    sharpness: float
    lookahead: int
    attempt_cost: float
    floor: float
    caution: float


PRESENT = Parameters(
    version="levelled-planning-5",
    pseudo_counts=MappingProxyType(
        {"place": 20.0, "repository": 20.0, "label": 20.0, "family": 20.0, "global": 10.0, "after": 20.0}
    ),
    sharpness=40.0,
    lookahead=4,
    attempt_cost=0.05,
    floor=0.05,
    caution=4.0,
)
"""Chosen in the simulated worlds for tuning of the learner's benchmark, which reports on others."""

# It tries out more.
FORMER = replace(PRESENT, version="levelled-planning-4", sharpness=8.0)

CONTROL = "control"
"""The version that uses nothing learned: while it is in use, every task is one of the control arm."""

VERSIONS: Mapping[str, Parameters] = MappingProxyType({each.version: each for each in (FORMER, PRESENT)})
"""Oldest first; each one's former is the one before it, the first one's is control."""


def former_of(version: str, versions: Mapping[str, Parameters] = VERSIONS) -> str:
    """The version to go back to: the one before, or control where there is none."""
    names = list(versions)
    place = names.index(version) if version in names else 0
    return names[place - 1] if place else CONTROL


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """A Beta distribution, by its mean and its strength (the number of observations it is worth)."""

    mean: float
    strength: float

    @property
    def deviation(self) -> float:
        return float((self.mean * (1.0 - self.mean) / (self.strength + 1.0)) ** 0.5)

    def shape(self) -> tuple[float, float]:
        """Beta's two parameters, kept above 0: a certain belief has no distribution."""
        return max(self.mean * self.strength, 1e-3), max((1.0 - self.mean) * self.strength, 1e-3)

    def sharpened(self, factor: float) -> Belief:
        """The same mean, `factor` times as strong."""
        return Belief(mean=self.mean, strength=self.strength * factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What is believed of one strategy in one state.

    `usual` is the mean of proof by the table alone, without remembered cases; `n` the evidence for its proof at the label,
    over repositories.
    """

    proof: Belief
    acceptance: Belief
    usual: float
    n: float

    @property
    def q(self) -> float:
        """Expected value: how likely a proof is, times how likely people are to accept it."""
        return self.proof.mean * self.acceptance.mean


_STOPPED = Estimate(proof=Belief(mean=0.0, strength=1.0), acceptance=Belief(mean=0.0, strength=1.0), usual=0.0, n=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A remembered case: what was tried, whether it was proven, how near it is, within [0, 1], and what was expected of it.

    `expected` is what was usual when it was tried (`Estimate.usual`), None where that is not recorded.
    """

    strategy: str
    success: bool
    similarity: float
    expected: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What remembered cases say of a strategy: sums over them, in which each counts as much as it is near.

    `weight` is how many they are, `gain` how many more of them were proven than was expected. `unasked` is the weight of
    those for which no expectation is recorded; their proofs are in `gain` in full.
    """

    weight: float
    gain: float
    unasked: float = 0.0


def summed(near: Iterable[Neighbour]) -> dict[str, Remembered]:
    """What these cases say together of each strategy."""
    sums: dict[str, list[float]] = {}
    for each in near:
        weight, known = clipped(each.similarity), sums.setdefault(each.strategy, [0.0, 0.0, 0.0])
        known[0] += weight
        known[1] += weight * (float(each.success) - (each.expected or 0.0))
        known[2] += weight * (each.expected is None)
    return {name: Remembered(weight=all_, gain=gain, unasked=unasked) for name, (all_, gain, unasked) in sums.items()}


def believe(state: State, strategy: str, cells: Cells, *, prior: float, pseudo_counts: Mapping[str, float]) -> Belief:
    """What is believed of a strategy's acceptance."""
    levels = [(each, pseudo_counts[each.scope]) for each in reversed(state.levels())]
    return _believe(levels, strategy, Factor.ACCEPTANCE, cells, prior)


def _believe(
    levels: Sequence[tuple[Level, float]], strategy: str, factor: Factor, cells: Cells, prior: float
) -> Belief:
    """Empirical-Bayes back-off over a state's levels, the broadest first: each one's mean is pulled to that of the one before.

    mean = (sum + m * mean of the level before) / (n + m), with the level's m, and `prior` before the first
    (Efron and Morris 1975). What is uncertain is the most specific level, so its count and m make the strength.
    """
    mean, strength = prior, 0.0
    for level, pseudo_count in levels:
        cell = cells.get((level, strategy, factor), _EMPTY)
        evidence = max(cell.weight, 0.0)
        strength = evidence + pseudo_count
        mean = clipped((evidence * cell.mean + pseudo_count * mean) / strength)
    return Belief(mean=mean, strength=strength)


def values(
    state: State,
    strategies: Sequence[str],
    cells: Cells,
    prior: Mapping[str, float],
    evidence: Mapping[str, Remembered] = MappingProxyType({}),
    *,
    parameters: Parameters = PRESENT,
) -> dict[str, Estimate]:
    """An estimate for each strategy. `prior` holds the mean of proof expected before any evidence, where one is known."""
    found, pseudo_counts, everywhere, effect_level = {}, parameters.pseudo_counts, state.everywhere, state.effect_level
    levels = [(level, pseudo_counts[level.scope]) for level in reversed(state.levels())]
    for name in strategies:
        if name == STOP:
            found[name] = _STOPPED
            continue
        proof = _believe(levels, name, Factor.PROOF, cells, prior.get(name, PROOF_PRIOR))
        if effect_level is not None:
            proof = _after_attempt(proof, effect_level, levels[0][0], name, cells, pseudo_counts)
        liked = _believe(levels, name, Factor.ACCEPTANCE, cells, ACCEPTANCE_PRIOR)
        known = cells.get((everywhere, name, Factor.PROOF), _EMPTY)
        found[name] = Estimate(
            proof=recalled(proof, evidence.get(name), parameters.caution),
            acceptance=liked,
            usual=proof.mean,
            n=known.weight,
        )
    return found


def _after_attempt(
    belief: Belief,
    effect_level: Level,
    everywhere: Level,
    strategy: str,
    cells: Cells,
    pseudo_counts: Mapping[str, float],
) -> Belief:
    """A belief after an attempt that did this to the failure: times the odds there over the odds everywhere.

    The two are about independent for a given result, as in naive Bayes: what the error type says, and what the attempt showed.
    """
    usual, after = (cells.get((level, strategy, Factor.PROOF), _EMPTY) for level in (everywhere, effect_level))
    if after.weight <= 0.0:
        return belief
    among = _shrunk(usual, pseudo_counts[everywhere.scope], PROOF_PRIOR)
    ratio = _log_odds(_shrunk(after, pseudo_counts[effect_level.scope], among)) - _log_odds(among)
    moved = 1.0 / (1.0 + math.exp(-(_log_odds(belief.mean) + ratio)))
    return Belief(mean=min(max(moved, _LEAST), 1.0 - _LEAST), strength=belief.strength)


def _shrunk(cell: Cell, pseudo_count: float, prior: float) -> float:
    evidence = max(cell.weight, 0.0)
    return (evidence * cell.mean + pseudo_count * prior) / (evidence + pseudo_count)


def _log_odds(mean: float) -> float:
    """Of a share; 0 and 1 count as nearly that."""
    inside = min(max(mean, _LEAST), 1.0 - _LEAST)
    return math.log(inside / (1.0 - inside))


def recalled(belief: Belief, near: Remembered | None, caution: float) -> Belief:
    """A belief moved by how much better or worse than expected the most similar cases went.

    What a case says beyond its error type and repository is in that difference; its bare success would count these twice.
    The mean difference is shrunk by `caution` observations, which also bound how certain one case can be.
    """
    if near is None or not near.weight:
        return belief
    worth = caution + near.weight
    mean = belief.mean + (near.gain - near.unasked * belief.mean) / worth
    return Belief(mean=min(max(mean, _LEAST), 1.0 - _LEAST), strength=1.0 / (1.0 / belief.strength + 1.0 / worth))


def draw(beliefs: Sequence[Belief], rng: random.Random) -> NDArray[np.float64]:
    """DRAWS samples of each belief, an array (DRAWS, beliefs). One number is taken from `rng` to seed them."""
    generator = np.random.default_rng(rng.getrandbits(64))
    first, second = np.array([belief.shape() for belief in beliefs]).T
    return generator.beta(first, second, size=(DRAWS, len(beliefs)))


def first_of_best_order(
    proof: NDArray[np.float64],
    acceptance: NDArray[np.float64],
    attempts: int,
    costs: NDArray[np.float64],
    ending: Sequence[int] = (),
) -> NDArray[np.intp]:
    """What the best order of at most `attempts` strategies begins with; arrays (rows, strategies), one answer a row. Exact.

    It maximises Q(s, a) = p a - cost + (1 - p) max Q(s', .), where s' has one strategy and one attempt fewer (Bellman
    1957): the first proof ends an episode, accepted or not, so what is likely to be proven and unlikely to be accepted
    comes later. Of two neighbours in an order the one with the greater acceptance - cost / proof goes first, as
    exchanging them shows; which ones to take is a knapsack over that order. `costs` are by strategy. One of those `ending`
    the episode can follow any number of others, for Q(s, a) = p a - cost, and after an attempt it may stop, for nothing.
    Without any, and where nothing is worth its cost, it is the strategy with the greatest product.
    """
    gains, rows, worth = proof * acceptance - costs, np.arange(len(proof)), np.zeros((attempts + 1, len(proof)))
    first: NDArray[np.intp] = np.argmax(proof * acceptance, axis=1)
    if ending:
        worth[-1] = gains[:, ending].max(axis=1)
        worth[:-1] = np.maximum(worth[-1], 0.0)
        first = np.array(ending)[gains[:, ending].argmax(axis=1)]
    if not attempts:
        return first
    alone = worth[-1].copy()
    others = np.array([place for place in range(len(costs)) if place not in ending])
    order = others[np.argsort((acceptance - costs / np.maximum(proof, 1e-9))[:, others], axis=1)].T
    begun_with = np.empty(order.shape)
    for found, gain, rest in zip(begun_with, gains[rows, order], 1.0 - proof[rows, order], strict=True):
        following = gain + rest * worth[:-1]
        found[:] = following[-1]
        np.maximum(worth[1:], following, out=worth[1:])
    best = begun_with.argmax(axis=0)
    return np.where(begun_with[best, rows] > alone, order[best, rows], first)


def probabilities(
    estimates: Mapping[str, Estimate],
    rng: random.Random,
    *,
    attempts: int,
    costs: Mapping[str, float] = MappingProxyType({}),
    parameters: Parameters = PRESENT,
) -> dict[str, float]:
    """Thompson sampling (1933) with known probabilities: the share of draws whose best order a strategy begins, over a floor.

    They sum to 1, each above 0. `attempts` is how many more the episode may make, `costs` are those known. Stopping tries
    nothing out: it has no floor, and is left out where anything is expected to be worth its cost.
    """
    known = zip(estimates.values(), _costs(estimates, costs, parameters), strict=True)
    if any(each.proof.mean * each.acceptance.mean > cost for each, cost in known):
        estimates = {name: each for name, each in estimates.items() if name != STOP}
    proof = draw([each.proof.sharpened(parameters.sharpness) for each in estimates.values()], rng)
    acceptance = draw([each.acceptance.sharpened(parameters.sharpness) for each in estimates.values()], rng)
    ending = [place for place, name in enumerate(estimates) if name in ENDING]
    ahead = min(attempts, parameters.lookahead, len(estimates) - len(ending))
    first = first_of_best_order(proof, acceptance, ahead, _costs(estimates, costs, parameters), ending)
    wins = dict(zip(estimates, (np.bincount(first, minlength=len(estimates)) / DRAWS).tolist(), strict=True))
    return with_floor(wins, sum(each.n for each in estimates.values()), floor=parameters.floor)


def _costs(names: Iterable[str], known: Mapping[str, float], parameters: Parameters) -> NDArray[np.float64]:
    """What each costs, as a share of an accepted fix."""
    return np.array([0.0 if name == STOP else known.get(name, parameters.attempt_cost) for name in names])


def with_floor(shares: Mapping[str, float], evidence: float, *, floor: float) -> dict[str, float]:
    """`shares` mixed with an even spread of `floor`, which shrinks with the evidence to a fifth and never to 0."""
    halving = FLOOR_HALVES_AT / (FLOOR_HALVES_AT + max(evidence, 0.0))
    spread = floor * (FLOOR_KEPT + (1.0 - FLOOR_KEPT) * halving)
    even = uniform(tuple(shares))
    mixed = {name: (1.0 - spread) * share + spread * even.get(name, 0.0) for name, share in shares.items()}
    return {name: share for name, share in mixed.items() if share}


def uniform(strategies: Sequence[str]) -> dict[str, float]:
    """The control arm's probabilities. It does not stop: that nothing left is worth its cost is something learned."""
    names = [name for name in strategies if name != STOP]
    return {name: 1.0 / len(names) for name in names}


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
    evidence: Mapping[str, Remembered] = MappingProxyType({}),
    attempts: int | None = None,
    costs: Mapping[str, float] = MappingProxyType({}),
    parameters: Parameters = PRESENT,
) -> tuple[dict[str, float], dict[str, Estimate]]:
    """The probabilities of what this episode has not tried, in the order of `available`, and the estimates behind them.

    `attempts` is how many more the episode may make; None: as many as there are strategies. `costs` are those of strategies
    that do not cost what an attempt usually does, as shares of an accepted fix. The control arm chooses
    uniformly, reads nothing and has no estimates. Raises ValueError when every strategy was tried.
    """
    names = remaining(state, available)
    if not names:
        raise ValueError("no strategy is left to choose: end the episode")
    if arm is Arm.CONTROL:
        return uniform(names), {}
    estimates = values(state, names, cells, prior, evidence, parameters=parameters)
    most = len(names) if attempts is None else attempts
    return probabilities(estimates, rng, attempts=most, costs=costs, parameters=parameters), estimates


def remaining(state: State, available: Sequence[str]) -> tuple[str, ...]:
    """What this episode has not tried yet, in the order given, each once."""
    return tuple(name for name in dict.fromkeys(available) if name not in state.tried)
