"""What a review finds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.model.repairs import Suggestion


class Severity(StrEnum):
    """How much harm a finding can do, worst last."""

    INFO = "info"
    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class Action(StrEnum):
    """What review can do with a finding, loudest first."""

    INLINE_SUGGESTION = "inline_suggestion"
    INLINE = "inline"
    SUMMARY = "summary"
    HOLD = "hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What review saw. `fingerprint` survives shifted lines; `anchor` is the normalised source it stands on."""

    fingerprint: str
    path: str
    line: int
    end_line: int
    tool: str
    rule: str
    category: str
    severity: Severity
    message: str
    anchor: str
    suggestion: Suggestion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A finding as it was decided upon in one pull request: what keeps a later round from saying it again."""

    repository: str
    number: int
    sha: str
    decision_id: str
    finding: Finding
    action: Action
    created_at: datetime
