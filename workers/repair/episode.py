"""One repair, told in verbs: reproduce, recall, choose, try, prove, learn, and again with what was learned.

The same episode serves GitHub and the command line. It changes nothing but our own memory; publishing is the caller's.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice

from memory.edits import edit_weights
from memory.experiences import Experiences, neighbours, replay_shapes
from memory.learner import Learner
from memory.model import (
    Arm,
    Attempt,
    AttemptOutcome,
    Decision,
    Experience,
    Failure,
    Recollection,
    State,
    Task,
    TaskKind,
)
from memory.rewards import repair_components
from memory.store import Store
from workers.ports import Sandbox
from workers.repair.arms import DEEP, lifted, open_arms, priors, replays
from workers.repair.classify import failure_of, signature
from workers.repair.engine import AttemptResult, Workbench
from workers.repair.lineup import Lineup
from workers.repair.reproduce import Reproduction, reproduce
from workers.repair.search import REPLAY
from workers.repair.templates import STRATEGIES, all_templates
from workers.sandbox.project import Project

NEIGHBOURS = 5

SLICE = 0.25
"""The share of the time left that one strategy may take."""


MOST_EXPERIENCES = 2000
"""How many of the latest attempts say how well each kind of edit does."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """What an episode works with. `workbench` opens a Workbench from its arguments."""

    sandbox: Sandbox
    store: Store
    learner: Learner
    experiences: Experiences
    rng: random.Random
    budget_seconds: float
    progress: Callable[[str], None]
    workbench: Callable[..., Workbench] = Workbench


def repair(task: Task, project: Project, tools: Toolbox) -> Repaired:
    """Repair the primary failure of a project within the budget. Raises CannotRun or BadInput when its tests cannot run."""
    started = time.monotonic()
    tools.experiences.warm()
    tools.progress("reproducing: running the test suite")
    reproduction = reproduce(tools.sandbox, project)
    failure = failure_of(reproduction.failing_report)
    if failure is None:
        return _ended(RepairStatus.NOTHING_FAILING, None, (), reproduction, 0, started)
    tools.progress(f"reproduced: {failure.error_type} in {len(failure.failing_tests)} failing tests")
    arm = tools.learner.arm(f"{task.repository}#{task.number}@{task.sha}")
    weights = {} if arm is Arm.CONTROL else _learned(failure, tools)
    with tools.workbench(tools.sandbox, project, reproduction, failure, tools.progress, weights=weights) as bench:
        episode = _Episode(task, failure, tools, bench, arm, started)
        attempts = episode.run()
        proven = any(a.outcome is AttemptOutcome.PROVEN for a in attempts)
        status = RepairStatus.FIXED if proven else RepairStatus.NOT_FIXED
        ended = _ended(status, failure, attempts, reproduction, bench.test_runs, started)
        return replace(ended, first=episode.first)


class _Episode:
    """The choices of one repair and what came of each."""

    def __init__(
        self, task: Task, failure: Failure, tools: Toolbox, bench: Workbench, arm: Arm, started: float
    ) -> None:
        self._task = task
        self._failure = failure
        self._tools = tools
        self._bench = bench
        self._deadline = started + tools.budget_seconds
        self._arm = arm
        self._recalled = self._recall()
        self._shapes = lifted(replay_shapes(self._recalled))
        seed = tools.rng.getrandbits(32)
        self._lineup = Lineup(bench.proposed(STRATEGIES, replay=self._shapes, seed=seed), tried=bench.tried)
        self._started = started
        self.first: FirstPlausible | None = None

    def run(self) -> tuple[Attempt, ...]:
        """Choose and try until something is proven, the strategies are used up, or time is."""
        attempts: list[Attempt] = []
        state = State(
            kind=TaskKind.REPAIR,
            repository=self._task.repository,
            label=self._failure.error_type,
            family=self._failure.family,
        )
        while self._seconds_left() > 0 and (left := self._left(state)):
            decision = self._choose(state, left)
            result = self._try(decision)
            self._note_first(result, sum(a.candidates for a in attempts))
            attempt = _attempt(decision, result)
            state = self._learn(decision, state, result, attempt)
            attempts.append(attempt)
            if attempt.outcome is AttemptOutcome.PROVEN:
                break
        return tuple(attempts)

    def _note_first(self, result: AttemptResult, before: int) -> None:
        if self.first is None and result.first is not None:
            seconds = result.first.at - self._started
            self.first = FirstPlausible(candidates=before + result.first.candidates, seconds=seconds)

    def _recall(self) -> tuple[Recollection, ...]:
        if self._arm is Arm.CONTROL:
            return ()
        recalled = self._tools.experiences.recall(
            signature=signature(self._failure),
            error_type=self._failure.error_type,
            family=self._failure.family,
            repository=self._task.repository,
            k=NEIGHBOURS,
        )
        if recalled:
            self._tools.progress(f"recalled: {len(recalled)} similar failures")
        return recalled

    def _priors(self) -> dict[str, float]:
        return priors(self._lineup.near(), replayable=replays(self._shapes) > 0)

    def _left(self, state: State) -> tuple[str, ...]:
        return open_arms(self._priors(), state.tried)

    def _choose(self, state: State, left: Sequence[str]) -> Decision:
        decision = self._tools.learner.decide(
            self._task.id, state, left, arm=self._arm, prior=self._priors(), evidence=neighbours(self._recalled)
        )
        self._tools.progress(f"chose: {decision.chosen} (probability {decision.probability:.2f}, {self._arm} arm)")
        return decision

    def _try(self, decision: Decision) -> AttemptResult:
        """The likeliest candidates of one strategy, or all that is left of all of them."""
        chosen, seed = decision.chosen, self._tools.rng.getrandbits(32)
        bench, slice_end = self._bench, min(time.monotonic() + self._seconds_left() * SLICE, self._deadline)
        if chosen == DEEP:
            everything = bench.with_pairs(self._lineup.rest())
            return bench.attempt(everything, strategies=STRATEGIES, deadline=self._deadline, seed=seed)
        if chosen == REPLAY:
            replayed = islice(bench.proposed((), replay=self._shapes, seed=seed), replays(self._shapes))
            return bench.attempt(replayed, strategies=(), deadline=slice_end, seed=seed)
        return bench.attempt(self._lineup.of(chosen), strategies=(chosen,), deadline=slice_end, seed=seed)

    def _learn(self, decision: Decision, state: State, result: AttemptResult, attempt: Attempt) -> State:
        """Conclude the decision, remember the experience; the state that the next choice is made in."""
        tools = self._tools
        tools.progress(attempt.reflection)
        # What a discarded edit turned the failure into is told in the reflection; the failure to repair is still the same.
        following = replace(state, tried=(*state.tried, decision.chosen))
        proven = attempt.outcome is AttemptOutcome.PROVEN
        tools.learner.conclude(
            decision,
            _components(self._failure, result, attempt),
            next_state=None if proven or not self._left(following) else following,
            next_available=self._left(following),
            prior=self._priors(),
        )
        tools.store.tasks.add_attempt(self._task.id, attempt)
        tools.experiences.remember(self._experience(decision, result, attempt))
        if proven:
            tools.experiences.helped(self._recalled, attempt.shape)
        return following

    def _experience(self, decision: Decision, result: AttemptResult, attempt: Attempt) -> Experience:
        return Experience(
            id=decision.id,
            repository=self._task.repository,
            task_id=self._task.id,
            error_type=self._failure.error_type,
            family=self._failure.family,
            signature=signature(self._failure),
            path=result.path,
            strategy=decision.chosen,
            outcome=attempt.outcome,
            reflection=attempt.reflection,
            patch=attempt.patch,
            shape=attempt.shape,
            created_at=decision.created_at,
            tried=result.tried,
        )

    def _seconds_left(self) -> float:
        return self._deadline - time.monotonic()


def _learned(failure: Failure, tools: Toolbox) -> dict[str, float]:
    """What the templates' priors are to be multiplied by for this kind of failure."""
    prior = {template.name: template.prior_for(failure.family) for template in all_templates()}
    return edit_weights(tools.experiences.latest(MOST_EXPERIENCES), failure.family, prior)


def _attempt(decision: Decision, result: AttemptResult) -> Attempt:
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


def _components(failure: Failure, result: AttemptResult, attempt: Attempt) -> dict[str, float]:
    proven = attempt.outcome is AttemptOutcome.PROVEN
    return repair_components(
        failing_before=len(failure.failing_tests),
        fixed=len(failure.failing_tests) if proven else result.fixed,
        broken=int(attempt.outcome is AttemptOutcome.UNPROVEN),
        moved=result.became is not None,
        proven=proven,
        patch_lines=sum(line.startswith(("+", "-")) for line in attempt.patch.splitlines()[2:]),
        candidates=attempt.candidates,
    )


def _ended(
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
