"""One case, tried by the agent on a copy of its repository, and judged by the tests held out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.agent.records import Outcome, Plan
from benchmarks.repair.attempt import judged, opened
from benchmarks.repair.cases import Case
from memory.embed import Embedder
from memory.model import RetryMode
from workers.agent.repair import Mind, repair
from workers.context import Context, build
from workers.errors import ApprenticeError
from workers.llm.client import Tiered, models_of
from workers.llm.messages import Tier
from workers.repair.repaired import Repaired, RepairStatus
from workers.settings import WorkerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """What came of a case, and what it took."""

    outcome: Outcome
    attempts: int = 0
    steps: int = 0
    tokens: int = 0
    micros: int = 0
    seconds: float = 0.0
    strategy: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trier:
    """Tries cases. `run` is the run's name; `settings` are all that is not of one case."""

    run: str
    plan: Plan
    settings: WorkerSettings
    embedder: Embedder
    tiers: Mapping[Tier, Tiered]

    def tried(self, case: Case, trial: int, home: Path) -> Took:
        """What comes of a case with the memory under `home`. Raises Halted between two calls of the model."""
        begun = time.monotonic()
        context = self._context(case, trial, home)
        task_id = f"{self.run}/{trial}/{case.id}"
        try:
            took = self._took(case, task_id, context)
            spent = next((each for each in context.store.calls.by_task() if each.task_id == task_id), None)
        finally:
            context.store.close()
        tokens, micros = (spent.tokens, spent.micros) if spent else (0, 0)
        return replace(took, tokens=tokens, micros=micros, seconds=round(time.monotonic() - begun, 2))

    def _context(self, case: Case, trial: int, home: Path) -> Context:
        settings = self.settings.model_copy(update={"home": home, "budget_seconds": case.budget_seconds})
        context = build(settings, embedder=self.embedder).for_task(f"{trial}:{case.id}")
        return replace(context, models=models_of(settings, context.store, context.clock, context.rng, tiers=self.tiers))

    def _took(self, case: Case, task_id: str, context: Context) -> Took:
        try:
            repaired = self._repaired(case, task_id, context)
            right = judged(case, repaired, context)
        except ApprenticeError as problem:
            return Took(outcome=Outcome.DID_NOT_RUN, problem=str(problem))
        if repaired.status is RepairStatus.NOTHING_FAILING:
            return Took(outcome=Outcome.DID_NOT_RUN, problem="nothing fails before the repair")
        proven, last = repaired.proven, repaired.attempts[-1:]
        return Took(
            outcome=_outcome(proven is not None, right),
            attempts=len(repaired.attempts),
            steps=sum(each.candidates for each in repaired.attempts if each.strategy in self.plan.strategies),
            strategy=proven.strategy if proven else "".join(each.strategy for each in last),
        )

    def _repaired(self, case: Case, task_id: str, context: Context) -> Repaired:
        repository = f"benchmark/{case.labels.get('project', self.plan.suite)}"
        with opened(case, context, task_id=task_id, repository=repository) as (task, project):
            tools = replace(context.toolbox(), retries=(RetryMode(self.plan.retry_mode),))
            mind = context.mind(task)
            assert mind is not None, "the settings name a model"
            return repair(task, project, tools, self._set(mind))

    def _set(self, mind: Mind) -> Mind:
        plan = self.plan
        return replace(mind, attempts=plan.attempts, arms=plan.strategies, remember=plan.memory)


def _outcome(proven: bool, right: bool | None) -> Outcome:
    if not proven:
        return Outcome.UNSOLVED
    return Outcome.PLAUSIBLE if right is False else Outcome.SOLVED
