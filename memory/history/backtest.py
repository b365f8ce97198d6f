"""A backtest: our choice of comments in the later part of a repository's history, against other rankings, and whether
learning from it helps. Pure.

Findings are replayed in the order of time: each is scored before its fate is known, and a fate teaches later changes only.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil, exp
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory.history.lessons import RuleShares, events, informative, odds
from memory.intervals import Numbers, wilson
from memory.model import PastFinding

Ints = NDArray[np.int64]

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

    addressed: Numbers
    change: Ints
    scores: Mapping[str, Numbers]

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


# ── Conclusion ─────────────────────────────────────────────────────────────────────────────────────────────────────

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

    comments: Numbers
    addressed: Numbers

    def share(self, counts: Numbers) -> float:
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


def conclude(posted: Mapping[str, PostedByChange]) -> Conclusion:
    """Learning helps where it is surely ahead of a draw by lot and of the strongest simple rule.

    It is better switched off where it is surely behind a draw by lot, or behind a rule that reviews follow without
    learning. To be behind another simple rule is no reason: without learning nothing would follow that one either.
    """
    changes = len(posted[OURS].comments)
    compared = {name: _compared(name, each, posted[OURS], posted[LOT]) for name, each in posted.items()}
    strongest = max(SIMPLE, key=lambda name: compared[name].share.estimate)
    behind = [name for name in (LOT, *WITHOUT_LEARNING) if compared[name].ahead.high < 0.0]
    not_ahead = [name for name in (LOT, strongest) if compared[name].ahead.low <= 0.0]
    verdict = Verdict.OFF if behind else Verdict.UNKNOWN if not_ahead else Verdict.HELPS
    wanted = [compared[name].ahead for name in (LOT, strongest)]
    return Conclusion(
        verdict=verdict,
        lot=LOT,
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


def interval_of(figure: Callable[[Numbers], float], changes: int) -> Interval:
    """A figure of how often each change counts, with its percentile interval over changes drawn with replacement (Efron 1979)."""
    rng = np.random.default_rng(0)
    drawn = [rng.multinomial(changes, np.full(changes, 1.0 / changes)).astype(np.float64) for _ in range(RESAMPLES)]
    low, high = np.percentile([figure(counts) for counts in drawn], [2.5, 97.5]).tolist()
    return Interval(figure(np.ones(changes)), low, high)


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
        conclusion=conclude(of_each),
        carried=conclude(carried | {LOT: of_each[LOT]}),
    )


def posted_of_each(scores: Numbers, replayed: ReplayedScores, most: int) -> PostedByChange:
    """What a ranking posts of each change where it must fill its `most` comments; equals are drawn by lot."""
    comments, addressed = np.zeros(replayed.changes), np.zeros(replayed.changes)
    for number in range(replayed.changes):
        here = replayed.change == number
        comments[number] = min(most, int(here.sum()))
        addressed[number] = _by_lot(scores[here], replayed.addressed[here], most)
    return PostedByChange(comments=comments, addressed=addressed)


def carried_over(scores: Numbers, replayed: ReplayedScores, most: int) -> PostedByChange:
    """What a ranking posts where what a change leaves of its `most` comments, or fewer findings, is for later ones.

    It posts what reaches the bar, as far as is left: so many findings of the last `WINDOW` changes reached it as there were
    comments for these, and as many more as are left over. Before there are ten of them, there is none.
    """
    comments, addressed = np.zeros(replayed.changes), np.zeros(replayed.changes)
    allowed = posted_of_each(scores, replayed, most).comments.astype(np.int64)
    best: list[Numbers] = []
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


def _by_lot(scores: Numbers, addressed: Numbers, room: int) -> float:
    """How many addressed ones are expected among the `room` best; of equals as many as there is room for are drawn."""
    expected = 0.0
    for score in np.unique(scores)[::-1]:
        equals = addressed[scores == score]
        taken = min(room, len(equals))
        expected += taken * float(equals.mean())
        room -= taken
    return expected
