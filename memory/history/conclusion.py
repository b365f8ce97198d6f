"""Whether learning from a history helps: every ranking with the same number of comments in each change. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RESAMPLES = 500

MAX_TIMES = 20
"""No estimate of the changes that would decide it goes beyond this many times those that there are."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % interval."""

    estimate: float
    low: float
    high: float


class Verdict(StrEnum):
    """What a maintainer does with it."""

    HELPS = "learning helps here"
    OFF = "switch it off"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedByChange:
    """The comments of a ranking by change, and how many of them developers addressed; arrays (changes,)."""

    comments: Floats
    addressed: Floats

    def share(self, counts: Floats) -> float:
        """The share of comments that developers addressed, given how often each change counts."""
        return float(counts @ self.addressed / (counts @ self.comments))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRanking:
    """The share of a ranking's comments that developers addressed, and by how much ours is ahead of it.

    `comments` is how many it posted, `times_lot` its share over that of comments drawn by lot, 0 where those are never addressed.
    """

    name: str
    share: Interval
    ahead: Interval
    comments: float
    times_lot: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """The verdict. `strongest` is the simple rule with the greatest share; `against` what decided it, ours is behind or not ahead of that.

    `more_changes` is how many more changes with findings would decide it if the differences stay as they are; None where
    they point both ways, or where that would be over `MAX_TIMES` times as many.
    """

    verdict: Verdict
    lot: str
    strongest: str
    against: str
    more_changes: int | None
    compared: tuple[ComparedRanking, ...]

    def of(self, name: str) -> ComparedRanking:
        return next(each for each in self.compared if each.name == name)


def conclude(
    posted: Mapping[str, PostedByChange], *, ours: str, lot: str, simple: Sequence[str], without: Sequence[str]
) -> Conclusion:
    """Learning helps where it is surely ahead of a draw by lot and of the strongest simple rule.

    It is better switched off where it is surely behind a draw by lot, or behind a rule of `without`, which reviews then
    follow. To be behind another simple rule is no reason: without learning nothing would follow that one either.
    """
    changes = len(posted[ours].comments)
    compared = {name: _compared(name, each, posted[ours], posted[lot]) for name, each in posted.items()}
    strongest = max(simple, key=lambda name: compared[name].share.estimate)
    behind = [name for name in (lot, *without) if compared[name].ahead.high < 0.0]
    not_ahead = [name for name in (lot, strongest) if compared[name].ahead.low <= 0.0]
    verdict = Verdict.OFF if behind else Verdict.UNKNOWN if not_ahead else Verdict.HELPS
    wanted = [compared[name].ahead for name in (lot, strongest)]
    return Conclusion(
        verdict=verdict,
        lot=lot,
        strongest=strongest,
        against=next(iter((*behind, *not_ahead[::-1])), strongest),
        more_changes=_more(wanted, changes) if verdict is Verdict.UNKNOWN else None,
        compared=tuple(sorted(compared.values(), key=lambda each: -each.share.estimate)),
    )


def _compared(name: str, other: PostedByChange, ours: PostedByChange, lot: PostedByChange) -> ComparedRanking:
    changes = len(other.comments)
    share, of_lot = interval_of(other.share, changes), lot.share(np.ones(changes))
    return ComparedRanking(
        name=name,
        share=share,
        ahead=interval_of(lambda counts: ours.share(counts) - other.share(counts), changes),
        comments=float(other.comments.sum()),
        times_lot=share.estimate / of_lot if of_lot else 0.0,
    )


def _more(ahead: Sequence[Interval], changes: int) -> int | None:
    """An interval narrows with the root of the number of changes: how many more until none of these holds 0."""
    if not (all(each.estimate > 0.0 for each in ahead) or all(each.estimate < 0.0 for each in ahead)):
        return None
    times = max(((each.high - each.low) / 2.0 / each.estimate) ** 2 for each in ahead)
    return max(ceil(changes * times) - changes, 1) if times <= MAX_TIMES else None


def interval_of(figure: Callable[[Floats], float], changes: int) -> Interval:
    """A figure of how often each change counts, with its percentile interval over changes drawn with replacement (Efron 1979)."""
    rng = np.random.default_rng(0)
    drawn = [rng.multinomial(changes, np.full(changes, 1.0 / changes)).astype(np.float64) for _ in range(RESAMPLES)]
    low, high = np.percentile([figure(counts) for counts in drawn], [2.5, 97.5]).tolist()
    return Interval(figure(np.ones(changes)), low, high)
