"""Vowpal Wabbit's contextual bandits as players: `cb_explore_adf` with features of every level, and acceptance apart.

The bandit learns whether a proof succeeded, times the chance of acceptance, which a logistic model predicts: learned as
one number, late labels would be lost. Needs the package `vowpalwabbit`, which the product does not.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from benchmarks.learner.agents import Chance
from benchmarks.learner.world import Case, World


class Vowpal(Chance):
    """One bandit over the strategies that were not tried yet.

    `explore` is the algorithm with its parameters, `rate` the learning rate, `embeddings` whether it sees cases' vectors.
    """

    def __init__(self, world: World, seed: int, *, explore: str, rate: float, embeddings: bool = False) -> None:
        super().__init__(world, seed)
        self._attempt_cost = world.structure.attempt_cost
        self._embeddings = embeddings
        crossed = "-q sf -q st -q sr -q sm --cubic str" + (" -q sv" if embeddings else "")
        vowpalwabbit = importlib.import_module("vowpalwabbit")  # only these players need it
        common = f"--quiet --random_seed {seed} -l {rate} -b 20 {crossed}"
        self._bandit = vowpalwabbit.Workspace(f"--cb_explore_adf {explore} --cb_type mtr {common}")
        self._acceptance = vowpalwabbit.Workspace(f"--loss_function logistic --link logistic {common}")
        self._chosen: tuple[list[int], int, float] = ([], 0, 1.0)

    def choose(self, case: Case, tried: Sequence[int], mode: int) -> int:
        """A draw from the probabilities that the bandit gives."""
        left = [i for i in range(self._strategies) if i not in tried]
        chances = self._bandit.predict([self._features(case, i, mode) for i in left])
        place = self._rng.choices(range(len(left)), weights=chances)[0]
        self._chosen = (left, place, chances[place])
        return left[place]

    def proved(self, case: Case, strategy: int, tried: Sequence[int], mode: int, *, proven: bool) -> None:  # noqa: ARG002
        """Teach the bandit at once."""
        left, place, chance = self._chosen
        worth = self._acceptance.predict(self._features(case, strategy)) if proven else 0.0
        examples = [self._features(case, i, mode) for i in left]
        examples[place] = f"0:{self._attempt_cost - worth}:{chance} {examples[place]}"
        self._bandit.learn(examples)

    def judged(self, case: Case, strategy: int, *, accepted: bool) -> None:
        """Teach what maintainers accept."""
        self._acceptance.learn(f"{1 if accepted else -1} {self._features(case, strategy)}")

    def _features(self, case: Case, strategy: int, mode: int = 0) -> str:
        """Everything is crossed with the strategy: family, type, repository, mode of the failure and vector."""
        view = " |v " + " ".join(f"{i}:{x:.4f}" for i, x in enumerate(case.view)) if self._embeddings else ""
        return f"|s {strategy} |f {case.family} |t {case.error_type} |r {case.repository} |m {mode}{view}"


TUNED: Mapping[str, Callable[[World, int], Vowpal]] = MappingProxyType(
    {
        "vowpal squarecb": partial(Vowpal, explore="--squarecb --gamma_scale 100", rate=1.0),
        "vowpal regcb": partial(Vowpal, explore="--regcbopt --mellowness 0.001", rate=1.0),
        "vowpal softmax": partial(Vowpal, explore="--softmax --lambda 100", rate=0.3),
        "vowpal bag": partial(Vowpal, explore="--bag 5 --greedify", rate=0.3),
        "vowpal squarecb, embeddings": partial(
            Vowpal, explore="--squarecb --gamma_scale 1000", rate=1.0, embeddings=True
        ),
        "vowpal softmax, embeddings": partial(Vowpal, explore="--softmax --lambda 100", rate=1.0, embeddings=True),
    }
)
"""The algorithms with the best of some thirty settings each, tried in the world "tuning"."""
