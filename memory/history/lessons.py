"""What a repository's past comes down to: how much more, or less, likely than usual its people see to a finding. Pure."""

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
"""Log-odds by which a past moves a prior at most: what people fix untold is a hint of what they want to be told."""

MOST_USUAL = 500
"""Findings, the latest, that tell what is usual."""

ENOUGH = 30
"""Findings with a telling fate that a past must have before it says anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryHint:
    """What a past says of one finding: the log-odds that it adds, and how many findings of the rule were addressed there."""

    lift: float
    addressed: float
    of: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLessons:
    """The sums by level, the weights, and the mean log-odds of the findings that a review would have said (`usual`)."""

    position: int
    findings: int
    usual: float
    weights: tuple[float, ...]
    sums: dict[str, FadingSum]

    def word(self, seen: JudgedFinding) -> HistoryHint:
        """What is said of a finding: by how much its log-odds differ from the usual ones, within ±`MOST_LIFT`."""
        known = self.sums.get(seen.rule, FadingSum()).faded(self.position)
        lift = max(-MOST_LIFT, min(MOST_LIFT, self.odds(seen) - self.usual))
        return HistoryHint(lift=lift, addressed=known.addressed, of=known.weight)

    def odds(self, seen: JudgedFinding) -> float:
        """The log-odds that people see to a finding."""
        share = Levels(self.sums).share(seen.rule, seen.path, self.position)
        return float(np.dot(features(seen, share), self.weights))


def lessons(findings: Sequence[PastFinding], asked: Callable[[PastFinding], bool]) -> HistoryLessons | None:
    """What findings with their fates teach; `asked` tells which a review would have said. None where they are too few."""
    told = [each for each in findings if each.fate.addressed is not None]
    if len(told) < ENOUGH:
        return None
    history = History()
    for number, finding, is_new in events(told):
        if is_new:
            history.found(number, finding, finding.position)
        else:
            history.decided(number, finding)
    history.refit()
    found = HistoryLessons(
        position=max(each.until for each in told),
        findings=len(told),
        usual=0.0,
        weights=tuple(history.weights.tolist()),
        sums=history.levels.sums,
    )
    latest = sorted(filter(asked, told), key=lambda each: each.position)[-MOST_USUAL:]
    return replace(found, usual=fmean(map(found.odds, latest)) if latest else 0.0)
