"""What a ranking of past findings posts, and the interval of a figure over changes. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        """As few of the first findings as are worth so much together; none where nothing is wanted."""
        return self._sums(counts, np.cumsum(worth) - worth < wanted - 1e-9)

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
