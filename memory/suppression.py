"""Over-suppression: how much of what review keeps quiet about would have been welcome. Pure.

The floor of exploration now and then says inline what would have been held or put into the summary. These are the audited
sample: what people made of them, each weighted by the inverse of its chance to be shown, stands for all that was not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.evaluation import effective, verdict
from memory.intervals import wilson
from memory.model import Action, Arm, Decision, Logged

LOUD = frozenset({Action.INLINE, Action.INLINE_SUGGESTION})
ACCEPTED_ABOVE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """What is known of one quiet action.

    `findings` were most likely to get it while an inline comment was open to them, `shown` of these got the comment,
    `judged` of those a verdict. `rate` is the share that people would have accepted, with its 95 % interval at the
    effective sample size; None without any verdict.
    """

    action: str
    findings: int
    shown: int
    judged: int
    effective: float
    rate: float | None
    low: float
    high: float


def suppression(log: Sequence[Logged]) -> tuple[Suppression, ...]:
    """The over-suppression rate of held and of summarised findings, from the decisions of reviews."""
    return tuple(_of(action, log) for action in (Action.HOLD, Action.SUMMARY))


def _of(action: Action, log: Sequence[Logged]) -> Suppression:
    quiet = [e for e in log if e.decision.arm is Arm.LEARNED and _loud(e.decision) and _likeliest(e.decision) == action]
    shown = [entry for entry in quiet if entry.decision.chosen in LOUD]
    verdicts = [(entry.decision.probability, verdict(entry.signals)) for entry in shown]
    judged = [(1.0 / chance, said > ACCEPTED_ABOVE) for chance, said in verdicts if said is not None]
    weights, accepted = np.array([w for w, _ in judged]), np.array([a for _, a in judged])
    size = effective(weights)
    # Self-normalised (Hájek 1971), with Wilson's interval at the effective size (as Korn and Graubard 1998 do with theirs).
    rate = float(weights @ accepted / weights.sum()) if judged else None
    low, high = wilson((rate or 0.0) * size, size)
    return Suppression(
        action=action,
        findings=len(quiet),
        shown=len(shown),
        judged=len(judged),
        effective=size,
        rate=rate,
        low=low,
        high=high,
    )


def _loud(decision: Decision) -> bool:
    """Whether an inline comment was open: where none was, nothing is known of how it would have been taken."""
    return any(action in LOUD for action in decision.available)


def _likeliest(decision: Decision) -> str:
    return max(zip(decision.probabilities, decision.available, strict=True))[1]
