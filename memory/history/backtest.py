"""A backtest: our choice of comments in the later part of a repository's history, against other rankings. Pure.

Findings are replayed in the order of time: each is scored before its fate is known, and a fate teaches later changes only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory.history.lessons import History, events
from memory.intervals import wilson
from memory.model import PastFinding, Severity

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RESAMPLES = 500


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedCounts:
    """What a ranking posts, as sums over changes: comments, those of them addressed, and all findings."""

    comments: float
    addressed: float
    all_findings: float
    all_addressed: float

    @property
    def share(self) -> float:
        """The share of posted findings that were addressed."""
        return self.addressed / self.comments if self.comments else 0.0

    @property
    def lift(self) -> float:
        """That share over the one when every finding is posted."""
        return self.share * self.all_findings / self.all_addressed if self.all_addressed else 0.0

    @property
    def kept(self) -> float:
        """The share of addressed findings that were posted."""
        return self.addressed / self.all_addressed if self.all_addressed else 0.0

    @property
    def suppressed(self) -> float:
        """The share of hidden findings that were addressed anyway."""
        quiet = self.all_findings - self.comments
        return (self.all_addressed - self.addressed) / quiet if quiet else 0.0


Rule = Callable[[Floats], PostedCounts]
"""What is posted, given how often each change counts."""


class Ranking:
    """Findings in the order in which they would be posted. Equals come in a random order, the same for all rankings."""

    def __init__(self, scores: Floats, addressed: Floats, change: Ints) -> None:
        luck = np.random.default_rng(0).permutation(len(scores))
        order = np.lexsort((luck, -scores))
        self._addressed, self._change = addressed[order], change[order]
        self._shown = scores[order] >= 0.0
        self.changes = int(change.max()) + 1 if len(change) else 0

    def _sums(self, counts: Floats, shown: NDArray[np.bool_]) -> PostedCounts:
        weights = counts[self._change]
        return PostedCounts(
            comments=float(weights[shown].sum()),
            addressed=float((weights * self._addressed)[shown].sum()),
            all_findings=float(weights.sum()),
            all_addressed=float((weights * self._addressed).sum()),
        )

    def posted(self, counts: Floats) -> PostedCounts:
        """Everything that the ranking does not hide."""
        return self._sums(counts, self._shown)

    def keeping(self, recall: float) -> Rule:
        """As few as hold a share of all addressed findings."""

        def rule(counts: Floats) -> PostedCounts:
            addressed = counts[self._change] * self._addressed
            return self._first(counts, addressed, recall * float(addressed.sum()))

        return rule

    def volume(self, comments: Callable[[Floats], float]) -> Rule:
        """As many as another ranking posts of the same changes."""
        return lambda counts: self._first(counts, counts[self._change], comments(counts))

    def _first(self, counts: Floats, worth: Floats, wanted: float) -> PostedCounts:
        """The first findings that are worth so much together."""
        last = int(np.searchsorted(np.cumsum(worth), wanted - 1e-9))
        return self._sums(counts, np.arange(len(worth)) <= last)

    def budget(self, most: int) -> Rule:
        """The first `most` of each change."""
        taken: dict[int, int] = {}
        within = np.zeros(len(self._change), dtype=np.bool_)
        for at, change in enumerate(self._change.tolist()):
            taken[change] = taken.get(change, 0) + 1
            within[at] = taken[change] <= most and self._shown[at]
        return lambda counts: self._sums(counts, within)


def once(changes: int) -> Floats:
    """Each change counted as it was."""
    return np.ones(changes)


def interval_of(figure: Callable[[Floats], float], changes: int) -> Interval:
    """A figure of how often each change counts, with its percentile interval over changes drawn with replacement (Efron 1979)."""
    rng = np.random.default_rng(0)
    drawn = [rng.multinomial(changes, np.full(changes, 1.0 / changes)).astype(np.float64) for _ in range(RESAMPLES)]
    low, high = np.percentile([figure(counts) for counts in drawn], [2.5, 97.5]).tolist()
    return Interval(figure(once(changes)), low, high)


RECALL, BUDGET = 0.8, 2
"""The share of addressed findings to keep, and comments a change, at which rankings are compared."""

REFIT_EVERY = 50
"""Changes of the branch between two fits of the weights."""

DISMISSALS = 3
POINTS = 12
LEAST_ADDRESSED, LEAST_CHANGES = 20, 20

_SEVERITIES = tuple(Severity)
_RUFF_DEFAULTS = ("E4", "E7", "E9", "F")
"""What ruff reports by default."""


class HistoryTooShort(ValueError):
    """The history is too short for a backtest; the text gives its size."""


# ── Rankings ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Scorer(Protocol):
    """Scores findings as they come: the higher, the sooner it is posted; below 0 it is hidden."""

    def found(self, number: int, finding: PastFinding, /) -> float:
        """The score of a finding of the change under review, without looking at its fate."""
        ...

    def decided(self, number: int, finding: PastFinding, /) -> None:  # noqa: ARG002  a fixed score learns nothing
        """Learn the fate of a finding, once, as soon as it is known."""
        return


@dataclass(slots=True)
class HistoryScorer(Scorer):
    """Ours: the chance that developers address it, by what they addressed so far."""

    history: History = field(default_factory=History)
    _fitted_at: int = 0

    def found(self, number: int, finding: PastFinding) -> float:
        if finding.position - self._fitted_at >= REFIT_EVERY:
            self.history.refit()
            self._fitted_at = finding.position
        return self.history.found(number, finding, finding.position)

    def decided(self, number: int, finding: PastFinding) -> None:
        self.history.decided(number, finding)


@dataclass(slots=True)
class FixedScorer(Scorer):
    """A score that never changes."""

    score: Callable[[PastFinding], float]

    def found(self, _number: int, finding: PastFinding) -> float:
        return self.score(finding)


@dataclass(slots=True)
class RuleScorer(Scorer):
    """A score by how many of a rule's findings were addressed, and how many not."""

    score: Callable[[int, int], float]
    _addressed: Counter[str] = field(default_factory=Counter)
    _kept: Counter[str] = field(default_factory=Counter)

    def found(self, _number: int, finding: PastFinding) -> float:
        return self.score(self._addressed[finding.rule], self._kept[finding.rule])

    def decided(self, _number: int, finding: PastFinding) -> None:
        if (addressed := finding.fate.addressed) is not None:
            (self._addressed if addressed else self._kept)[finding.rule] += 1


def _is_default(finding: PastFinding) -> bool:
    return finding.tool == "bandit" or finding.rule.startswith(_RUFF_DEFAULTS)


def _from(least: Severity) -> Callable[[PastFinding], float]:
    return lambda finding: float(_SEVERITIES.index(finding.severity) - _SEVERITIES.index(least))


OURS, UNTAUGHT, ORACLE = "learned", "without history", "oracle"

RANKINGS: Mapping[str, Callable[[], Scorer]] = {
    OURS: HistoryScorer,
    "everything": lambda: FixedScorer(lambda _: 0.0),
    "tools' defaults": lambda: FixedScorer(lambda finding: 0.0 if _is_default(finding) else -1.0),
    "severity minor up": lambda: FixedScorer(_from(Severity.MINOR)),
    "severity major up": lambda: FixedScorer(_from(Severity.MAJOR)),
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

    findings: tuple[PastFinding, ...]
    addressed: Floats
    change: Ints
    scores: Mapping[str, Floats]

    def ranking(self, name: str) -> Ranking:
        """The findings as one ranking orders them."""
        return Ranking(self.scores[name], self.addressed, self.change)


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
                scores[name][number] = scorer.found(number, finding)
            else:
                scorer.decided(number, finding)
    later = [n for n in sorted(range(len(known)), key=lambda n: (known[n].position, n)) if known[n].position >= cut]
    places = {position: at for at, position in enumerate(position for position in positions if position >= cut)}
    return ReplayedScores(
        findings=tuple(known[n] for n in later),
        addressed=np.array([float(bool(known[n].fate.addressed)) for n in later]),
        change=np.array([places[known[n].position] for n in later], dtype=np.int64),
        scores={name: np.array([by_number[n] for n in later]) for name, by_number in scores.items()},
    )


def informative(findings: Sequence[PastFinding]) -> list[PastFinding]:
    """Those whose fate shows whether developers addressed them."""
    return [finding for finding in findings if finding.fate.addressed is not None]


# ── Figures ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingFigures:
    """One ranking. Lifts are shares addressed over the share when every finding is posted.

    `keeping` is where `RECALL` of the addressed findings are kept, `budget` with at most `BUDGET` comments a change,
    `posted` what the ranking itself would post; `ours_at_volume` is our lift with as many comments as that.
    """

    name: str
    keeping: Interval
    budget: Interval
    budget_share: float
    posted: PostedCounts
    posted_lift: Interval
    ours_at_volume: Interval
    ahead: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """The figures of a replay. `base` is the share addressed of all findings, `curve` holds changes and our lift so far."""

    findings: int
    changes: int
    base: float
    comments_a_change: float
    suppressed: float
    arms: tuple[RankingFigures, ...]
    curve: tuple[tuple[int, float], ...]

    def to_json(self) -> dict[str, object]:
        """Plain values for `json.dumps`. The former names of `posted` and `posted_lift` stay beside them."""
        document = asdict(self)
        for each in document["arms"]:
            each |= {"said": each["posted"], "said_lift": each["posted_lift"]}
        return document


def backtest(findings: Sequence[PastFinding], *, share: float = 0.5) -> Backtest:
    """Replay the last `share` of the changes with findings; raises HistoryTooShort where they are too few."""
    replayed = replay(findings, share=share)
    addressed = int(replayed.addressed.sum())
    changes = len(set(replayed.change.tolist()))
    if addressed < LEAST_ADDRESSED or changes < LEAST_CHANGES:
        raise HistoryTooShort(
            f"{addressed} findings of {changes} changes were addressed; at least {LEAST_ADDRESSED} of {LEAST_CHANGES} are needed"
        )
    rankings = {name: replayed.ranking(name) for name in (*RANKINGS, UNTAUGHT)}
    ours = rankings[OURS]
    kept = ours.keeping(RECALL)(once(changes))
    return Backtest(
        findings=len(replayed.findings),
        changes=changes,
        base=addressed / len(replayed.findings),
        comments_a_change=kept.comments / changes,
        suppressed=kept.suppressed,
        arms=tuple(_figures(name, ranking, ours) for name, ranking in rankings.items()),
        curve=_curve(ours, changes),
    )


def _figures(name: str, ranking: Ranking, ours: Ranking) -> RankingFigures:
    at_volume = ours.volume(lambda counts: ranking.posted(counts).comments)
    budget = ranking.budget(BUDGET)

    def lift(rule: Rule) -> Interval:
        return interval_of(lambda counts: rule(counts).lift, ranking.changes)

    return RankingFigures(
        name=name,
        keeping=lift(ranking.keeping(RECALL)),
        budget=lift(budget),
        budget_share=budget(once(ranking.changes)).share,
        posted=ranking.posted(once(ranking.changes)),
        posted_lift=lift(ranking.posted),
        ours_at_volume=lift(at_volume),
        ahead=interval_of(lambda counts: at_volume(counts).lift - ranking.posted(counts).lift, ranking.changes),
    )


def _curve(ours: Ranking, changes: int) -> tuple[tuple[int, float], ...]:
    """Our lift within the budget, over all changes up to a point; points are evenly far apart."""
    within = ours.budget(BUDGET)
    points = np.unique(np.linspace(0, changes, POINTS + 1).round().astype(int)).tolist()
    return tuple((end, within((np.arange(changes) < end).astype(np.float64)).lift) for _, end in pairwise(points))
