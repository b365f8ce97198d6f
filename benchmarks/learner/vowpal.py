"""Vowpal Wabbit's contextual bandits as players: `cb_explore_adf` with features of every level, and acceptance apart.

What the bandit is taught is whether a proof came of it times the chance of acceptance, which a logistic model predicts:
learned as one number, late labels would be lost. Needs the package `vowpalwabbit`, which the product does not:
`pip install vowpalwabbit`.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.learner.world import Case, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """`explore` is the algorithm with its parameters, `rate` the learning rate, `embeddings` whether cases' vectors are told."""

    explore: str
    rate: float = 0.5
    embeddings: bool = False


class Vowpal:
    """One bandit over the strategies that were not tried yet."""

    def __init__(self, world: World, seed: int, tuning: Tuning) -> None:
        self._structure = world.structure
        self._rng = random.Random(f"{seed}:player")
        self._embeddings = tuning.embeddings
        crossed = "-q sf -q st -q sr --cubic str" + (" -q sv" if tuning.embeddings else "")
        vowpalwabbit = importlib.import_module("vowpalwabbit")  # only who asks for these players needs it
        common = f"--quiet --random_seed {seed} -l {tuning.rate} -b 20 {crossed}"
        self._bandit = vowpalwabbit.Workspace(f"--cb_explore_adf {tuning.explore} --cb_type mtr {common}")
        self._acceptance = vowpalwabbit.Workspace(f"--loss_function logistic --link logistic {common}")
        self._chosen: tuple[list[int], int, float] = ([], 0, 1.0)

    def choose(self, case: Case, tried: Sequence[int]) -> int:
        """A draw from the probabilities that the bandit gives."""
        left = [i for i in range(self._structure.strategies) if i not in tried]
        chances = self._bandit.predict([self._features(case, i) for i in left])
        place = self._rng.choices(range(len(left)), weights=chances)[0]
        self._chosen = (left, place, chances[place])
        return left[place]

    def proved(self, case: Case, strategy: int, tried: Sequence[int], *, proven: bool) -> None:  # noqa: ARG002
        """Teach the bandit at once."""
        left, place, chance = self._chosen
        worth = self._acceptance.predict(self._features(case, strategy)) if proven else 0.0
        examples = [self._features(case, i) for i in left]
        examples[place] = f"0:{self._structure.attempt_cost - worth}:{chance} {examples[place]}"
        self._bandit.learn(examples)

    def judged(self, case: Case, strategy: int, *, accepted: bool) -> None:
        """Teach what people accept."""
        self._acceptance.learn(f"{1 if accepted else -1} {self._features(case, strategy)}")

    def _features(self, case: Case, strategy: int) -> str:
        """Everything with the strategy, so that no features are shared: a strategy, family, type and repository."""
        view = " |v " + " ".join(f"{i}:{x:.4f}" for i, x in enumerate(case.view)) if self._embeddings else ""
        return f"|s {strategy} |f {case.family} |t {case.error_type} |r {case.repository}{view}"
