"""How much more, or less, likely than usual a repository's developers address a finding, by its history. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files
from math import log, log1p, sqrt
from pathlib import PurePosixPath
from statistics import fmean

from memory.model import PastFinding

PSEUDO_COUNT = 30.0
"""How many observations the share of other repositories' histories, which a rule starts from, is worth."""

HALF_LIFE = 300.0
"""Changes of the branch after which evidence weighs half: habits change."""


class PathClass(StrEnum):
    """What a file is for; what is fixed in one kind is often left alone in another."""

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


ELSEWHERE = "elsewhere.json"
"""The addressed shares of rules, of their families and of all findings in nine histories; `benchmarks.posting` writes it."""


@cache
def elsewhere() -> Mapping[str, float]:
    """The shares of `ELSEWHERE`, by `keys`."""
    shares = json.loads(files(__package__).joinpath(ELSEWHERE).read_text("utf-8"))
    return {str(key): float(share) for key, share in shares.items()}


def keys(rule: str) -> tuple[str, str, str]:
    """What a rule is counted under elsewhere, the broadest first: all, its family, itself."""
    return "", f"{rule.rstrip('0123456789')}*", rule


@dataclass(slots=True)
class RuleShares:
    """Sums of weights, and of the weights of what was addressed, by rule; both decay with the changes that pass.

    Findings of one rule in one change mostly share their fate, so that n of them weigh as √n. A rule starts from its share
    in the histories of other repositories, `start`: that of its family where the rule is not known, else that of all.
    """

    sums: dict[str, DecayedSum] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=elsewhere)

    def add(self, finding: PastFinding) -> None:
        """Count an informative finding at the change where its fate was known."""
        weight = 1.0 / sqrt(finding.burst)
        addressed = weight * bool(finding.fate.addressed)
        self.sums[finding.rule] = self._at(finding.rule, finding.until).plus(weight, addressed)

    def share(self, rule: str, position: int) -> float:
        """The addressed share expected at a change of the branch, in (0, 1)."""
        known = self._at(rule, position)
        start = next(self.start[key] for key in reversed(keys(rule)) if key in self.start)
        return (PSEUDO_COUNT * start + known.addressed) / (PSEUDO_COUNT + known.weight)

    def _at(self, rule: str, position: int) -> DecayedSum:
        return self.sums.get(rule, DecayedSum()).decayed(position)


@dataclass(frozen=True, slots=True)
class DecayedSum:
    """Evidence as it weighed at a change of the branch."""

    weight: float = 0.0
    addressed: float = 0.0
    position: int = 0

    def decayed(self, position: int) -> DecayedSum:
        """The same at a later change; at an earlier one, as it is."""
        left = 0.5 ** (max(position - self.position, 0) / HALF_LIFE)
        return DecayedSum(self.weight * left, self.addressed * left, max(position, self.position))

    def plus(self, weight: float, addressed: float) -> DecayedSum:
        return DecayedSum(self.weight + weight, self.addressed + addressed, self.position)


NAMES = ("bias", "share", "standing", "burst", "test", "docs", "fixable")
WEIGHTS = (-0.23, 0.72, -0.21, -0.31, -0.34, -0.79, 0.21)
"""The weights of a logistic regression, by name, fitted to nine histories that weigh alike, each started from the others' shares.

They are the same everywhere: weights that each repository moves by its own past ranked worse.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFinding:
    """What is known of a finding when it is found; a `PastFinding` holds the same."""

    rule: str
    path: str
    fixable: bool
    standing: int
    burst: int


JudgedFinding = SeenFinding | PastFinding


def features(seen: JudgedFinding, share: float) -> tuple[float, ...]:
    """The features that the chance depends on, in the order of `NAMES`; `share` is that of the rule."""
    kind = path_class(seen.path)
    return (
        1.0,
        log(share / (1.0 - share)),
        log1p(seen.standing),
        log(seen.burst),
        float(kind is PathClass.TEST),
        float(kind is PathClass.DOCS),
        float(seen.fixable),
    )


def odds(seen: JudgedFinding, shares: RuleShares, position: int) -> float:
    """The log-odds that developers address a finding, by what is known at a change of the branch."""
    row = features(seen, shares.share(seen.rule, position))
    return sum(weight * value for weight, value in zip(WEIGHTS, row, strict=True))


MAX_LIFT = 1.5
"""The most log-odds by which a history moves a prior: what developers fix on their own hints at what they want reported."""

MAX_USUAL = 500
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
    """The sums by rule, and the mean log-odds of the findings that a review would report (`usual_odds`).

    Lessons of a version that weighed otherwise have none: they lift nothing until the history is read on.
    """

    position: int
    sums: dict[str, DecayedSum]
    usual_odds: float | None = None

    def hint(self, seen: JudgedFinding) -> HistoryHint:
        """The difference of a finding's log-odds from the usual ones, within ±`MAX_LIFT`."""
        known = self.sums.get(seen.rule, DecayedSum()).decayed(self.position)
        gap = 0.0 if self.usual_odds is None else self.odds(seen) - self.usual_odds
        lift = max(-MAX_LIFT, min(MAX_LIFT, gap))
        return HistoryHint(lift=lift, addressed=known.addressed, of=known.weight)

    def odds(self, seen: JudgedFinding) -> float:
        return odds(seen, RuleShares(self.sums), self.position)


def informative(findings: Sequence[PastFinding]) -> list[PastFinding]:
    """Those whose fate shows whether developers addressed them."""
    return [finding for finding in findings if finding.fate.addressed is not None]


def lessons(findings: Sequence[PastFinding], is_reported: Callable[[PastFinding], bool]) -> HistoryLessons | None:
    """The lessons of findings with their fates; `is_reported` selects what a review would report. None where they are too few."""
    known = informative(findings)
    if len(known) < ENOUGH:
        return None
    shares = RuleShares()
    for each in sorted(known, key=lambda each: each.until):
        shares.add(each)
    found = HistoryLessons(position=max(each.until for each in known), sums=shares.sums, usual_odds=0.0)
    latest = sorted(filter(is_reported, known), key=lambda each: each.position)[-MAX_USUAL:]
    if not latest:
        return found
    # As in `RuleShares`: a change that brings hundreds is not what is usual.
    weights = [each.burst**-0.5 for each in latest]
    return replace(found, usual_odds=fmean(map(found.odds, latest), weights))


def events(known: Sequence[PastFinding]) -> Iterator[tuple[int, PastFinding, bool]]:
    """Numbers with their findings, and whether it is found or its fate known; within a change the finding comes first."""
    ordered = [(f.position, 0, n) for n, f in enumerate(known)] + [(f.until, 1, n) for n, f in enumerate(known)]
    yield from ((number, known[number], kind == 0) for _, kind, number in sorted(ordered))
