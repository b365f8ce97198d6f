"""One repair, told in verbs: reproduce, recall, choose, try, prove, learn, and again with what was learned.

The same episode serves GitHub and the command line. It changes nothing but our own memory; publishing is the caller's.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from memory.edits import edit_weights
from memory.experiences import Experiences, neighbours, replay_shapes
from memory.learner import Learner
from memory.model import (
    Arm,
    Attempt,
    AttemptOutcome,
    Decision,
    EditShape,
    Failure,
    NearMiss,
    Recollection,
    RetryMode,
    State,
    Task,
    TaskKind,
)
from memory.preferences.collecting import Taste
from memory.skills import current, usable
from memory.store import Store
from workers.ports import Sandbox
from workers.repair.arms import DEEP, TURN_PRIOR, lifted, open_arms, priors, replays
from workers.repair.candidates import Candidate
from workers.repair.classify import failure_of, signature
from workers.repair.engine import SINGLES_FIRST, AttemptResult, Workbench
from workers.repair.lineup import Lineup
from workers.repair.reflection import LONGEST_MESSAGE
from workers.repair.repaired import (
    FirstPlausible,
    Repaired,
    RepairStatus,
    attempt_of,
    components,
    ended,
    experience_of,
)
from workers.repair.reproduce import Reproduction, reproduce
from workers.repair.retrial import Retrial
from workers.repair.retry import by_score, put_off
from workers.repair.search import REPLAY
from workers.repair.skills import templates_of
from workers.repair.templates import STRATEGIES, Template, all_templates
from workers.sandbox.project import Project

NEIGHBOURS = 5

SKILLED = 3
"""So many edits of skills are tried before anything else at most, of skills that do better than a strategy's turn."""

RESUMED = 40
"""Candidates of one edit before any of two, where an earlier repair left something to build upon."""

SLICE = 0.25
"""The share of the time left that one strategy may take."""

MOST_EXPERIENCES = 2000
"""How many of the latest attempts say how well each kind of edit does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """What an episode works with. `workbench` opens a Workbench from its arguments; `retries` are the modes to choose from,
    `taste` is a repository's people's.
    """

    sandbox: Sandbox
    store: Store
    learner: Learner
    experiences: Experiences
    rng: random.Random
    budget_seconds: float
    progress: Callable[[str], None]
    workbench: Callable[..., Workbench] = Workbench
    retries: tuple[RetryMode, ...] = tuple(RetryMode)
    taste: Callable[[str], Taste | None] = lambda _repository: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A failure that was seen: `failure` is None when nothing failed, `started` is of time.monotonic."""

    task: Task
    project: Project
    reproduction: Reproduction
    failure: Failure | None
    arm: Arm
    started: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What came of a search: its attempts, how often tests were run for it, and the first plausible candidate."""

    attempts: tuple[Attempt, ...]
    test_runs: int
    first: FirstPlausible | None


def repair(task: Task, project: Project, tools: Toolbox) -> Repaired:
    """Repair the primary failure of a project within the budget. Raises CannotRun or BadInput when its tests cannot run."""
    case = reproduced(task, project, tools)
    if case.failure is None:
        return ended(RepairStatus.NOTHING_FAILING, None, (), case.reproduction, 0, case.started)
    found = search(case, case.failure, tools, seconds=case.started + tools.budget_seconds - time.monotonic())
    return concluded(case, found.attempts, found.test_runs, found.first)


def reproduced(task: Task, project: Project, tools: Toolbox) -> Case:
    """See what fails with our own eyes. Raises CannotRun or BadInput when the tests cannot run."""
    started = time.monotonic()
    tools.experiences.warm()
    tools.progress("reproducing: running the test suite")
    reproduction = reproduce(tools.sandbox, project)
    failure = failure_of(reproduction.failing_report)
    if failure is not None:
        tools.progress(f"reproduced: {failure.error_type} in {len(failure.failing_tests)} failing tests")
    arm = tools.learner.arm(f"{task.repository}#{task.number}@{task.sha}")
    return Case(task=task, project=project, reproduction=reproduction, failure=failure, arm=arm, started=started)


def search(case: Case, failure: Failure, tools: Toolbox, *, seconds: float) -> Searched:
    """Search for a repair with the embedded engine, for so many seconds."""
    learned = case.arm is not Arm.CONTROL
    weights, taste = (_learned(failure, tools), tools.taste(case.task.repository)) if learned else ({}, None)
    opened = (tools.sandbox, case.project, case.reproduction, failure, tools.progress)
    with tools.workbench(*opened, weights=weights, taste=taste) as bench:
        episode = _Episode(case, failure, tools, bench, time.monotonic() + seconds)
        attempts = episode.run()
        return Searched(attempts=attempts, test_runs=bench.test_runs, first=episode.first)


def concluded(case: Case, attempts: tuple[Attempt, ...], test_runs: int, first: FirstPlausible | None) -> Repaired:
    """The end of a repair whose failure was seen."""
    proven = any(attempt.outcome is AttemptOutcome.PROVEN for attempt in attempts)
    status = RepairStatus.FIXED if proven else RepairStatus.NOT_FIXED
    done = ended(status, case.failure, attempts, case.reproduction, test_runs, case.started)
    return replace(done, first=first)


class _Episode:
    """The choices of one repair and what came of each."""

    def __init__(self, case: Case, failure: Failure, tools: Toolbox, bench: Workbench, deadline: float) -> None:
        self._task = case.task
        self._failure = failure
        self._tools = tools
        self._bench = bench
        self._deadline = deadline
        self._arm = case.arm
        self._recalled = self._recall()
        self._shapes = lifted(replay_shapes(self._recalled))
        self._skills = self._learned()
        self._retrial = Retrial(case.task, failure, tools.store, tools.learner, case.arm, tools.retries)
        seed = tools.rng.getrandbits(32)
        self._lineup = Lineup(self._in_order(STRATEGIES, replay=self._shapes, seed=seed), tried=bench.tried)
        self._first = self._tried_first()
        self._started = case.started
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
            before = len(self._bench.screened)
            result = self._try(decision)
            self._note_first(result, sum(a.candidates for a in attempts))
            attempt = attempt_of(decision, result)
            state = self._learn(decision, state, result, attempt)
            self._retrial.reflect(decision, attempt, self._nearest(result), self._bench.screened[before:])
            attempts.append(attempt)
            if attempt.outcome is AttemptOutcome.PROVEN:
                break
        self._retrial.conclude(attempts)
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
            read=self._bench.sources.get,
        )
        if recalled:
            self._tools.progress(f"recalled: {len(recalled)} similar failures")
        return recalled

    def _learned(self) -> tuple[Template, ...]:
        """The skills that may be used here."""
        if self._arm is Arm.CONTROL:
            return ()
        return templates_of(usable(current(self._tools.store), self._task.repository, self._tools.learner.quorum))

    def _in_order(
        self, strategies: Sequence[str], *, replay: Mapping[EditShape, float] | None = None, seed: int
    ) -> Iterator[Candidate]:
        """What is proposed, best first, and what failed in an earlier repair later than that."""
        learned = () if strategies else self._skills
        proposed = self._bench.proposed(strategies, replay=replay, learned=learned, seed=seed)
        return put_off(proposed, self._retrial.given.later, self._bench.digest)

    def _tried_first(self) -> tuple[Candidate, ...]:
        """What came nearest in an earlier repair, then edits of skills that do better than the likeliest strategy's turn."""
        again = [found for miss in self._retrial.given.start if (found := self._bench.again(miss)) is not None]
        good = [skill for skill in self._skills if skill.prior >= TURN_PRIOR]
        return (*again, *islice(self._bench.proposed((), learned=good) if good else (), SKILLED))

    def _priors(self) -> dict[str, float]:
        return priors(self._lineup.near(), replayable=bool(self._first) or replays(self._shapes) > 0)

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
            singles = by_score(self._lineup.rest(), self._in_order((), seed=seed) if self._skills else iter(()))
            everything = bench.with_pairs(singles, RESUMED if self._retrial.given.start else SINGLES_FIRST)
            return bench.attempt(everything, strategies=STRATEGIES, deadline=self._deadline, seed=seed)
        if chosen == REPLAY:
            replayed = islice(bench.proposed((), replay=self._shapes, seed=seed), replays(self._shapes))
            return bench.attempt(chain(self._first, replayed), strategies=(), deadline=slice_end, seed=seed)
        return bench.attempt(self._lineup.of(chosen), strategies=(chosen,), deadline=slice_end, seed=seed)

    def _nearest(self, result: AttemptResult) -> NearMiss | None:
        if result.nearest is None:
            return None
        found = result.nearest.candidate
        return NearMiss(
            path=found.path,
            line=found.line,
            template=found.template,
            edit=self._bench.diff(found),
            passed=result.nearest.passed,
            error_type=result.nearest.error_type,
            message=result.nearest.message[:LONGEST_MESSAGE],
        )

    def _learn(self, decision: Decision, state: State, result: AttemptResult, attempt: Attempt) -> State:
        """Conclude the decision, remember the experience; the state that the next choice is made in."""
        tools = self._tools
        tools.progress(attempt.reflection)
        # What a discarded edit turned the failure into is told in the reflection; the failure to repair is still the same.
        following = replace(state, tried=(*state.tried, decision.chosen))
        tools.learner.conclude(decision, components(self._failure, result, attempt))
        tools.store.tasks.add_attempt(self._task.id, attempt)
        tools.experiences.remember(experience_of(self._task, self._failure, decision, result, attempt))
        if attempt.outcome is AttemptOutcome.PROVEN:
            tools.experiences.helped(self._recalled, attempt.shape)
        return following

    def _seconds_left(self) -> float:
        return self._deadline - time.monotonic()


def _learned(failure: Failure, tools: Toolbox) -> dict[str, float]:
    """What the templates' priors are to be multiplied by for this kind of failure."""
    prior = {template.name: template.prior_for(failure.family) for template in all_templates()}
    return edit_weights(tools.experiences.latest(MOST_EXPERIENCES), failure.family, prior)
