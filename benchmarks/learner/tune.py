"""Vowpal Wabbit's settings, tried in the world "tuning": `python -m benchmarks.learner.tune`. The best stand in __main__."""

from __future__ import annotations

import argparse
import statistics
from concurrent.futures import ProcessPoolExecutor
from itertools import product

from benchmarks.learner.play import live
from benchmarks.learner.structures import STRUCTURES
from benchmarks.learner.vowpal import Tuning, Vowpal
from benchmarks.learner.world import World
from benchmarks.report import show

EXPLORERS = (
    *(f"--squarecb --gamma_scale {scale}" for scale in (10, 100, 1000)),
    *(f"--regcbopt --mellowness {mellowness}" for mellowness in (0.001, 0.01, 0.1)),
    *(f"--softmax --lambda {sharpness}" for sharpness in (10, 30, 100)),
    *(f"--bag {size} --greedify" for size in (5, 10)),
)
RATES = (0.1, 0.3, 1.0)


def regret(tuning: Tuning, seed: int) -> float:
    """One life's."""
    world = World(STRUCTURES["tuning"], seed)
    return live(Vowpal(world, seed, tuning), world, seed).regret


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learner.tune", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--embeddings", action="store_true", help="tell it the cases' vectors")
    given = parser.parse_args()
    tunings = [
        Tuning(explore=explore, rate=rate, embeddings=given.embeddings) for explore, rate in product(EXPLORERS, RATES)
    ]
    pairs = list(product(tunings, range(given.seeds)))
    with ProcessPoolExecutor(given.jobs) as pool:
        found = dict(zip(pairs, pool.map(regret, *zip(*pairs, strict=True)), strict=True))
    means = {tuning: statistics.mean(found[tuning, seed] for seed in range(given.seeds)) for tuning in tunings}
    rows = [(f"{t.explore}, rate {t.rate}", f"{means[t]:6.0f}") for t in sorted(tunings, key=lambda each: means[each])]
    show(f'regret of Vowpal Wabbit in the world "tuning", {given.seeds} seeds', rows)


if __name__ == "__main__":
    main()
