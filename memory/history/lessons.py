"""How much more, or less, likely than usual a repository's developers address a finding, by its history. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from memory.history.backtest import events
from memory.history.chance import History, JudgedFinding, features
from memory.history.levels import FadingSum, Levels
from memory.model import PastFinding

MOST_LIFT = 1.5
"""The most log-odds by which a history moves a prior: what developers fix on their own hints at what they want reported."""

MOST_USUAL = 500
"""The number of latest findings that define what is usual."""

ENOUGH = 30
"""The fewest findings with an informative fate that give a hint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryHint:
    """What a history says about one finding: the log-odds that it adds, and how many findings of the rule were addressed."""

    lift: float
    addressed: float
    of: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLessons:
    """The sums by level, the weights, and the mean log-odds of the findings that a review would report (`usual`)."""

    position: int
    findings: int
    usual: float
    weights: tuple[float, ...]
    sums: dict[str, FadingSum]

    def hint(self, seen: JudgedFinding) -> HistoryHint:
        """The difference of a finding's log-odds from the usual ones, within ±`MOST_LIFT`."""
        known = self.sums.get(seen.rule, FadingSum()).faded(self.position)
        lift = max(-MOST_LIFT, min(MOST_LIFT, self.odds(seen) - self.usual))
        return HistoryHint(lift=lift, addressed=known.addressed, of=known.weight)

    def odds(self, seen: JudgedFinding) -> float:
        """The log-odds that developers address a finding."""
        share = Levels(self.sums).share(seen.rule, seen.path, self.position)
        return float(np.dot(features(seen, share), self.weights))


def lessons(findings: Sequence[PastFinding], is_reported: Callable[[PastFinding], bool]) -> HistoryLessons | None:
    """The lessons of findings with their fates; `is_reported` selects what a review would report. None where they are too few."""
    informative = [each for each in findings if each.fate.addressed is not None]
    if len(informative) < ENOUGH:
        return None
    history = History()
    for number, finding, is_new in events(informative):
        if is_new:
            history.found(number, finding, finding.position)
        else:
            history.decided(number, finding)
    history.refit()
    found = HistoryLessons(
        position=max(each.until for each in informative),
        findings=len(informative),
        usual=0.0,
        weights=tuple(history.weights.tolist()),
        sums=history.levels.sums,
    )
    latest = sorted(filter(is_reported, informative), key=lambda each: each.position)[-MOST_USUAL:]
    return replace(found, usual=fmean(map(found.odds, latest)) if latest else 0.0)
