from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from benchmarks.learner.agents import Chance, Classical, Oracle, Ours, Player
from benchmarks.learner.play import Life, live
from benchmarks.learner.world import STRUCTURES, World, best_first, best_value

SMALL = replace(STRUCTURES["tuning"], episodes=300, error_types=6, families=3, repositories=3)


def lived(player: Callable[[World, int], Player], seed: int = 1) -> Life:
    world = World(SMALL, seed)
    return live(player(world, seed), world, seed)


def test_the_oracle_has_no_regret() -> None:
    """Whoever knows every chance and plans with them loses nothing but for luck; chance loses a lot."""
    assert abs(lived(Oracle).regret) < 0.2 * lived(Chance).regret


def test_the_learner_of_production_regrets_less_than_chance_and_the_textbook() -> None:
    """It plays through the same door as in the product, and learns."""
    ours, textbook = lived(Ours), lived(lambda world, seed: Classical(world, seed, "q-learning"))
    assert ours.regret < 0.8 * textbook.regret
    assert ours.regret < 0.8 * lived(Chance).regret


def test_a_life_repeats_under_its_seed() -> None:
    """The same world, luck and player give the same life."""
    assert lived(lambda world, seed: Ours(world, seed, neighbours=20)) == lived(
        lambda world, seed: Ours(world, seed, neighbours=20)
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_best_order_is_the_best_of_all_orders(seed: int) -> None:
    """The knapsack over the sorted strategies finds what trying all orders finds."""
    rng, cost = np.random.default_rng(seed), 0.05
    proof, acceptance = rng.random(4), rng.random(4)

    def worth(order: tuple[int, ...]) -> float:
        value = 0.0
        for i in reversed(order):
            value = proof[i] * acceptance[i] - cost + (1.0 - proof[i]) * value
        return value

    orders = {order: worth(order) for size in (1, 2, 3) for order in permutations(range(4), size)}
    best = max(orders, key=lambda order: orders[order])
    assert best_value(proof, acceptance, 3, cost) == pytest.approx(orders[best])
    assert best_first(proof, acceptance, 3, cost) == best[0]


def test_half_way_the_world_changes() -> None:
    """Drift draws some effects anew and leaves others."""
    world = World(SMALL, 3)
    case = world.case()
    before = world.proof(case)
    world.drift()
    assert not np.allclose(before, world.proof(case))
    assert world.structure.drift < 1.0
