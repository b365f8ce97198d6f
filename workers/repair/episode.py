"""One repair: reproduce, recall, choose, try, prove, learn, and again with what was learned.

GitHub and the command line run this one loop, with a model and without one. It changes nothing but the memory; the caller
publishes the result.
"""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from memory.model import (
    EMBEDDED,
    EVERYTHING,
    STOP,
    Arm,
    Attempt,
    AttemptEffect,
    AttemptOutcome,
    Decision,
    Failure,
    Recollection,
    Task,
)
from memory.policy.q_table import Remembered
from workers.repair.classify import failure_of, signature
from workers.repair.engines.engine import Engine, OpenStrategies, PreviousAttempts, RepairDeps, ReproducedFailure
from workers.repair.engines.search.engine import open_search
from workers.repair.judging.prove import reserved
from workers.repair.reproduce import Reproduction, reproduce, sources_of
from workers.repair.result import (
    AttemptResult,
    FirstPlausible,
    Repaired,
    RepairStatus,
    SearchEffort,
    attempt_effect,
    attempt_of,
    choice_components,
    components,
    experience_of,
)
from workers.repair.time_allowance import Deadline, TimedSandbox
from workers.sandbox.project import Project
from workers.sandbox.report import TestOutcome, TestResult, shortened
from workers.sandbox.test_ids import function_of

RECALLED = 5

REPRODUCTION_SHARE = 1 / 3
"""The share of the budget that finding what fails may take. At least half is left to the search, see judging.prove.reserved."""

TOGETHER = 0.5
"""The share of the search in which an edit is looked for that repairs all tests of a failure, before one of them is looked at
alone: bugs whose tests fail alike are one failure at first."""


class EngineFactory(Protocol):
    """Opens an engine beside the search for a case; `seconds` are added to the budget for it."""

    @property
    def seconds(self) -> float: ...

    def open(self, case: ReproducedFailure, deps: RepairDeps, previous: PreviousAttempts) -> Engine:
        """The engine for one repair."""


def repair(
    task: Task,
    project: Project,
    deps: RepairDeps,
    llm: EngineFactory | None = None,
    named: Sequence[str] = (),
    before: Mapping[str, bytes | None] = {},
) -> Repaired:
    """Repair the primary failure of a project within the budget, by search alone unless `llm` opens another engine.

    Tests that are `named` as failing are run first, then those in the files that `before` holds (see reproduce); of several
    failures one in such a file is repaired. A third of the budget at most finds what fails; the last seconds of it are kept
    for a proof. Where the search finds nothing that repairs several tests together, it goes on with one of them alone.

    Raises CannotRun or BadInput when the tests cannot run. A model that cannot be used, or whose budget is spent, fails
    nothing: the result holds what was tried before that.
    """
    started = time.monotonic()
    deps.experiences.warm()
    deadline = started + deps.budget_seconds + (llm.seconds if llm else 0.0)
    deps = replace(deps, sandbox=TimedSandbox(sandbox=deps.sandbox, deadline=Deadline(deadline)))
    deps.progress("finding what fails: running the tests that failed last, or all tests")
    seconds = REPRODUCTION_SHARE * deps.budget_seconds
    reproduction = reproduce(deps.sandbox, project, limits=deps.limits, seconds=seconds, named=named, before=before)
    failure = failure_of(reproduction.failing_report, before)
    if failure is None:
        return _base_result(reproduction, started)
    part = "" if reproduction.whole or named else ", as far as tests ran"
    deps.progress(f"{_found(failure, _others(failure, reproduction))}{part}")
    return _Loop(_case(task, project, reproduction, failure, deps, started), deps).run(llm)


def _base_result(reproduction: Reproduction, started: float) -> Repaired:
    """The result as far as the tests alone make it; `started` is a time of time.monotonic."""
    results = reproduction.report.results
    return Repaired(
        status=RepairStatus.NOTHING_FAILING,
        failure=None,
        attempts=(),
        tests=len(results) - len(reproduction.set_aside),
        skipped=sum(each.outcome is TestOutcome.SKIPPED for each in results),
        flaky=reproduction.flaky,
        set_aside=reproduction.set_aside,
        candidates=0,
        test_runs=reproduction.test_runs,
        seconds=time.monotonic() - started,
    )


def _others(failure: Failure, reproduction: Reproduction) -> int:
    """How many other tests fail, otherwise or where nothing was changed."""
    return len(reproduction.failing_report.failing()) - len(failure.failing_tests)


def _of_one_test(failure: Failure, reproduction: Reproduction) -> Failure | None:
    """The failure of one test function with all its parameters: the one that runs the fewest lines, as fewest are suspected then.

    None where a single one fails, or where test files cannot be collected.
    """
    report, functions = reproduction.failing_report, defaultdict[str, list[TestResult]](list)
    for result in report.failing():
        if result.id in failure.failing_tests and "::" in result.id:
            functions[function_of(result.id)].append(result)

    if len(functions) < 2:
        return None

    def lines(function: str) -> int:
        return sum(map(len, reproduction.lines.get(functions[function][0].id, {}).values()))

    return failure_of(replace(report, results=tuple(functions[min(functions, key=lines)])))


def _found(failure: Failure, others: int) -> str:
    """What is to be repaired, for the progress."""
    tests = len(failure.failing_tests)
    kind = "test" if "::" in failure.failing_tests[0] else "test file"
    subject = f"1 {kind} fails" if tests == 1 else f"{tests} {kind}s fail"
    more = f" and {tests - 1} more" if tests > 1 else ""
    rest = f"; {others} more fail" if others else ""
    return f"{subject} with {failure.error_type}: {shortened(failure.failing_tests[0])}{more}{rest}"


def status_of(attempts: Sequence[Attempt]) -> RepairStatus:
    proven = [attempt.proof for attempt in attempts if attempt.outcome is AttemptOutcome.PROVEN]
    if not proven:
        return RepairStatus.NOT_FIXED
    return RepairStatus.UNDECIDED if proven[0] is not None and proven[0].contested else RepairStatus.FIXED


def _case(
    task: Task, project: Project, reproduction: Reproduction, failure: Failure, deps: RepairDeps, started: float
) -> ReproducedFailure:
    """The failure with what is recalled for it; the control arm recalls nothing."""
    arm = deps.learner.arm(f"{task.repository}#{task.number}@{task.sha}")
    sources = sources_of(project, reproduction)
    recalled: tuple[Recollection, ...] = ()
    evidence: Mapping[str, Remembered] = {}
    if remembers := deps.remember and arm is not Arm.CONTROL:
        memories, like = deps.experiences.at_hand(), signature(failure)
        evidence = memories.alike(signature=like, error_type=failure.error_type)
        recalled = memories.recall(
            signature=like,
            error_type=failure.error_type,
            family=failure.family,
            repository=task.repository,
            k=RECALLED,
            read=sources.get,
        )
    if recalled:
        here = sum(each.experience.repository == task.repository for each in recalled)
        deps.progress(f"similar failures in memory: {here} of this repository, {len(recalled) - here} of others")
    return ReproducedFailure(
        task=task,
        project=project,
        reproduction=reproduction,
        failure=failure,
        sources=sources,
        arm=arm,
        remembers=remembers,
        recalled=recalled,
        evidence=evidence,
        started=started,
    )


class _Loop:
    """The choices of one repair and the outcome of each."""

    def __init__(self, case: ReproducedFailure, deps: RepairDeps) -> None:
        self._case = case
        self._deps = deps
        self._previous = PreviousAttempts(case, deps)
        self._after: AttemptEffect | None = None
        self._stopped = False
        self._alone = ""
        self._first: FirstPlausible | None = None
        self._candidates = 0
        self._test_runs = 0
        self._proof_seconds = 0.0
        self._late = ""

    def run(self, llm: EngineFactory | None) -> Repaired:
        """The whole repair; with a model, the search is one of the strategies to choose from."""
        if llm is not None:
            return self._result(self._tries(llm.open(self._case, self._deps, self._previous)))
        part = _of_one_test(self._case.failure, self._case.reproduction)
        attempts = self._search(self._left(), TOGETHER if part else 1.0)
        if part and not self._stopped and status_of(attempts) is RepairStatus.NOT_FIXED:
            attempts += self._search_for(part)
        return self._result(attempts)

    def _left(self) -> float:
        return self._case.started + self._deps.budget_seconds - time.monotonic()

    def _search_for(self, part: Failure) -> tuple[Attempt, ...]:
        """Search for a repair of a part of the failure, which is what was repaired if that finds one."""
        whole, self._alone = self._case, function_of(part.failing_tests[0])
        self._deps.progress(f"the tests may fail for different reasons: now for {shortened(self._alone)} alone")
        self._case = replace(whole, failure=part)
        self._previous, self._after = PreviousAttempts(self._case, self._deps), None
        attempts = self._search(self._left())
        if status_of(attempts) is RepairStatus.NOT_FIXED:
            self._case = whole
        return attempts

    def _search(self, seconds: float, share: float = 1.0) -> tuple[Attempt, ...]:
        with open_search(self._case, self._deps, self._previous, seconds, share) as engine:
            return self._tries(engine)

    def _tries(self, engine: Engine) -> tuple[Attempt, ...]:
        """Choose and try until something is proven, no strategy is open, or none is worth its cost."""
        attempts: list[Attempt] = []
        tried: tuple[str, ...] = ()
        while (strategies := engine.open_strategies(tried)) is not None:
            decision = self._choose(strategies, tried)
            if decision.chosen == STOP:
                self._stopped = True
                self._deps.learner.conclude(decision, {})
                break
            tried = (*tried, decision.chosen)
            embedded = decision.chosen == EMBEDDED
            attempts += self._searched(decision) if embedded else [self._try(engine, decision)]
            if attempts and attempts[-1].outcome is AttemptOutcome.PROVEN:
                break
        spent = engine.close(attempts)
        self._test_runs += spent.test_runs
        self._proof_seconds += spent.proof_seconds
        return tuple(attempts)

    def _choose(self, strategies: OpenStrategies, tried: tuple[str, ...]) -> Decision:
        """One of the open strategies; after the first attempt, stopping is a choice as well."""
        decision = self._deps.learner.decide(
            self._case.task.id,
            self._case.state(tried, self._after),
            (*strategies.priors, *([STOP] if tried and self._deps.gives_up else [])),
            arm=self._case.arm,
            prior=strategies.priors,
            evidence=self._case.evidence,
            attempts=strategies.attempts,
            costs=strategies.costs,
        )
        stopping = "stopping: what is left has hardly ever repaired such a failure here"
        self._deps.progress(stopping if decision.chosen == STOP else f"trying strategy {decision.chosen}")
        return decision

    def _searched(self, decision: Decision) -> tuple[Attempt, ...]:
        """The attempts of a whole search that was chosen as one strategy, which is concluded by their end."""
        attempts = self._search(self._deps.budget_seconds)
        if attempts:
            self._deps.learner.conclude(decision, choice_components(self._case.failure, attempts))
        return attempts

    def _try(self, engine: Engine, decision: Decision) -> Attempt:
        """One strategy's attempt, stored, concluded and remembered."""
        began = time.monotonic()
        result = engine.attempt(decision)
        self._after = attempt_effect(result)
        if self._first is None and result.first is not None:
            seconds = began - self._case.started + result.first.seconds
            self._first = FirstPlausible(candidates=self._candidates + result.first.candidates, seconds=seconds)
        self._candidates += result.candidates
        self._late = self._late or result.late
        attempt = attempt_of(decision, result)
        self._deps.progress(f"{attempt.reflection.partition('. ')[0].removesuffix('.')}")
        self._deps.store.tasks.add_attempt(self._case.task.id, attempt)
        if result.counts:
            self._learn(engine, decision, attempt, result)
        return attempt

    def _result(self, attempts: tuple[Attempt, ...]) -> Repaired:
        case, status = self._case, status_of(attempts)
        found = replace(
            _base_result(case.reproduction, case.started),
            status=status,
            failure=case.failure,
            attempts=attempts,
            candidates=self._candidates,
            test_runs=case.reproduction.test_runs + self._test_runs,
            proof_seconds=self._proof_seconds,
            first=self._first,
            others=_others(case.failure, case.reproduction),
        )
        if status is RepairStatus.NOT_FIXED:
            return replace(found, effort=self._effort(attempts, found.seconds), late=self._late)
        return found

    def _effort(self, attempts: Sequence[Attempt], seconds: float) -> SearchEffort | None:
        """What a search did in `seconds`; None where a model tried last, and where there was nothing to try."""
        last = attempts[-1] if attempts else None
        budget, reproducing, proving = self._deps.budget_seconds, self._case.reproduction.seconds, self._proof_seconds
        early = not self._late and seconds < budget - reserved(budget, self._case.reproduction)
        ends = [attempt.outcome for attempt in attempts if attempt.strategy == EVERYTHING]
        exhausted = (
            last is not None
            and last.strategy == EVERYTHING
            and (early or last.outcome is AttemptOutcome.NOTHING_PLAUSIBLE)
            and {*ends[:-1]} <= {AttemptOutcome.NOTHING_PLAUSIBLE}
        )
        if last and (last.by_model or (exhausted and not last.candidates)):
            return None
        return SearchEffort(
            candidates=sum(attempt.candidates for attempt in attempts if not attempt.by_model),
            searching=max(seconds - reproducing - proving, 0.0),
            reproducing=reproducing,
            proving=proving,
            budget=budget,
            whole=self._case.reproduction.whole,
            exhausted=exhausted,
            stopped=self._stopped,
            alone=self._alone,
        )

    def _learn(self, engine: Engine, decision: Decision, attempt: Attempt, result: AttemptResult) -> None:
        self._deps.learner.conclude(decision, components(self._case.failure, result), made_by=result.made_by)
        self._deps.experiences.remember(experience_of(self._case.task, self._case.failure, decision, result))
        self._previous.reflect(decision, result)
        engine.learn(decision, attempt, result)
