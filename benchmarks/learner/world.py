"""A world of repairs: what each strategy is worth for each failure, and people who answer late, seldom and wrongly.

The log-odds of a proof are a sum of effects of the strategy, the family, the error type, the repository, the kind of
case and what the last attempt did to the failure, those of acceptance of the strategy, the family and the repository:
levels share what they share in real projects. Now and then some effects are drawn anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

VIEW = 16
"""Dimensions of the vectors that cases are recalled by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """What a world is made of.

    The spreads are standard deviations of effects on log-odds, of proof by (strategy, family, error type, repository with
    error type, kind of case), of acceptance by (strategy, family, repository). `tail` is the exponent of the power law
    that says how often error types come up; `drift` the share of effects that are drawn anew half-way. A kind of case, as
    an off-by-one, comes up under many error types, under each in its own mixture (a Dirichlet of `mixture`); `blur` tells
    how far the vectors of one kind lie apart, against the distance between kinds. `drifts` times, evenly spread, effects
    are drawn anew. A failed attempt leaves the failure in one of `modes` ways, with chances (a Dirichlet of `mixture`) that
    depend on the kind and the strategy; its spread is the last of `proof_spreads`. In the first `bad_start` episodes all
    effects are those of another world.
    """

    name: str
    families: int = 6
    error_types: int = 25
    strategies: int = 12
    repositories: int = 10
    kinds: int = 10
    mixture: float = 0.5
    episodes: int = 5000
    attempts: int = 4
    attempt_cost: float = 0.05
    labelled: float = 0.30
    longest_delay: int = 200
    wrong_labels: float = 0.10
    tail: float = 1.3
    drift: float = 0.3
    drifts: int = 1
    modes: int = 1
    bad_start: int = 0
    proof: float = -1.6
    proof_spreads: tuple[float, float, float, float, float, float] = (0.6, 0.8, 0.6, 0.4, 1.0, 0.0)
    acceptance: float = 0.4
    acceptance_spreads: tuple[float, float, float] = (0.9, 0.4, 0.5)
    blur: float = 0.5


STRUCTURES: Mapping[str, Structure] = MappingProxyType(
    {
        each.name: each
        for each in (
            Structure(name="tuning"),
            Structure(
                name="tuning-changes", drifts=2, modes=4, bad_start=250, proof_spreads=(0.6, 0.8, 0.6, 0.4, 0.9, 0.6)
            ),
            Structure(
                name="kinds",
                repositories=20,
                kinds=6,
                tail=1.1,
                proof=-2.0,
                proof_spreads=(0.4, 0.6, 0.6, 0.5, 1.2, 0.0),
                acceptance_spreads=(0.8, 0.6, 0.6),
            ),
            Structure(
                name="families",
                families=4,
                repositories=6,
                tail=1.6,
                drift=0.5,
                proof_spreads=(0.8, 1.2, 0.5, 0.3, 0.7, 0.0),
                acceptance=0.0,
            ),
            Structure(
                name="changes",
                error_types=40,
                repositories=8,
                tail=1.2,
                drifts=3,
                modes=5,
                bad_start=400,
                proof=-1.8,
                proof_spreads=(0.5, 0.8, 0.6, 0.4, 0.8, 0.8),
            ),
        )
    }
)
"""Constants are chosen in the first two (the learner's are of the first); the others are there to report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One failure; `view` is a unit vector that lies near those of other cases of its kind."""

    number: int
    repository: int
    error_type: int
    family: int
    kind: int
    view: Floats


class World:
    """Draws cases, and knows the truth about them."""

    def __init__(self, structure: Structure, seed: int) -> None:
        self.structure = structure
        self._cases = 0
        self._rng = np.random.default_rng([seed, 1])
        s = structure
        of_others = self._rng.integers(s.families, size=s.error_types - s.families)
        self.family_of = np.concatenate([np.arange(s.families), of_others])
        ranks = self._rng.permutation(s.error_types) + 1.0
        self.share = ranks**-s.tail / (ranks**-s.tail).sum()
        self._mixture = self._rng.dirichlet(np.full(s.kinds, s.mixture), size=s.error_types)
        self._centres = _unit(self._rng.normal(size=(s.kinds, VIEW)))
        self._accents = _unit(self._rng.normal(size=(s.error_types, VIEW)))
        self._ways = self._rng.dirichlet(np.full(s.modes, s.mixture), size=(s.kinds, s.strategies))
        self._draw()

    def _draw(self) -> None:
        s = self.structure
        by: list[tuple[int, ...]] = [
            (), (s.families,), (s.error_types,), (s.repositories, s.error_types), (s.kinds,), (s.modes,)
        ]  # fmt: skip
        self._proof = [self._effects(each, spread) for each, spread in zip(by, s.proof_spreads, strict=True)]
        by = [(), (s.families,), (s.repositories,)]
        self._acceptance = [self._effects(each, spread) for each, spread in zip(by, s.acceptance_spreads, strict=True)]

    def _effects(self, by: tuple[int, ...], spread: float) -> Floats:
        return self._rng.normal(scale=spread, size=(*by, self.structure.strategies))

    def pass_to(self, episode: int) -> None:
        """Let effects change that change before this episode."""
        s = self.structure
        if episode and episode == s.bad_start:
            self._draw()
        if any(episode == s.episodes * n // (s.drifts + 1) for n in range(1, s.drifts + 1)):
            self._drift()

    def _drift(self) -> None:
        """Draw a share of the effects anew."""
        s = self.structure
        for tables, spreads in ((self._proof, s.proof_spreads), (self._acceptance, s.acceptance_spreads)):
            for place, spread in enumerate(spreads):
                anew = self._rng.random(tables[place].shape) < s.drift
                tables[place] = np.where(anew, self._effects(tables[place].shape[:-1], spread), tables[place])

    def case(self) -> Case:
        """The next failure."""
        s = self.structure
        error_type = int(self._rng.choice(s.error_types, p=self.share))
        kind = int(self._rng.choice(s.kinds, p=self._mixture[error_type]))
        blur = self._accents[error_type] + self._rng.normal(scale=VIEW**-0.5, size=VIEW)
        self._cases += 1
        return Case(
            number=self._cases,
            repository=int(self._rng.integers(s.repositories)),
            error_type=error_type,
            family=int(self.family_of[error_type]),
            kind=kind,
            view=_unit(self._centres[kind] + s.blur * blur),
        )

    def proof(self, case: Case) -> Floats:
        """The chance of each strategy to be proven: at first (row 0), and after an attempt that left it in mode 1, 2 …"""
        everywhere, family, error_type, repository, kind, mode = self._proof
        effects = family[case.family] + error_type[case.error_type] + kind[case.kind]
        effects = self.structure.proof + everywhere + effects + repository[case.repository, case.error_type]
        return _logistic(effects + np.vstack([np.zeros_like(effects), mode]))

    def acceptance(self, case: Case) -> Floats:
        """The chance that what a strategy made is accepted, once it is proven."""
        everywhere, family, repository = self._acceptance
        return _logistic(self.structure.acceptance + everywhere + family[case.family] + repository[case.repository])

    def ways(self, case: Case) -> Floats:
        """The chances of the modes that a failed attempt leaves the failure in: an array (strategies, modes)."""
        return np.asarray(self._ways[case.kind], dtype=np.float64)


class Plan:
    """What is best for a case, by the truth, and what that is worth: dynamic programming over what was tried and the mode.

    Q(tried, mode, a) = p a's acceptance - cost + (1 - p) E max(0, Q(tried + a, mode', .)) (Bellman 1957). `proof` is an array
    (1 + modes, strategies), `ways` one of (strategies, modes).
    """

    def __init__(self, proof: Floats, acceptance: Floats, ways: Floats, attempts: int, cost: float) -> None:
        self._q: list[Floats] = []
        self._places, grown = _subsets(len(acceptance), attempts)
        gain = proof * acceptance - cost
        later = np.zeros((len(grown[-1]), 1, len(acceptance)))
        for size in reversed(range(attempts)):
            if self._q:
                worth = np.maximum(self._q[-1][:, 1:].max(axis=2), 0.0)  # (subsets, modes) after one more attempt
                later = np.einsum("sam,am->sa", worth[grown[size]], ways)[:, np.newaxis]
            q = gain + (1.0 - proof) * later
            tried = grown[size] < 0
            self._q.append(np.where(tried[:, np.newaxis], -np.inf, q))
        self._q.reverse()

    def q(self, tried: Sequence[int], mode: int) -> Floats:
        """The value of each strategy now; of those tried already, minus infinity."""
        return np.asarray(self._q[len(tried)][self._places[frozenset(tried)], mode], dtype=np.float64)

    @property
    def value(self) -> float:
        """What the best plan is worth at the start."""
        return max(float(self._q[0][0, 0].max()), 0.0)


@lru_cache
def _subsets(strategies: int, attempts: int) -> tuple[Mapping[frozenset[int], int], list[NDArray[np.intp]]]:
    """The place of each set of fewer than `attempts` strategies among those of its size, and by size, for each set and
    strategy, the place of the set with it; -1 where it is in it."""
    places: dict[frozenset[int], int] = {}
    for size in range(attempts + 1):
        places |= {frozenset(each): n for n, each in enumerate(combinations(range(strategies), size))}
    grown = [
        np.array(
            [
                [-1 if a in each else places[frozenset((*each, a))] for a in range(strategies)]
                for each in combinations(range(strategies), size)
            ]
        )
        for size in range(attempts)
    ]
    return places, grown


def _logistic(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-x)), dtype=np.float64)


def _unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), dtype=np.float64)
