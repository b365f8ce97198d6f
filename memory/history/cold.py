"""What a history is worth at once: the first changes after an installation, with what was learned and without. Pure.

One installation says little, so there are many: at every so many changes of a replay another learner begins that knows
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.history.arms import OURS, Learned
from memory.history.measures import Floats, Interval, Ranking, interval_of, once
from memory.history.replay import Replayed, events
from memory.model import PastFinding

CHANGES = 20
"""With findings, after an installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What two learners said in the changes after one installation, and how much of it was addressed."""

    taught: tuple[float, float]
    untaught: tuple[float, float]


def starts(replayed: Replayed, findings: Sequence[PastFinding], budget: int) -> tuple[Start, ...]:
    """An installation at every `CHANGES` scored changes, each followed for as many, with `budget` comments a change.

    `findings` are all those that were replayed.
    """
    told = [finding for finding in findings if finding.fate.addressed is not None]
    last = int(replayed.change.max(initial=-1)) + 1
    return tuple(_start(replayed, told, first, budget) for first in range(0, last - CHANGES + 1, CHANGES))


def _start(replayed: Replayed, told: Sequence[PastFinding], first: int, budget: int) -> Start:
    here = (replayed.change >= first) & (replayed.change < first + CHANGES)
    scored = [finding for finding, within in zip(replayed.findings, here.tolist(), strict=True) if within]
    begun, ended = scored[0].position, scored[-1].position
    addressed, change = replayed.addressed[here], replayed.change[here] - first
    untaught = _untaught([each for each in told if begun <= each.position <= ended], ended)
    return Start(
        taught=_said(Ranking(replayed.scores[OURS][here], addressed, change), budget),
        untaught=_said(Ranking(untaught, addressed, change), budget),
    )


def _untaught(told: Sequence[PastFinding], ended: int) -> Floats:
    """The scores, in the order of the changes, of a learner that begins with the first of these findings."""
    learner, scores = Learned(), dict[int, float]()
    for number, finding, is_new in events(told):
        if is_new:
            scores[number] = learner.found(number, finding)
        elif finding.until <= ended:
            learner.decided(number, finding)
    order = sorted(range(len(told)), key=lambda number: (told[number].position, number))
    return np.array([scores[number] for number in order])


def _said(ranking: Ranking, budget: int) -> tuple[float, float]:
    posted = ranking.budget(budget)(once(ranking.changes))
    return posted.comments, posted.addressed


def advantage(all_starts: Sequence[Start]) -> Interval | None:
    """By how much the share addressed is higher with history, over all installations; the interval is over these.

    None where nothing that was said was addressed.
    """
    taught, untaught = (np.array([getattr(each, name) for each in all_starts]) for name in ("taught", "untaught"))
    if not len(all_starts) or not (taught[:, 1].any() or untaught[:, 1].any()):
        return None

    def difference(counts: Floats) -> float:
        (said, addressed), (said_untaught, addressed_untaught) = counts @ taught, counts @ untaught
        return float(addressed / said - addressed_untaught / said_untaught)

    return interval_of(difference, len(all_starts))
