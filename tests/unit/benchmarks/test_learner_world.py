from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest

from benchmarks.learner.agents import Chance, Classical, Oracle, Ours, Player
from benchmarks.learner.play import Life, live
from benchmarks.learner.world import STRUCTURES, Plan, World

SMALL = replace(STRUCTURES["tuning"], episodes=300, error_types=6, families=3, repositories=3)


def lived(player: Callable[[World, int], Player], seed: int = 1) -> Life:
    world = World(SMALL, seed)
    return live(player(world, seed), world, seed)


def test_the_oracle_has_no_regret() -> None:
    """Whoever knows every chance and plans with them loses nothing but for luck; chance loses a lot."""
    assert abs(lived(Oracle).regret) < 0.2 * lived(Chance).regret


@pytest.mark.slow
def test_the_learner_of_production_regrets_less_than_chance_and_the_textbook() -> None:
    """It plays through the same door as in the product, and learns; the textbook's repeats nothing that failed."""
    ours, textbook = lived(Ours), lived(lambda world, seed: Classical(world, seed, "q-learning"))
    assert ours.regret < textbook.regret
    assert ours.regret < 0.8 * lived(Chance).regret


@pytest.mark.extended
@pytest.mark.slow
def test_a_life_repeats_under_its_seed() -> None:
    """The same world, luck and player give the same life."""
    assert lived(lambda world, seed: Ours(world, seed, neighbours=20)) == lived(
        lambda world, seed: Ours(world, seed, neighbours=20)
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_plan_is_the_best_of_all_orders(seed: int) -> None:
    """Where what an attempt leaves the failure in says nothing, dynamic programming finds what trying all orders finds."""
    rng, cost = np.random.default_rng(seed), 0.05
    proof, acceptance = rng.random(4), rng.random(4)

    def worth(order: tuple[int, ...]) -> float:
        value = 0.0
        for i in reversed(order):
            value = proof[i] * acceptance[i] - cost + (1.0 - proof[i]) * value
        return value

    orders = {order: worth(order) for size in (1, 2, 3) for order in permutations(range(4), size)}
    best = max(orders, key=lambda order: orders[order])
    plan = Plan(np.vstack([proof, proof]), acceptance, np.ones((4, 1)), 3, cost)
    assert plan.value == pytest.approx(orders[best])
    assert np.argmax(plan.q((), 0)) == best[0]


def test_the_plan_looks_ahead_to_the_modes() -> None:
    """A first attempt is worth more that leaves the failure where the next one is certain to be proven."""
    proof = np.array([[0.1, 0.1, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    plan = Plan(proof, np.ones(3), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), 2, 0.0)
    assert plan.q((), 0) == pytest.approx([0.1, 1.0, 0.0])
    assert plan.q((1,), 2)[2] == 1.0


def test_effects_change_half_way_and_after_a_bad_start() -> None:
    """Drift draws some effects anew and leaves others; the end of a bad start all."""
    world = World(replace(SMALL, bad_start=50), 3)
    case = world.case()
    proofs = []
    for episode in (0, 49, 50, 149, 150):
        world.pass_to(episode)
        proofs.append(world.proof(case))
    changed = [not np.allclose(one, other) for one, other in pairwise(proofs)]
    assert changed == [False, True, False, True]
