"""A world of repairs: what each strategy is worth for each failure, and people who answer late, seldom and wrongly.

The log-odds of a proof are a sum of effects of the strategy, the family, the error type, the repository and the kind of
case, those of acceptance of the strategy, the family and the repository: levels share what they share in real projects.
Half-way some effects are drawn anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    how far the vectors of one kind lie apart, against the distance between kinds.
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
    proof: float = -1.6
    proof_spreads: tuple[float, float, float, float, float] = (0.6, 0.8, 0.6, 0.4, 1.0)
    acceptance: float = 0.4
    acceptance_spreads: tuple[float, float, float] = (0.9, 0.4, 0.5)
    blur: float = 0.5


STRUCTURES: Mapping[str, Structure] = MappingProxyType(
    {
        each.name: each
        for each in (
            Structure(name="tuning"),
            Structure(
                name="kinds",
                repositories=20,
                kinds=6,
                tail=1.1,
                proof=-2.0,
                proof_spreads=(0.4, 0.6, 0.6, 0.5, 1.2),
                acceptance_spreads=(0.8, 0.6, 0.6),
            ),
            Structure(
                name="families",
                families=4,
                repositories=6,
                tail=1.6,
                drift=0.5,
                proof_spreads=(0.8, 1.2, 0.5, 0.3, 0.7),
                acceptance=0.0,
            ),
        )
    }
)
"""The learner's constants were chosen in the first; the others are there to report."""


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
        by: list[tuple[int, ...]] = [(), (s.families,), (s.error_types,), (s.repositories, s.error_types), (s.kinds,)]
        self._proof = [self._effects(each, spread) for each, spread in zip(by, s.proof_spreads, strict=True)]
        by = [(), (s.families,), (s.repositories,)]
        self._acceptance = [self._effects(each, spread) for each, spread in zip(by, s.acceptance_spreads, strict=True)]

    def _effects(self, by: tuple[int, ...], spread: float) -> Floats:
        return self._rng.normal(scale=spread, size=(*by, self.structure.strategies))

    def drift(self) -> None:
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
        """The chance of each strategy to be proven."""
        everywhere, family, error_type, repository, kind = self._proof
        effects = family[case.family] + error_type[case.error_type] + kind[case.kind]
        return _logistic(self.structure.proof + everywhere + effects + repository[case.repository, case.error_type])

    def acceptance(self, case: Case) -> Floats:
        """The chance that what a strategy made is accepted, once it is proven."""
        everywhere, family, repository = self._acceptance
        return _logistic(self.structure.acceptance + everywhere + family[case.family] + repository[case.repository])


def best_value(proof: Floats, acceptance: Floats, attempts: int, cost: float) -> float:
    """What the best order of at most `attempts` different strategies is worth; exact.

    Of two neighbours in an order the one with the greater acceptance - cost / proof goes first, by exchanging them; which
    ones to take is a knapsack over that order.
    """
    return _plan(proof, acceptance, attempts, cost)[0]


def best_first(proof: Floats, acceptance: Floats, attempts: int, cost: float) -> int:
    """The strategy that this order begins with; the likeliest to be accepted where none is worth its cost."""
    return _plan(proof, acceptance, attempts, cost)[1]


def _plan(proof: Floats, acceptance: Floats, attempts: int, cost: float) -> tuple[float, int]:
    worth, first = [0.0] * (attempts + 1), [int(np.argmax(proof * acceptance))] * (attempts + 1)
    for i in np.argsort(acceptance - cost / proof).tolist():
        now = float(proof[i] * acceptance[i]) - cost
        for left in range(attempts, 0, -1):
            taken = now + (1.0 - float(proof[i])) * worth[left - 1]
            if taken > worth[left]:
                worth[left], first[left] = taken, i
    return worth[attempts], first[attempts]


def _logistic(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-x)), dtype=np.float64)


def _unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), dtype=np.float64)
