"""What learning was worth against the control arm, by intervals that may be looked at as often as one likes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memory.evaluation import proven, verdict
from memory.model import Arm, Logged
from memory.policy import ACCEPTANCE_PRIOR
from memory.sequences import LEAST, arm_difference, band

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """How a repair ended; `acceptance` is None where nothing was proven or nobody judged it."""

    task: str
    arm: Arm
    version: str
    started: datetime
    proven: bool
    acceptance: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Uplift:
    """Learned minus control in one measure, with its always-valid 95 % interval; None where there is too little."""

    measure: str
    learned: int
    control: int
    difference: float | None
    low: float | None
    high: float | None
    verdict: str


def results(log: Sequence[Logged]) -> list[TaskResult]:
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
                version=decision.policy_version,
                started=decision.created_at,
                proven=False,
                acceptance=None,
            ),
        )
        if proven(entry.outcome):
            found[decision.task_id] = replace(result, proven=True, acceptance=verdict(entry.signals))
    return sorted(found.values(), key=lambda each: (each.started, each.task))


def fixed(tasks: Sequence[TaskResult]) -> Numbers:
    """1 for each repair that was proven."""
    return np.array([float(each.proven) for each in tasks])


def accepted(tasks: Sequence[TaskResult]) -> Numbers:
    """One number a repair whose mean estimates the chance of a proven fix that people accept.

    Silence is censored: what nobody judged counts as its arm's mean acceptance so far, and each verdict for as many
    proven ones as it stands for, so that the spread tells how few verdicts there are (augmented inverse probability
    weighting, as if silence did not hang on the verdict).
    """
    proven_ones = np.array([each.proven for each in tasks], dtype=np.bool_)
    judged = np.array([each.acceptance is not None for each in tasks], dtype=np.bool_)
    said = np.array([each.acceptance or 0.0 for each in tasks])
    found = np.zeros(len(tasks))
    for arm in Arm:
        ours = np.array([each.arm is arm for each in tasks], dtype=np.bool_)
        heard, shown = ours & judged, ours & proven_ones
        expected = (ACCEPTANCE_PRIOR + _before(np.where(heard, said, 0.0))) / (1.0 + _before(heard.astype(np.float64)))
        stands_for = shown.sum() / max(heard.sum(), 1)
        found += np.where(shown, expected, 0.0) + np.where(heard, (said - expected) * stands_for, 0.0)
    return found


def _before(values: Numbers) -> Numbers:
    """At each place, the sum of those before it."""
    return np.asarray(np.cumsum(values) - values, dtype=np.float64)


def uplift(tasks: Sequence[TaskResult]) -> tuple[Uplift, ...]:
    """Learned minus control: in the share of repairs that are fixed, and in the share that are fixed and accepted."""
    return (_uplift("fixed", tasks, fixed(tasks)), _uplift("fixed and accepted", tasks, accepted(tasks)))


def _uplift(measure: str, tasks: Sequence[TaskResult], outcomes: Numbers) -> Uplift:
    learned = np.array([each.arm is Arm.LEARNED for each in tasks], dtype=np.bool_)
    found = band(arm_difference(learned, outcomes))
    counts = {"learned": int(learned.sum()), "control": int((~learned).sum())}
    if found is None:
        told = f"not known yet: {counts['learned']} learned and {counts['control']} control, at least {LEAST} of each are needed"
        return Uplift(measure=measure, difference=None, low=None, high=None, verdict=told, **counts)
    interval = f"{found.mean:+.2f} (always-valid 95 % interval {found.low:+.2f} to {found.high:+.2f})"
    if found.low <= 0.0 <= found.high:
        told = f"{interval}: no difference shown between learning and the control arm"
    else:
        told = f"{interval}: learning is {'better' if found.mean > 0 else 'worse'} than the control arm"
    return Uplift(measure=measure, difference=found.mean, low=found.low, high=found.high, verdict=told, **counts)
