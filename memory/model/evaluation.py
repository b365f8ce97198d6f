"""What an evaluation reads, and the events in the life of policy versions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.model.learning import Decision, Outcome, Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedDecision:
    """A decision with its test result, if there is one, and the feedback on it that is not retracted."""

    decision: Decision
    outcome: Outcome | None = None
    signals: tuple[Signal, ...] = ()


class PolicyEventKind(StrEnum):
    """How a version of the policy came to be the one in use."""

    ROLLED_BACK = "rolled_back"
    REINSTATED = "reinstated"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEvent:
    """From `created_at` on `version` is in use instead of `instead_of`; `newest` was the newest that there was then.

    `reason` is a line for users, with the figures behind it.
    """

    id: str
    kind: PolicyEventKind
    version: str
    instead_of: str
    newest: str
    reason: str
    created_at: datetime
