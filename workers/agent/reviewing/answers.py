"""What the model answers with, and what is left of it once it was held against the code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from memory.model import Severity
from memory.policy.review_policy import PROTECTED
from workers.review.detectors.detector import Category

MOST_FINDINGS = 12
"""Findings of one answer; the others are not read."""

Kind = Literal["security", "correctness", "performance", "maintainability"]
Grade = Literal["info", "minor", "major", "critical"]

_ORDER = list(Severity)


class ReportedFinding(Struct):
    """One finding: where it is, the text of its first line, what it is about, and what to write instead, if anything."""

    path: str
    line: int
    end_line: int
    quote: str
    category: Kind
    severity: Grade
    title: str
    explanation: str
    replacement: str | None = None


class ReportedFindings(Struct):
    """What was found, the worst first; an empty list for nothing."""

    findings: list[ReportedFinding]


class CritiqueVerdict(Struct):
    """The decision on the finding with this number; `principle` is the number of the one that it breaks, 0 for none."""

    finding: int
    verdict: Literal["keep", "revise", "drop"]
    principle: int = 0
    title: str | None = None
    explanation: str | None = None
    severity: Grade | None = None


class CritiqueVerdicts(Struct):
    """One verdict for each finding."""

    verdicts: list[CritiqueVerdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFinding:
    """A finding whose quote was found. `title` and `explanation` are fit to be shown; `replacement` is for its lines.

    `described` is one that was found with the author's description at hand.
    """

    path: str
    line: int
    end_line: int
    category: Category
    severity: Severity
    title: str
    explanation: str
    replacement: str | None = None
    described: bool = False

    @property
    def message(self) -> str:
        return f"{self.title}: {self.explanation}" if self.explanation else self.title

    @property
    def grave(self) -> bool:
        """Whether no machine's second thoughts may drop it."""
        serious = self.severity in (Severity.MAJOR, Severity.CRITICAL)
        return (serious and self.category in PROTECTED) or self.severity is Severity.CRITICAL


def lowered(severity: Severity) -> Severity:
    """One level less harm; the lowest stays."""
    return _ORDER[max(0, _ORDER.index(severity) - 1)]


def lower_of(one: Severity, other: Severity) -> Severity:
    """The one with less harm."""
    return min(one, other, key=_ORDER.index)
