"""What the loop of a repair and its engines share: the case, the dependencies, and the port of an engine."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from memory.model import Arm, Attempt, Decision, Failure, Recollection, RetryMode, State, Task, TaskKind
from memory.policy.learner import Learner
from memory.preferences.model import PreferenceModel
from memory.retrieval.experiences import Experiences
from memory.store import Store
from workers.ports import Limits, Sandbox
from workers.repair.engines.search.session import SearchSession
from workers.repair.reproduce import Reproduction
from workers.repair.result import AttemptResult
from workers.sandbox.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairDeps:
    """What a repair works with. `session` opens a SearchSession from its arguments; `retries` are the modes to choose from.

    `limits` are those of one run; `taste` gives the preferences of a repository's maintainers; `remember` off is an evaluation without memory.
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
    taste: Callable[[str], PreferenceModel | None] = lambda _repository: None
    remember: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A reproduced failure. `started` is of time.monotonic; `sources` are the Python files of the checkout by path.

    `remembers` is false for the control arm and in an evaluation without memory; `recalled` is empty then.
    """

    task: Task
    project: Project
    reproduction: Reproduction
    failure: Failure
    sources: Mapping[str, str]
    arm: Arm
    remembers: bool
    recalled: tuple[Recollection, ...]
    started: float

    def state(self, tried: tuple[str, ...] = ()) -> State:
        """The state in which the next choice is made."""
        return State(
            kind=TaskKind.REPAIR,
            repository=self.task.repository,
            label=self.failure.error_type,
            family=self.failure.family,
            tried=tried,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The strategies that are open, each with the expected share of proofs. `attempts` is how many more may be made.

    `features` are recorded with the decision.
    """

    priors: Mapping[str, float]
    attempts: int | None = None
    features: Mapping[str, float | str] = field(default_factory=dict)


class Engine(Protocol):
    """One way to find patches. The loop asks it for its open strategies, chooses one, and has the engine try it."""

    @property
    def test_runs(self) -> int:
        """How often tests were run so far."""

    def options(self, tried: tuple[str, ...]) -> Options | None:
        """The strategies that are open after some were tried; None when the time is up or nothing is left."""

    def attempt(self, decision: Decision) -> AttemptResult:
        """Try the chosen strategy; everything it proves is proven by the same prover."""

    def learn(self, decision: Decision, attempt: Attempt, result: AttemptResult) -> None:
        """Keep what only this engine knows of an attempt."""

    def close(self, attempts: Sequence[Attempt]) -> None:
        """Finish after the last attempt."""
