"""Outcomes of findings, by action: the share that developers addressed, and how many hidden ones were welcome. Pure.

The share addressed rises when fewer findings are posted, or only trivial ones: read it beside their number and severity.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.intervals import effective, wilson
from memory.model import Action, Arm, LoggedDecision, SignalKind
from memory.policy.review_policy import PROTECTED
from memory.rewards import verdict

ADDRESSED = frozenset({SignalKind.SUGGESTION_APPLIED, SignalKind.FINDING_FIXED, SignalKind.FINDING_FIXED_ELSEWHERE})
IGNORED = frozenset({SignalKind.FINDING_SILENCED, SignalKind.FINDING_LEFT})
OTHERWISE = frozenset({SignalKind.FINDING_REWRITTEN, SignalKind.FINDING_GONE})
LOUD = frozenset({Action.INLINE, Action.INLINE_SUGGESTION})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressedShare:
    """The findings that got one action, of which `grave` are of security or correctness.

    `addressed` were fixed, `stood` were silenced or merged unchanged, `otherwise` were removed for other reasons. `share` is
    addressed of addressed and unchanged, with its 95 % interval; None without any.
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


def addressed(log: Sequence[LoggedDecision]) -> tuple[AddressedShare, ...]:
    """One line for each action of a review, from the decisions of both arms."""
    return tuple(_addressed(action, [each for each in log if each.decision.chosen == action]) for action in Action)


def _addressed(action: Action, log: Sequence[LoggedDecision]) -> AddressedShare:
    kinds = [{signal.kind for signal in each.signals} for each in log]
    fixed = sum(bool(kind & ADDRESSED) for kind in kinds)
    ignored = sum(bool(kind & IGNORED) and not kind & ADDRESSED for kind in kinds)
    low, high = wilson(fixed, fixed + ignored)
    return AddressedShare(
        action=action,
        findings=len(log),
        grave=sum(each.decision.state.family in PROTECTED for each in log),
        addressed=fixed,
        stood=ignored,
        otherwise=sum(bool(kind & OTHERWISE) and not kind & (ADDRESSED | IGNORED) for kind in kinds),
        share=fixed / (fixed + ignored) if fixed + ignored else None,
        low=low,
        high=high,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenShare:
    """What is known of one quiet action.

    The floor of exploration posts some findings inline that would have been held or summarised: of `findings` most likely
    to get the quiet action, `shown` were posted and `judged` got feedback. `rate` is the share that maintainers would have
    accepted, each verdict weighted by the inverse of its chance to be shown, with its 95 % interval at the effective size.
    """

    action: str
    findings: int
    shown: int
    judged: int
    effective: float
    rate: float | None
    low: float
    high: float


def suppression(log: Sequence[LoggedDecision]) -> tuple[HiddenShare, ...]:
    """The over-suppression rate of held and of summarised findings, from the decisions of reviews."""
    return tuple(_suppression(action, log) for action in (Action.HOLD, Action.SUMMARY))


def _suppression(action: Action, log: Sequence[LoggedDecision]) -> HiddenShare:
    could_be_shown = (e for e in log if e.decision.arm is Arm.LEARNED and not LOUD.isdisjoint(e.decision.available))
    quiet = [
        e for e in could_be_shown if max(zip(e.decision.probabilities, e.decision.available, strict=True))[1] == action
    ]
    shown = [entry for entry in quiet if entry.decision.chosen in LOUD]
    verdicts = [(entry.decision.probability, verdict(entry.signals)) for entry in shown]
    judged = [(1.0 / chance, value > 0.5) for chance, value in verdicts if value is not None]
    weights, accepted = np.array([w for w, _ in judged]), np.array([a for _, a in judged])
    size = effective(weights)
    # Self-normalised (Hájek 1971), with Wilson's interval at the effective size (as Korn and Graubard 1998 do with theirs).
    rate = float(weights @ accepted / weights.sum()) if judged else None
    low, high = wilson((rate or 0.0) * size, size)
    return HiddenShare(
        action=action,
        findings=len(quiet),
        shown=len(shown),
        judged=len(judged),
        effective=size,
        rate=rate,
        low=low,
        high=high,
    )
