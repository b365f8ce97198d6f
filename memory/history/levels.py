"""The addressed share of past findings by rule, in levels: each is the next one's prior. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from math import sqrt
from pathlib import PurePosixPath

from memory.model import PastFinding

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
