"""The learner against the agents of the textbooks, in simulated worlds of repairs: `python -m benchmarks.learner`."""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from types import MappingProxyType

from rich.console import Console

from benchmarks.learner.agents import Chance, Classical, Hierarchical, Oracle, Ours, Player
from benchmarks.learner.baselines import AGENTS
from benchmarks.learner.play import Life, live
from benchmarks.learner.vowpal import TUNED
from benchmarks.learner.world import STRUCTURES, World
from benchmarks.repair.harness import progress_bar
from benchmarks.report import bootstrap, ratio_of_sums, show
from memory.retrieval.experiences import MAX_ALIKE

TEXTBOOK = "q-learning"
"""What all others are given as a share of: it repeats nothing within an episode that failed there."""

HIERARCHICAL = "hierarchical thompson"

PLAYERS: Mapping[str, Callable[[World, int], Player]] = MappingProxyType(
    {
        "oracle": Oracle,
        "chance": Chance,
        f"{TEXTBOOK}, with repeats": partial(Classical, name=TEXTBOOK, repeats=True),
        **{name: partial(Classical, name=name) for name in AGENTS},
        HIERARCHICAL: Hierarchical,
        **TUNED,
        "apprentice": Ours,
        "apprentice, with memory": partial(Ours, neighbours=MAX_ALIKE),
    }
)


def played(structure: str, player: str, seed: int) -> Life:
    """One player's life in one world."""
    world = World(STRUCTURES[structure], seed)
    return live(PLAYERS[player](world, seed), world, seed)


def play(
    structures: Sequence[str], players: Sequence[str], seeds: Sequence[int], jobs: int
) -> dict[tuple[str, str], list[Life]]:
    """Every life, by structure and player, in the order of the seeds."""
    lives: defaultdict[tuple[str, str], dict[int, Life]] = defaultdict(dict)
    with progress_bar(Console(stderr=True)) as bar, ProcessPoolExecutor(jobs) as pool:
        waiting = {pool.submit(played, s, p, seed): (s, p, seed) for s in structures for p in players for seed in seeds}
        shown = bar.add_task("", total=len(waiting))
        for future in as_completed(waiting):
            structure, player, seed = waiting[future]
            lives[structure, player][seed] = future.result()
            bar.advance(shown)
    return {key: [by_seed[seed] for seed in seeds] for key, by_seed in lives.items()}


def ratio(ours: Sequence[Life], theirs: Sequence[Life]) -> str:
    """Our regret as a share of theirs, of sums over the seeds."""
    pairs = [(one.regret, other.regret) for one, other in zip(ours, theirs, strict=True)]
    return bootstrap(pairs, ratio_of_sums).shown()


def shown_of(lives: Sequence[Life]) -> str:
    """One player's line."""
    mean = {name: statistics.mean(getattr(life, name) for life in lives) for name in Life.__slots__}
    return (
        f"{mean['regret']:6.0f}   solved {mean['solved']:.3f}, of rare types {mean['rare_solved']:.3f}, "
        f"in {mean['attempts']:.2f} attempts"
    )


def installed() -> list[str]:
    """Every player, Vowpal Wabbit's only where its package is installed."""
    if importlib.util.find_spec("vowpalwabbit"):
        return [*PLAYERS]
    sys.stderr.write("without Vowpal Wabbit's players, the strongest ones: pip install vowpalwabbit\n")
    return [name for name in PLAYERS if name not in TUNED]


def rivals(lives: Mapping[str, Sequence[Life]]) -> list[str]:
    """Whom our learner is compared with: the textbook's agent, the best of all textbook agents, the hierarchical sampler, and
    the best of Vowpal Wabbit's players, of those that played."""

    def best(names: Collection[str]) -> str:
        played = [name for name in lives if name in names]
        return min(played, key=lambda name: sum(life.regret for life in lives[name]), default=TEXTBOOK)

    return list(dict.fromkeys([TEXTBOOK, best(AGENTS), best([HIERARCHICAL]), best(TUNED)]))


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learner", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=1000, help="those below were used to choose constants")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--structures", nargs="+", choices=[*STRUCTURES], default=[*STRUCTURES][2:])
    parser.add_argument("--players", nargs="+", choices=[*PLAYERS], help="all that are installed")
    given = parser.parse_args()
    players = list(dict.fromkeys([TEXTBOOK, *(given.players or installed())]))
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    lives = play(given.structures, players, seeds, given.jobs)
    for structure in given.structures:
        found = {player: lives[structure, player] for player in players}
        rows = [(player, shown_of(found[player])) for player in players]
        rows += [
            (f"regret of {player} over {rival}", ratio(found[player], found[rival]))
            for rival in rivals(found)
            for player in players
            if player.startswith("apprentice")
        ]
        show(
            f"learner in the world {structure!r}: regret over {STRUCTURES[structure].episodes} episodes, {len(seeds)} seeds",
            rows,
        )


if __name__ == "__main__":
    main()
