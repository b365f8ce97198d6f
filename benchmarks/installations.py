"""What a history is worth in the first changes after an installation: comments with it, and without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.history.backtest import (
    OURS,
    Floats,
    HistoryScorer,
    Interval,
    Ranking,
    ReplayedScores,
    informative,
    interval_of,
    once,
)
from memory.history.lessons import events
from memory.model import PastFinding

CHANGES = 20
"""Changes with findings that are followed after an installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationStart:
    """Comments posted in the changes after one installation, and how many were addressed: with history and without."""

    taught: tuple[float, float]
    untaught: tuple[float, float]


def starts(replayed: ReplayedScores, findings: Sequence[PastFinding], budget: int) -> tuple[InstallationStart, ...]:
    """An installation at every `CHANGES` scored changes, each followed for as many, with `budget` comments a change.

    `findings` are all those that were replayed. One installation shows little, so there are many.
    """
    known, last = informative(findings), int(replayed.change.max(initial=-1)) + 1
    return tuple(_start(replayed, known, first, budget) for first in range(0, last - CHANGES + 1, CHANGES))


def _start(replayed: ReplayedScores, known: Sequence[PastFinding], first: int, budget: int) -> InstallationStart:
    here = (replayed.change >= first) & (replayed.change < first + CHANGES)
    scored = [finding for finding, within in zip(replayed.findings, here.tolist(), strict=True) if within]
    begun, ended = scored[0].position, scored[-1].position
    addressed, change = replayed.addressed[here], replayed.change[here] - first
    untaught = _untaught([each for each in known if begun <= each.position <= ended], ended)
    return InstallationStart(
        taught=_posted(Ranking(replayed.scores[OURS][here], addressed, change), budget),
        untaught=_posted(Ranking(untaught, addressed, change), budget),
    )


def _untaught(known: Sequence[PastFinding], ended: int) -> Floats:
    """The scores, in the order of the changes, of a learner that begins with the first of these findings."""
    learner, scores = HistoryScorer(), dict[int, float]()
    for number, finding, is_new in events(known):
        if is_new:
            scores[number] = learner.found(number, finding)
        elif finding.until <= ended:
            learner.decided(number, finding)
    order = sorted(range(len(known)), key=lambda number: (known[number].position, number))
    return np.array([scores[number] for number in order])


def _posted(ranking: Ranking, budget: int) -> tuple[float, float]:
    posted = ranking.budget(budget)(once(ranking.changes))
    return posted.comments, posted.addressed


def advantage(all_starts: Sequence[InstallationStart]) -> Interval | None:
    """By how much the share addressed is higher with history, over all installations; the interval is over these.

    None where no posted finding was addressed.
    """
    taught, untaught = (np.array([getattr(each, name) for each in all_starts]) for name in ("taught", "untaught"))
    if not len(all_starts) or not (taught[:, 1].any() or untaught[:, 1].any()):
        return None

    def difference(counts: Floats) -> float:
        (posted, addressed), (posted_untaught, addressed_untaught) = counts @ taught, counts @ untaught
        return float(addressed / posted - addressed_untaught / posted_untaught)

    return interval_of(difference, len(all_starts))
