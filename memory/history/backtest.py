"""A backtest: our choice of comments in the later part of a repository's history, against other rankings. Pure.

Findings are replayed in the order of time: each is scored before its fate is known, and a fate teaches later changes only.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Protocol

import numpy as np

from memory.history.conclusion import Conclusion, Floats, Ints, PostedByChange, conclude
from memory.history.lessons import RuleShares, events, informative, odds
from memory.intervals import wilson
from memory.model import PastFinding

BUDGET = 2
"""Comments a change at which rankings are compared."""

AT_ONCE, WINDOW = 10, 100
"""Where a budget carries over: the most comments on one change, and the latest changes that set the bar."""

DISMISSALS = 3
MIN_ADDRESSED, MIN_CHANGES = 20, 20

_RUFF_DEFAULTS = ("E4", "E7", "E9", "F")
"""What ruff reports by default."""


class HistoryTooShort(ValueError):
    """The replayed changes hold too few findings that developers addressed."""

    def __init__(self, addressed: int, changes: int) -> None:
        super().__init__(
            f"{addressed} findings of {changes} changes were addressed; {MIN_ADDRESSED} of {MIN_CHANGES} are needed"
        )
        self.addressed, self.changes = addressed, changes


# ── Rankings ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Scorer(Protocol):
    """Scores findings as they come: the higher, the sooner it is posted."""

    def found(self, finding: PastFinding, /) -> float:
        """The score of a finding of the change under review, without looking at its fate."""
        ...

    def decided(self, finding: PastFinding, /) -> None:  # noqa: ARG002  a fixed score learns nothing
        """Learn the fate of a finding, once, as soon as it is known."""
        return


@dataclass(slots=True)
class HistoryScorer(Scorer):
    """Ours: the chance that developers address it, by what they addressed so far."""

    shares: RuleShares = field(default_factory=RuleShares)

    def found(self, finding: PastFinding) -> float:
        return 1.0 / (1.0 + exp(-odds(finding, self.shares, finding.position)))

    def decided(self, finding: PastFinding) -> None:
        self.shares.add(finding)


@dataclass(slots=True)
class FixedScorer(Scorer):
    """A score that never changes."""

    score: Callable[[PastFinding], float]

    def found(self, finding: PastFinding) -> float:
        return self.score(finding)


@dataclass(slots=True)
class RuleScorer(Scorer):
    """A score by how many of a rule's findings were addressed, and how many not."""

    score: Callable[[int, int], float]
    _addressed: Counter[str] = field(default_factory=Counter)
    _kept: Counter[str] = field(default_factory=Counter)

    def found(self, finding: PastFinding) -> float:
        return self.score(self._addressed[finding.rule], self._kept[finding.rule])

    def decided(self, finding: PastFinding) -> None:
        (self._addressed if finding.fate.addressed else self._kept)[finding.rule] += 1


OURS, UNTAUGHT, ORACLE = "learned", "without history", "oracle"
LOT, BY_SEVERITY, DEFAULTS = "everything", "severity minor up", "tools' defaults"
WITHOUT_LEARNING = (BY_SEVERITY, DEFAULTS)
"""What a review has where learning is off: severities, and rules that a tool chose."""

SIMPLE = (*WITHOUT_LEARNING, "three dismissals", "Wilson bound")
"""Rules that anybody could write down."""

RANKINGS: Mapping[str, Callable[[], Scorer]] = {
    OURS: HistoryScorer,
    LOT: lambda: FixedScorer(lambda _: 0.0),
    DEFAULTS: lambda: FixedScorer(
        lambda finding: 0.0 if finding.tool == "bandit" or finding.rule.startswith(_RUFF_DEFAULTS) else -1.0
    ),
    BY_SEVERITY: lambda: FixedScorer(lambda finding: float(finding.severity.rank)),
    "three dismissals": lambda: RuleScorer(lambda _addressed, kept: 0.0 if kept < DISMISSALS else -1.0),
    "Wilson bound": lambda: RuleScorer(lambda addressed, kept: wilson(addressed, addressed + kept)[0]),
    ORACLE: lambda: FixedScorer(lambda finding: float(bool(finding.fate.addressed))),
}
"""What is compared; each call makes one that has learned nothing."""


# ── Replay ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedScores:
    """The findings of the later changes with a known fate, in order.

    `addressed` (n,) is 0 or 1, `change` (n,) numbers the changes from 0, `scores` (n,) are those of each ranking.
    """

    addressed: Floats
    change: Ints
    scores: Mapping[str, Floats]

    @property
    def changes(self) -> int:
        """How many there are."""
        return int(self.change.max(initial=-1)) + 1


def replay(findings: Sequence[PastFinding], *, share: float = 0.5) -> ReplayedScores:
    """Score the findings of the last `share` of the changes with findings; older ones teach.

    `UNTAUGHT` is ours begun with the first scored change.
    """
    known = informative(findings)
    positions = sorted({finding.position for finding in known})
    cut = positions[int(len(positions) * (1.0 - share))] if positions else 0
    scorers = {name: make() for name, make in RANKINGS.items()} | {UNTAUGHT: HistoryScorer()}
    scores: dict[str, dict[int, float]] = {name: {} for name in scorers}
    for number, finding, is_new in events(known):
        for name, scorer in scorers.items():
            if name == UNTAUGHT and finding.position < cut:
                continue
            if is_new:
                scores[name][number] = scorer.found(finding)
            else:
                scorer.decided(finding)
    later = [n for n in sorted(range(len(known)), key=lambda n: (known[n].position, n)) if known[n].position >= cut]
    places = {position: at for at, position in enumerate(position for position in positions if position >= cut)}
    return ReplayedScores(
        addressed=np.array([float(bool(known[n].fate.addressed)) for n in later]),
        change=np.array([places[known[n].position] for n in later], dtype=np.int64),
        scores={name: np.array([by_number[n] for n in later]) for name, by_number in scores.items()},
    )


# ── Figures ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """The figures of a replay. `base` is the share addressed of all findings.

    `conclusion` compares all rankings with the same number of comments in each change, `BUDGET` at most; `carried` where
    what a change leaves of these is for later ones. Lots are drawn for each change in both.
    """

    findings: int
    changes: int
    base: float
    conclusion: Conclusion
    carried: Conclusion


def backtest(findings: Sequence[PastFinding], *, share: float = 0.5) -> Backtest:
    """Replay the last `share` of the changes with findings; raises HistoryTooShort where they are too few."""
    replayed = replay(findings, share=share)
    addressed = int(replayed.addressed.sum())
    changes = replayed.changes
    if addressed < MIN_ADDRESSED or changes < MIN_CHANGES:
        raise HistoryTooShort(addressed, changes)
    of_each = {name: posted_of_each(scores, replayed, BUDGET) for name, scores in replayed.scores.items()}
    carried = {name: carried_over(scores, replayed, BUDGET) for name, scores in replayed.scores.items()}
    return Backtest(
        findings=len(replayed.addressed),
        changes=changes,
        base=addressed / len(replayed.addressed),
        conclusion=_concluded(of_each),
        carried=_concluded(carried | {LOT: of_each[LOT]}),
    )


def _concluded(posted: Mapping[str, PostedByChange]) -> Conclusion:
    return conclude(posted, ours=OURS, lot=LOT, simple=SIMPLE, without=WITHOUT_LEARNING)


def posted_of_each(scores: Floats, replayed: ReplayedScores, most: int) -> PostedByChange:
    """What a ranking posts of each change where it must fill its `most` comments; equals are drawn by lot."""
    comments, addressed = np.zeros(replayed.changes), np.zeros(replayed.changes)
    for number in range(replayed.changes):
        here = replayed.change == number
        comments[number] = min(most, int(here.sum()))
        addressed[number] = _by_lot(scores[here], replayed.addressed[here], most)
    return PostedByChange(comments=comments, addressed=addressed)


def carried_over(scores: Floats, replayed: ReplayedScores, most: int) -> PostedByChange:
    """What a ranking posts where what a change leaves of its `most` comments, or fewer findings, is for later ones.

    It posts what reaches the bar, as far as is left: so many findings of the last `WINDOW` changes reached it as there were
    comments for these, and as many more as are left over. Before there are ten of them, there is none.
    """
    comments, addressed = np.zeros(replayed.changes), np.zeros(replayed.changes)
    allowed = posted_of_each(scores, replayed, most).comments.astype(np.int64)
    best: list[Floats] = []
    for number in range(replayed.changes):
        here = replayed.change == number
        latest = np.sort(np.concatenate(best[-WINDOW:] or [np.zeros(0)]))
        left = int(allowed[: number + 1].sum() - comments.sum())
        wanted = int(allowed[max(number - WINDOW, 0) : number].sum() + max(left - allowed[number], 0))
        bar = latest[-wanted] if len(best) >= WINDOW // 10 and 0 < wanted <= len(latest) else -np.inf
        reaching = scores[here] >= bar
        room = min(most if np.isinf(bar) else AT_ONCE, left, int(reaching.sum()))
        comments[number] = room
        addressed[number] = _by_lot(scores[here][reaching], replayed.addressed[here][reaching], room)
        best.append(np.sort(scores[here])[-AT_ONCE:])
    return PostedByChange(comments=comments, addressed=addressed)


def _by_lot(scores: Floats, addressed: Floats, room: int) -> float:
    """How many addressed ones are expected among the `room` best; of equals as many as there is room for are drawn."""
    expected = 0.0
    for score in np.unique(scores)[::-1]:
        equals = addressed[scores == score]
        taken = min(room, len(equals))
        expected += taken * float(equals.mean())
        room -= taken
    return expected
