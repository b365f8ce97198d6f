"""What became of findings, by how loudly they were said. Pure.

The share addressed rises when less is said, or only trifles: it is told beside the volume and how much of it was grave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.intervals import wilson
from memory.model import Action, Logged, SignalKind
from memory.posting import PROTECTED

ADDRESSED = frozenset(
    {SignalKind.SUGGESTION_APPLIED, SignalKind.FINDING_FIXED, SignalKind.FINDING_FIXED_ELSEWHERE},
)
STOOD = frozenset({SignalKind.FINDING_SILENCED, SignalKind.FINDING_LEFT})
OTHERWISE = frozenset({SignalKind.FINDING_REWRITTEN, SignalKind.FINDING_GONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressed:
    """The findings that got one action, of which `grave` are of security or correctness.

    `addressed` were fixed, `stood` were silenced or merged as they were; of what went for other reasons (`otherwise`) and of
    the rest nothing is known. `share` is addressed of addressed and stood, with its 95 % interval; None without any.
    """

    action: str
    findings: int
    grave: int
    addressed: int
    stood: int
    otherwise: int
    share: float | None
    low: float
    high: float


def addressed(log: Sequence[Logged]) -> tuple[Addressed, ...]:
    """One line for each action that review can take, from the decisions of reviews; whoever did it, and of either arm."""
    return tuple(_of(action, [each for each in log if each.decision.chosen == action]) for action in Action)


def _of(action: Action, log: Sequence[Logged]) -> Addressed:
    kinds = [{signal.kind for signal in each.signals} for each in log]
    fixed = sum(bool(kind & ADDRESSED) for kind in kinds)
    stood = sum(bool(kind & STOOD) and not kind & ADDRESSED for kind in kinds)
    low, high = wilson(fixed, fixed + stood)
    return Addressed(
        action=action,
        findings=len(log),
        grave=sum(each.decision.state.family in PROTECTED for each in log),
        addressed=fixed,
        stood=stood,
        otherwise=sum(bool(kind & OTHERWISE) and not kind & (ADDRESSED | STOOD) for kind in kinds),
        share=fixed / (fixed + stood) if fixed + stood else None,
        low=low,
        high=high,
    )
