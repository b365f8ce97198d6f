"""What a repository's past says of the findings of a review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from memory.history.lessons import Lessons, Word
from memory.model import Severity
from workers.review.engine import Reviewed


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A finding with what is seen beside it, as the past was read."""

    rule: str
    path: str
    tool: str
    severity: Severity
    fixable: bool
    standing: int
    burst: int


def words(reviewed: Reviewed, lessons: Lessons | None) -> Mapping[str, Word]:
    """By fingerprint, what the lessons say of the findings on changed lines; nothing without lessons."""
    if lessons is None:
        return {}
    burst = Counter(finding.rule for finding in reviewed.findings)
    return {
        finding.fingerprint: lessons.word(
            Sight(
                rule=finding.rule,
                path=finding.path,
                tool=finding.tool,
                severity=finding.severity,
                fixable=finding.suggestion is not None,
                standing=reviewed.standing.get((finding.path, finding.rule), 0),
                burst=burst[finding.rule],
            )
        )
        for finding in reviewed.findings
    }
