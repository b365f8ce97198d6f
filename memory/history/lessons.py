"""How much more, or less, likely than usual a repository's developers address a finding, by its history. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import log, log1p, sqrt
from pathlib import PurePosixPath
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from memory.model import PastFinding, Severity

PULLS = (10.0, 10.0, 4.0, 4.0)
"""Pseudo-counts that each level has of the one before it: all findings, the rule's family, the rule, the rule there."""

HALF_LIFE = 300.0
"""Changes of the branch after which evidence weighs half: habits change."""

BASE = 0.1
"""The addressed share before any evidence."""


class PathClass(StrEnum):
    """What a file is for; what is fixed in one kind is often let be in another."""

    CODE = "code"
    TEST = "test"
    DOCS = "docs"
    BUILD = "build"


_TESTS = frozenset({"test", "tests", "testing"})
_DOCS = ("doc", "example", "demo", "sample", "tutorial")
_BUILD = frozenset({"setup.py", "conf.py", "noxfile.py", "tasks.py", "fabfile.py"})


def path_class(path: str) -> PathClass:
    """What the file at a path is for, by the names that projects use."""
    *folders, name = PurePosixPath(path.lower()).parts
    if not _TESTS.isdisjoint(folders) or name.startswith(("test_", "conftest.")) or name.endswith("_test.py"):
        return PathClass.TEST
    if any(folder.startswith(_DOCS) for folder in folders):
        return PathClass.DOCS
    return PathClass.BUILD if name in _BUILD else PathClass.CODE


def keys(rule: str, path: str) -> tuple[str, ...]:
    """What a finding is counted under, the broadest first."""
    family = rule.rstrip("0123456789")
    return "", f"{family}*", rule, f"{rule} {path_class(path)}"


@dataclass(slots=True)
class Levels:
    """Sums of weights, and of the weights of what was addressed, by key; both fade with the changes that pass.

    Findings of one rule in one change mostly share their fate, so that n of them weigh as √n.
    """

    sums: dict[str, FadingSum] = field(default_factory=dict)

    def add(self, finding: PastFinding) -> None:
        """Count a finding at the change where its fate was known, unless that says nothing."""
        addressed = finding.fate.addressed
        if addressed is None:
            return
        weight = 1.0 / sqrt(finding.burst)
        for key in keys(finding.rule, finding.path):
            self.sums[key] = self._at(key, finding.until).plus(weight, weight * addressed)

    def share(self, rule: str, path: str, position: int) -> float:
        """The addressed share expected at a change of the branch, in (0, 1)."""
        mean = BASE
        for key, pull in zip(keys(rule, path), PULLS, strict=True):
            known = self._at(key, position)
            mean = (pull * mean + known.addressed) / (pull + known.weight)
        return mean

    def _at(self, key: str, position: int) -> FadingSum:
        return self.sums.get(key, FadingSum()).faded(position)


@dataclass(frozen=True, slots=True)
class FadingSum:
    """Evidence as it weighed at a change of the branch."""

    weight: float = 0.0
    addressed: float = 0.0
    position: int = 0

    def faded(self, position: int) -> FadingSum:
        """The same at a later change; at an earlier one, as it is."""
        left = 0.5 ** (max(position - self.position, 0) / HALF_LIFE)
        return FadingSum(self.weight * left, self.addressed * left, max(position, self.position))

    def plus(self, weight: float, addressed: float) -> FadingSum:
        """With more evidence."""
        return FadingSum(self.weight + weight, self.addressed + addressed, self.position)


Floats = NDArray[np.float64]

NAMES = ("bias", "share", "standing", "any_standing", "burst", "test", "docs", "fixable", "info", "bandit")
ELSEWHERE = (-1.5, 0.3, -0.4, 0.0, -0.4, -0.3, -0.6, 0.5, -0.3, -0.8)
"""The weights before any evidence, by name: about those of the histories of flask, kombu and paramiko, weighed alike."""

SPREAD = 0.3
"""Standard deviation of a repository's weights around these."""

MOST_FITTED = 20_000
"""Findings, the latest, that the weights are fitted to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFinding:
    """What is known of a finding when it is found; a `PastFinding` holds the same."""

    rule: str
    path: str
    tool: str
    severity: Severity
    fixable: bool
    standing: int
    burst: int


JudgedFinding = SeenFinding | PastFinding


def features(seen: JudgedFinding, share: float) -> tuple[float, ...]:
    """The features that the chance depends on, in the order of `NAMES`; `share` comes from the levels."""
    kind = path_class(seen.path)
    return (
        1.0,
        log(share / (1.0 - share)),
        log1p(seen.standing),
        float(seen.standing > 0),
        log(seen.burst),
        float(kind is PathClass.TEST),
        float(kind is PathClass.DOCS),
        float(seen.fixable),
        float(seen.severity is Severity.INFO),
        float(seen.tool == "bandit"),
    )


@dataclass(slots=True)
class History:
    """What a history teaches up to now. Call `found` for each finding, and `decided` when its fate is known."""

    levels: Levels = field(default_factory=Levels)
    weights: Floats = field(default_factory=lambda: np.array(ELSEWHERE))
    prior: Floats = field(default_factory=lambda: np.array(ELSEWHERE))
    _found: dict[int, tuple[float, ...]] = field(default_factory=dict)
    _known: deque[tuple[tuple[float, ...], float, float]] = field(default_factory=lambda: deque(maxlen=MOST_FITTED))

    def found(self, number: int, seen: JudgedFinding, position: int) -> float:
        """The chance that developers address a finding; `number` names it until its fate is known."""
        row = features(seen, self.levels.share(seen.rule, seen.path, position))
        self._found[number] = row
        return float(_sigmoid(np.array(row) @ self.weights))

    def decided(self, number: int, finding: PastFinding) -> None:
        """Learn from a fate."""
        row, addressed = self._found.pop(number), finding.fate.addressed
        if addressed is not None:
            self._known.append((row, float(addressed), finding.burst**-0.5))
            self.levels.add(finding)

    def refit(self) -> None:
        """Move the weights by all that is known; between two refits only the levels learn."""
        if self._known:
            rows, addressed, counts = zip(*self._known, strict=True)
            self.weights = _fitted(np.array(rows), np.array(addressed), np.array(counts), self.prior)


def _sigmoid(odds: Floats) -> Floats:
    """1 / (1 + e^-x), without overflow."""
    return np.exp(-np.logaddexp(0.0, -odds))


def _fitted(rows: Floats, targets: Floats, counts: Floats, prior: Floats) -> Floats:
    """The likeliest weights of a logistic regression whose normal prior is around `prior` with `SPREAD`."""
    from scipy.optimize import minimize  # slow to import, and seldom needed

    def loss(weights: Floats) -> tuple[float, Floats]:
        odds, gap = rows @ weights, (weights - prior) / SPREAD**2
        slope = rows.T @ (counts * (_sigmoid(odds) - targets)) + gap
        return float(counts @ (np.logaddexp(0.0, odds) - targets * odds) + 0.5 * gap @ (weights - prior)), slope

    return np.asarray(minimize(loss, prior, jac=True, method="L-BFGS-B", options={"gtol": 1e-6}).x)


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
    if not latest:
        return found
    weights = [
        each.burst**-0.5 for each in latest
    ]  # as in `Levels`: a change that brings hundreds is not what is usual
    return replace(found, usual=fmean(map(found.odds, latest), weights))


def events(known: Sequence[PastFinding]) -> Iterator[tuple[int, PastFinding, bool]]:
    """Numbers with their findings, and whether it is found or its fate known; within a change the finding comes first."""
    ordered = [(f.position, 0, n) for n, f in enumerate(known)] + [(f.until, 1, n) for n, f in enumerate(known)]
    yield from ((number, known[number], kind == 0) for _, kind, number in sorted(ordered))
