"""What the loop of a repair and its engines share: the case, the dependencies, the port of an engine, and what previous
attempts at the same failure left."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from memory.model import (
    Arm,
    Attempt,
    AttemptEffect,
    AttemptOutcome,
    Decision,
    Failure,
    Recollection,
    Reflection,
    RetryMode,
    State,
    Task,
    TaskKind,
)
from memory.policy.learner import Learner
from memory.policy.q_table import Remembered
from memory.reflections import (
    MAX_RULED_OUT,
    latest_reflections,
    of_same_failure,
    retry_arms,
    retry_mode_of,
    store_reflection,
)
from memory.retrieval.experiences import Experiences
from memory.store import Store
from workers.ports import Limits, Sandbox
from workers.repair.engines.search.session import SearchSession
from workers.repair.reproduce import Reproduction
from workers.repair.result import AttemptResult, choice_components
from workers.sandbox.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairDeps:
    """What a repair works with. `session` opens a SearchSession from its arguments; `retries` are the modes to choose from.

    `limits` are those of one run; `remember` off is an evaluation without memory; `gives_up` says that a repair may stop
    before its time where nothing is expected to be worth its cost.
    """

    sandbox: Sandbox
    store: Store
    learner: Learner
    experiences: Experiences
    rng: random.Random
    budget_seconds: float
    progress: Callable[[str], None]
    limits: Limits = field(default_factory=Limits)
    session: Callable[..., SearchSession] = SearchSession
    retries: tuple[RetryMode, ...] = tuple(RetryMode)
    remember: bool = True
    gives_up: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproducedFailure:
    """A reproduced failure. `started` is of time.monotonic; `sources` are the Python files of the checkout by path.

    `recalled` are the few most useful memories, `evidence` what was tried for all failures like this one. `remembers` is
    false for the control arm and in an evaluation without memory; both are empty then.
    """

    task: Task
    project: Project
    reproduction: Reproduction
    failure: Failure
    sources: Mapping[str, str]
    arm: Arm
    remembers: bool
    recalled: tuple[Recollection, ...]
    evidence: Mapping[str, Remembered] = field(default_factory=dict)
    started: float

    def state(self, tried: tuple[str, ...] = (), after: AttemptEffect | None = None) -> State:
        """The state in which the next choice is made, after an attempt that did this to the failure."""
        return State(
            kind=TaskKind.REPAIR,
            repository=self.task.repository,
            label=self.failure.error_type,
            family=self.failure.family,
            tried=tried,
            after=after or "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStrategies:
    """The strategies that are open, each with the expected share of proofs. `attempts` is how many more may be made.

    `costs` are those of strategies that do not cost what an attempt usually does, as shares of an accepted fix.
    """

    priors: Mapping[str, float]
    attempts: int | None = None
    costs: Mapping[str, float] = field(default_factory=dict)


class EngineUse(NamedTuple):
    """How often an engine ran tests, and the time of its proofs in seconds."""

    test_runs: int
    proof_seconds: float


class Engine(Protocol):
    """One way to find patches. The loop asks it for its open strategies, chooses one, and has the engine try it."""

    def open_strategies(self, tried: tuple[str, ...]) -> OpenStrategies | None:
        """The strategies that are open after some were tried; None when the time is up or nothing is left."""

    def attempt(self, decision: Decision) -> AttemptResult:
        """Try the chosen strategy; everything it proves is proven by the same prover."""

    def learn(self, decision: Decision, attempt: Attempt, result: AttemptResult) -> None:
        """Keep what only this engine knows of an attempt."""

    def close(self, attempts: Sequence[Attempt]) -> EngineUse:
        """Finish after the last attempt; what that used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryChoice:
    """How an attempt uses what earlier ones left; `decision` is None where they left nothing to choose from."""

    mode: RetryMode
    decision: Decision | None = None


class PreviousAttempts:
    """What earlier attempts at one failure left, those of this repair included; nothing where the case does not remember."""

    def __init__(self, case: ReproducedFailure, deps: RepairDeps) -> None:
        self._case = case
        self._deps = deps

    def reflections(self) -> tuple[Reflection, ...]:
        """On this failure, newest first."""
        if not self._case.remembers:
            return ()
        return of_same_failure(self._case.failure, latest_reflections(self._deps.store, self._case.task.repository))

    def choose(self, *, lessons: bool = False) -> RetryChoice:
        """Let the policy choose a mode; `lessons` says that similar failures left something to use as well."""
        if not (self.reflections() or (lessons and self._case.remembers)):
            return RetryChoice(mode=RetryMode.NONE)
        modes = retry_arms(self._deps.retries)
        case = self._case
        decision = self._deps.learner.decide(
            case.task.id, case.state(), tuple(modes), arm=case.arm, prior=modes, attempts=1
        )
        return RetryChoice(mode=retry_mode_of(decision.chosen), decision=decision)

    def conclude(self, choice: RetryChoice, attempts: Sequence[Attempt], *, fixed: int = 0) -> None:
        """Record the outcome of the attempts that followed a choice, if there was one."""
        if choice.decision is not None and attempts:
            found = choice_components(self._case.failure, attempts, fixed=fixed)
            self._deps.learner.conclude(choice.decision, found)

    def reflect(self, decision: Decision, result: AttemptResult) -> None:
        """Keep what an attempt ruled out, unless it proved something."""
        if result.outcome is AttemptOutcome.PROVEN:
            return
        store_reflection(
            self._deps.store,
            Reflection(
                id=decision.id,
                repository=self._case.task.repository,
                failing_tests=self._case.failure.failing_tests,
                outcome=result.outcome,
                ruled_out=result.ruled_out[:MAX_RULED_OUT],
                nearest=result.nearest,
                summary=result.reflection,
                created_at=decision.created_at,
            ),
        )
