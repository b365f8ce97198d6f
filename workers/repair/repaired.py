"""What came of a repair and of its attempts, as values. Pure but for the clock that says how long it took."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum

from memory.learner import usual
from memory.model import Attempt, AttemptOutcome, Decision, Experience, Failure, Task
from memory.rewards import repair_components
from workers.repair.classify import signature
from workers.repair.engine import AttemptResult
from workers.repair.reproduce import Reproduction


class RepairStatus(StrEnum):
    """How a repair ended, in the words of `apprentice fix --json`."""

    FIXED = "fixed"
    NOT_FIXED = "not_fixed"
    NOTHING_FAILING = "nothing_failing"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPlausible:
    """How many candidates were tried up to the first plausible one, over all attempts, and seconds since the start."""

    candidates: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What came of a repair. `tests` is how many were collected, `flaky` those set aside because they failed only once."""

    status: RepairStatus
    failure: Failure | None
    attempts: tuple[Attempt, ...]
    tests: int
    flaky: tuple[str, ...]
    candidates: int
    test_runs: int
    seconds: float
    first: FirstPlausible | None = None

    @property
    def proven(self) -> Attempt | None:
        """The attempt that carries a proof."""
        return next((a for a in self.attempts if a.outcome is AttemptOutcome.PROVEN), None)


def attempt_of(decision: Decision, result: AttemptResult) -> Attempt:
    return Attempt(
        decision_id=decision.id,
        strategy=decision.chosen,
        probability=decision.probability,
        candidates=result.candidates,
        rivals=result.rivals,
        outcome=result.outcome,
        reflection=result.reflection,
        patch=result.patch,
        shape=result.shape,
        proof=result.proof,
    )


def components(failure: Failure, result: AttemptResult, attempt: Attempt) -> dict[str, float]:
    proven = attempt.outcome is AttemptOutcome.PROVEN
    return repair_components(
        failing_before=len(failure.failing_tests),
        fixed=len(failure.failing_tests) if proven else result.fixed,
        broken=int(attempt.outcome is AttemptOutcome.UNPROVEN),
        moved=result.became is not None,
        proven=proven,
        patch_lines=sum(line.startswith(("+", "-")) for line in attempt.patch.splitlines()[2:]),
        candidates=attempt.candidates,
        wasted=result.wasted,
    )


def experience_of(
    task: Task, failure: Failure, decision: Decision, result: AttemptResult, attempt: Attempt
) -> Experience:
    """What is to be remembered of an attempt."""
    return Experience(
        id=decision.id,
        repository=task.repository,
        task_id=task.id,
        error_type=failure.error_type,
        family=failure.family,
        signature=signature(failure),
        path=result.path,
        strategy=decision.chosen,
        outcome=attempt.outcome,
        reflection=attempt.reflection,
        patch=attempt.patch,
        shape=attempt.shape,
        created_at=decision.created_at,
        tried=result.tried,
        rewrites=result.rewrites,
        usual=usual(decision),
    )


def ended(
    status: RepairStatus,
    failure: Failure | None,
    attempts: tuple[Attempt, ...],
    reproduction: Reproduction,
    test_runs: int,
    started: float,
) -> Repaired:
    return Repaired(
        status=status,
        failure=failure,
        attempts=attempts,
        tests=len(reproduction.report.results),
        flaky=reproduction.flaky,
        candidates=sum(attempt.candidates for attempt in attempts),
        test_runs=reproduction.test_runs + test_runs,
        seconds=time.monotonic() - started,
    )
