"""One player in one world: what it lost against the best that could be done, and how it went about it."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from benchmarks.learner.agents import Player
from benchmarks.learner.world import Case, Plan, World

RARE = 0.02
"""An error type that comes up less often is rare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """`regret` is the sum over episodes of the best plan's expected value less that of what was done; in fixes accepted.

    `attempts` is the mean over the solved episodes, `solved` the share of episodes, `rare_solved` that among rare error
    types.
    """

    regret: float
    solved: float
    rare_solved: float
    attempts: float


def live(player: Player, world: World, seed: int) -> Life:
    """Every episode of a world. The same seed gives every player the same cases and the same luck."""
    s = world.structure
    luck = np.random.default_rng([seed, 3])
    late: list[tuple[float, int, Case, int, bool]] = []
    regret, clock, solved, rare, rare_solved = 0.0, 0, [], 0, 0
    for episode in range(s.episodes):
        world.pass_to(episode)
        case = world.case()
        proof, acceptance, ways = world.proof(case), world.acceptance(case), world.ways(case)
        regret += Plan(proof, acceptance, ways, s.attempts, s.attempt_cost).value
        passes, likes, (speaks, errs, delay) = luck.random(s.strategies), luck.random(s.strategies), luck.random(3)
        turns, mode = luck.random(s.attempts), 0
        is_rare = world.share[case.error_type] < RARE
        rare += is_rare
        tried: list[int] = []
        while len(tried) < s.attempts:
            while late and late[0][0] <= clock:
                _, _, about, judged, accepted = heapq.heappop(late)
                player.judged(about, judged, accepted=accepted)
            chosen = player.choose(case, tried, mode)
            clock += 1
            chance = 0.0 if chosen in tried else proof[mode, chosen]  # it fails again: the same code, the same tests
            regret -= chance * acceptance[chosen] - s.attempt_cost
            proven = bool(passes[chosen] < chance)
            player.proved(case, chosen, tried, mode, proven=proven)
            mode = 1 + min(int(np.searchsorted(ways[chosen].cumsum(), turns[len(tried)])), s.modes - 1)
            tried.append(chosen)
            if proven:
                solved.append(len(tried))
                rare_solved += is_rare
                if speaks < s.labelled:
                    right = bool(likes[chosen] < acceptance[chosen])
                    due = clock + delay * s.longest_delay
                    heapq.heappush(late, (due, clock, case, chosen, right != (errs < s.wrong_labels)))
                break
    return Life(
        regret=regret,
        solved=len(solved) / s.episodes,
        rare_solved=rare_solved / max(rare, 1),
        attempts=float(np.mean(solved)) if solved else float("nan"),
    )
