"""What learning from the past would have been worth in the later part of it, against other ways to choose. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from memory.history.arms import ARMS, OURS, UNTAUGHT
from memory.history.cold import Start, advantage, starts
from memory.history.measures import Floats, Interval, Posted, Ranking, interval, interval_of, once
from memory.history.replay import Replayed, replay
from memory.model import PastFinding

RECALL, BUDGET = 0.8, 2
"""The share of addressed findings to be kept, and comments a change, at which arms are compared."""

POINTS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFigures:
    """One arm. Lifts are shares addressed over that of saying everything.

    `keeping` is where `RECALL` of what was addressed is kept, `budget` with at most `BUDGET` comments a change, `said`
    what the arm would say of itself; `ours_at_volume` is our lift with as many comments as that.
    """

    name: str
    keeping: Interval
    budget: Interval
    budget_share: float
    said: Posted
    said_lift: Interval
    ours_at_volume: Interval
    ahead: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """The figures of a replay. `base` is the share addressed of everything; `cold` compares the first changes after
    an installation with history and without, as the difference of the shares addressed within the budget, over all `starts`.
    `curve` holds changes and our lift so far."""

    findings: int
    changes: int
    base: float
    comments_a_change: float
    suppressed: float
    arms: tuple[ArmFigures, ...]
    starts: tuple[Start, ...]
    cold: Interval | None
    curve: tuple[tuple[int, float], ...]


class TooLittle(ValueError):
    """The past is too short to say anything; the text says what there is."""


LEAST_ADDRESSED, LEAST_CHANGES = 20, 20


def backtest(findings: Sequence[PastFinding], *, share: float = 0.5) -> Backtest:
    """Replay the last `share` of the changes with findings; raises TooLittle where that holds hardly any."""
    replayed = replay(findings, share=share)
    addressed = int(replayed.addressed.sum())
    changes = len(set(replayed.change.tolist()))
    if addressed < LEAST_ADDRESSED or changes < LEAST_CHANGES:
        raise TooLittle(
            f"{addressed} findings of {changes} changes were addressed; it takes {LEAST_ADDRESSED} of {LEAST_CHANGES}"
        )
    rankings = {name: _ranking(replayed, name) for name in (*ARMS, UNTAUGHT)}
    ours = rankings[OURS]
    begun = starts(replayed, findings, BUDGET)
    kept = ours.keeping(RECALL)(once(changes))
    return Backtest(
        findings=len(replayed.findings),
        changes=changes,
        base=addressed / len(replayed.findings),
        comments_a_change=kept.comments / changes,
        suppressed=kept.suppressed,
        arms=tuple(_figures(name, ranking, ours) for name, ranking in rankings.items()),
        starts=begun,
        cold=advantage(begun),
        curve=_curve(replayed),
    )


def _ranking(replayed: Replayed, name: str) -> Ranking:
    return Ranking(replayed.scores[name], replayed.addressed, replayed.change)


def _figures(name: str, ranking: Ranking, ours: Ranking) -> ArmFigures:
    at_volume = ours.volume(lambda counts: ranking.said(counts).comments)
    budget = ranking.budget(BUDGET)
    return ArmFigures(
        name=name,
        keeping=interval(ranking.keeping(RECALL), ranking.changes, lambda posted: posted.lift),
        budget=interval(budget, ranking.changes, lambda posted: posted.lift),
        budget_share=budget(once(ranking.changes)).share,
        said=ranking.said(once(ranking.changes)),
        said_lift=interval(ranking.said, ranking.changes, lambda posted: posted.lift),
        ours_at_volume=interval(at_volume, ranking.changes, lambda posted: posted.lift),
        ahead=interval_of(lambda counts: at_volume(counts).lift - ranking.said(counts).lift, ranking.changes),
    )


def _curve(replayed: Replayed) -> tuple[tuple[int, float], ...]:
    """Our lift within the budget, of all changes up to a point; points are evenly far apart."""
    last = int(replayed.change.max()) + 1
    within = _ranking(replayed, OURS).budget(BUDGET)
    points = np.unique(np.linspace(0, last, POINTS + 1).round().astype(int)).tolist()
    return tuple((end, within(_until(end, last)).lift) for _, end in pairwise(points))


def _until(end: int, changes: int) -> Floats:
    return (np.arange(changes) < end).astype(np.float64)
