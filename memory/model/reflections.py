"""What a failed attempt passes on to the next one, as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.model.repairs import AttemptOutcome


class RetryMode(StrEnum):
    """What a repair is given of earlier attempts at the same failure."""

    NONE = "none"
    LAST_ATTEMPT = "last_attempt"
    REFLECTION = "reflection"
    BOTH = "last_attempt_and_reflection"


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """The candidate that came nearest: `edit` is its unified diff, `passed` counts the failing tests that it mended.

    `error_type` and `message` are what the first other one became.
    """

    path: str
    line: int
    template: str
    edit: str
    passed: int
    error_type: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """What an attempt that proved nothing tried and saw; `id` is that of its experience.

    `ruled_out` are the candidates that failed, each as a short digest of what it replaced by what. `told` is
    the same in a sentence or two.
    """

    id: str
    repository: str
    error_type: str
    failing_tests: tuple[str, ...]
    strategy: str
    outcome: AttemptOutcome
    candidates: int
    ruled_out: tuple[str, ...]
    nearest: NearMiss | None
    told: str
    created_at: datetime
