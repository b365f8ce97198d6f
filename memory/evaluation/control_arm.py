"""What learning was worth against the control arm, by intervals that may be looked at after every task. Pure."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from math import ceil

import numpy as np
from numpy.typing import NDArray

from memory.intervals import LEAST, Numbers, Z, confidence_sequence
from memory.model import Arm, LoggedDecision
from memory.policy.q_table import ACCEPTANCE_PRIOR
from memory.rewards import proven, verdict

Flags = NDArray[np.bool_]

POWER_Z = 0.841621
"""The normal quantile of a power of 80 %."""

WORTHWHILE = 0.05
"""A difference that is worth waiting for, where the present one is too small to be seen."""

TOO_MANY = 10_000
"""More further repairs than this are more than the answer is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """The result of a repair; `acceptance` is None where nothing was proven or there is no feedback."""

    task: str
    arm: Arm
    family: str
    version: str
    started: datetime
    proven: bool = False
    acceptance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmDifference:
    """Learned minus control with its 95 % interval. None, and a verdict that says so, where an arm has too little data."""

    difference: float | None
    low: float | None
    high: float | None
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Uplift(ArmDifference):
    """The difference in one measure, with an always-valid interval.

    `further` is how many more repairs it takes to see the present difference, None where no number can be named; `outlook`
    says it in words.
    """

    measure: str
    learned: int
    control: int
    further: int | None
    outlook: str


def results(log: Sequence[LoggedDecision]) -> list[TaskResult]:
    """One entry for each repair with an outcome, in the order they began."""
    found: dict[str, TaskResult] = {}
    for entry in log:
        decision = entry.decision
        if entry.outcome is None:
            continue
        result = found.setdefault(
            decision.task_id,
            TaskResult(
                task=decision.task_id,
                arm=decision.arm,
                family=decision.state.family,
                version=decision.policy_version,
                started=decision.created_at,
            ),
        )
        if proven(entry.outcome):
            judged = verdict(entry.signals)
            acceptance = result.acceptance if judged is None else judged
            found[decision.task_id] = replace(result, proven=True, acceptance=acceptance)
    return sorted(found.values(), key=lambda each: (each.started, each.task))


def learned_ones(tasks: Sequence[TaskResult]) -> Flags:
    return np.array([each.arm is Arm.LEARNED for each in tasks], dtype=np.bool_)


def fixed(tasks: Sequence[TaskResult]) -> Numbers:
    """1 for each repair that was proven."""
    return np.array([float(each.proven) for each in tasks])


def accepted(tasks: Sequence[TaskResult]) -> Numbers:
    """One number a repair whose mean estimates the chance of a proven fix that maintainers accept.

    Silence is censored: a proven fix without feedback counts as its arm's mean acceptance so far, and each verdict for as
    many proven ones as it represents (augmented inverse probability weighting, as if silence did not depend on the verdict).
    """
    is_proven = np.array([each.proven for each in tasks], dtype=np.bool_)
    is_judged = np.array([each.acceptance is not None for each in tasks], dtype=np.bool_)
    verdicts, learned = np.array([each.acceptance or 0.0 for each in tasks]), learned_ones(tasks)
    found = np.zeros(len(tasks))
    for arm in (learned, ~learned):
        judged, shown = arm & is_judged, arm & is_proven
        expected = _running_mean(verdicts, judged, start=ACCEPTANCE_PRIOR)
        share = shown.sum() / max(judged.sum(), 1)
        found += np.where(shown, expected, 0.0) + np.where(judged, (verdicts - expected) * share, 0.0)
    return found


def arm_difference(treated: Flags, outcomes: Numbers) -> Numbers:
    """One number a task whose mean estimates the mean outcome of the treated minus that of the others.

    Augmented inverse propensity weighting (Robins, Rotnitzky and Zhao 1994) with the observed share and, as predictions,
    the running means of the tasks before, in their order. Empty unless both arms have `LEAST`.
    """
    count = int(treated.sum())
    if min(count, len(treated) - count) < LEAST:
        return np.zeros(0)
    share = count / len(treated)
    ours, theirs = (_running_mean(outcomes, arm, start=0.5) for arm in (treated, ~treated))
    weighted: Numbers = np.where(treated, (outcomes - ours) / share, -(outcomes - theirs) / (1.0 - share))
    return ours - theirs + weighted


def _running_mean(values: Numbers, counted: Flags, *, start: float) -> Numbers:
    """Before each place, the mean of the counted values so far, from `start` that counts as one."""
    kept, count = np.where(counted, values, 0.0), counted.astype(np.float64)
    return np.asarray((start + np.cumsum(kept) - kept) / (1.0 + np.cumsum(count) - count), dtype=np.float64)


def uplift(tasks: Sequence[TaskResult], control_share: float) -> tuple[Uplift, ...]:
    """Learned minus control: in the share of repairs that are fixed, and in the share that are fixed and accepted.

    `control_share` is the share of repairs that will belong to the control arm.
    """
    outcomes = {"fixed": fixed(tasks), "fixed and accepted": accepted(tasks)}
    return tuple(_uplift(measure, tasks, found, control_share) for measure, found in outcomes.items())


def _uplift(measure: str, tasks: Sequence[TaskResult], outcomes: Numbers, control_share: float) -> Uplift:
    learned = learned_ones(tasks)
    effects = arm_difference(learned, outcomes)
    found = confidence_sequence(effects)
    ours, theirs = int(learned.sum()), int((~learned).sum())
    what = "always-valid 95 % interval"
    shown = unknown(ours, theirs, LEAST) if found is None else compared(found.mean, found.low, found.high, what)
    further, outlook = _until_known(ours, theirs, control_share) if found is None else _until_seen(effects, found.mean)
    return Uplift(measure=measure, learned=ours, control=theirs, further=further, outlook=outlook, **asdict(shown))


def needed(deviation: float, difference: float) -> int:
    """How many repairs show a difference with a chance of 80 %, two-sided at 5 %, looked at once.

    n = ((z of 97.5 % + z of 80 %) * deviation / difference)^2 (Chow, Shao and Wang 2003), where `deviation` is that of the
    numbers whose mean is the difference: with a control arm of a tenth about ten times the variance of one repair.
    """
    return ceil(((Z + POWER_Z) * deviation / difference) ** 2)


def _about(repairs: int) -> str:
    """A number that is known no better than to two digits."""
    return f"about {float(f'{repairs:.2g}'):,.0f}"


def _until_known(learned: int, control: int, control_share: float) -> tuple[int | None, str]:
    """How many more repairs it takes until each arm has `LEAST`."""
    arms = ((control_share, LEAST - control), (1.0 - control_share, LEAST - learned))
    short = [(share, missing) for share, missing in arms if missing > 0]
    if any(share <= 0.0 for share, _ in short):
        return None, "no number of repairs: one arm gets none (APPRENTICE_CONTROL_SHARE)"
    further = ceil(max(missing / share for share, missing in short))
    return further, f"{_about(further)} more repairs until there is a figure"


def _until_seen(effects: Numbers, difference: float) -> tuple[int | None, str]:
    """How many more repairs it takes to see the present difference, and whether that is worth waiting for."""
    deviation, n = float(effects.std(ddof=1)), len(effects)
    further = max(needed(deviation, difference) - n, 0) if abs(difference) > deviation / 1000 else None
    if further == 0:
        return 0, f"none more: {n:,} repairs suffice to see a difference as large as {difference:+.2f}"
    if further is not None and further <= TOO_MANY:
        return further, f"{_about(further)} more repairs to see a difference as large as {difference:+.2f}"
    rest = max(needed(deviation, WORTHWHILE) - n, 0)
    waiting = f"{_about(rest)} more" if rest else "none more"
    many = "more than can be named" if further is None else f"{_about(further)} more"
    return further, (
        f"more than it is worth: {many} repairs to see a difference as small as {difference:+.3f}; "
        f"{waiting} to see one of {WORTHWHILE:.2f}"
    )


def unknown(learned: int, control: int, least: int = 1) -> ArmDifference:
    """What there is to say where an arm has too little data."""
    line = f"not known yet: {learned} learned and {control} control, at least {least} of each are needed"
    return ArmDifference(difference=None, low=None, high=None, verdict=line)


def compared(
    gap: float, low: float, high: float, interval: str = "95 % interval", *, better_when_higher: bool = True
) -> ArmDifference:
    """Learned minus control by an interval of this name."""
    line = f"{gap:+.2f} ({interval} {low:+.2f} to {high:+.2f})"
    if low <= 0.0 <= high:
        line += ": no difference shown between learning and the control arm"
    else:
        line += f": learning is {'better' if (gap > 0) is better_when_higher else 'worse'} than the control arm"
    return ArmDifference(difference=gap, low=low, high=high, verdict=line)
