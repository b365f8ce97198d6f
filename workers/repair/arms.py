"""The arms of a repair: which strategies are open, and what is expected of each before any evidence. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

from memory.model import EditShape
from workers.repair.search import REPLAY
from workers.repair.shapes import is_telling

REPLAY_PRIOR = 0.8
"""Exact past edits convert far better than similar past fixes do, and cost one test run each."""

TURN_PRIOR = 0.2
"""How often a turn of the likeliest strategy finds a repair: it is a handful of candidates."""

DEEP = "everything"
"""The last resort: all candidates best first, without a cap, after the likeliest were tried strategy by strategy."""

DEEP_PRIOR = 0.3

REPLAYED = 20
"""So many past edits are tried again before anything else where they mended the very same failure: elsewhere, most of them
fit nothing."""

LIFT = 0.9
"""How far an edit that mended the very same failure is lifted to the front. Below 1, so that among its places the
suspects still rank."""


def priors(near: Mapping[str, float], *, replayable: bool) -> dict[str, float]:
    """The arms that are open with the proof expected of each; `near` is how near each strategy comes to the likeliest.

    `replay` is one when there is something to replay, the last resort always.
    """
    known = {strategy: TURN_PRIOR * nearness for strategy, nearness in near.items()}
    arms = {REPLAY: REPLAY_PRIOR, **known} if replayable else known
    return {**arms, DEEP: DEEP_PRIOR}


def open_arms(arms: Iterable[str], tried: Collection[str]) -> tuple[str, ...]:
    """What may be chosen next: past edits before anything else, the last resort after everything else."""
    left = [name for name in arms if name not in tried]
    if REPLAY in left:
        return (REPLAY,)
    return tuple(name for name in left if name != DEEP) or tuple(left)


def lifted(shapes: Mapping[EditShape, float]) -> dict[EditShape, float]:
    """Past edits by how far they come forward in the search: the less, the less their failures were like this one.

    One that fits any name anywhere is no lesson: replayed, it would find whatever happens to pass the tests.
    """
    return {shape: LIFT * weight for shape, weight in shapes.items() if is_telling(shape)}


def replays(shapes: Mapping[EditShape, float]) -> int:
    """How many past edits, as `lifted` gave them, to try before anything else: by the square of how near the nearest
    failure is, as both have to fit, what is recalled and what was done about it.
    """
    return math.ceil(REPLAYED * (max(shapes.values(), default=0.0) / LIFT) ** 2)
