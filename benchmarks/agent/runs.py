"""How a run of the agent goes: what it may cost, how a case is tried and judged, and which case comes when.

Every call of the model is entered in the accounts of the run before it is made, and ends the run if it is too dear.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.agent.folder import Folder, Outcome, Plan, Record
from benchmarks.repair.attempt import judged, opened
from benchmarks.repair.cases import Case
from benchmarks.report import commit
from memory.model import RetryMode
from memory.retrieval.embeddings import Embedder
from memory.store import Store
from memory.store.calls import BudgetLimit, BudgetScope, BudgetUnit, Calls
from workers.context import Context, open_context
from workers.errors import ApprenticeError
from workers.llm.client import BudgetedModel, PricedModel, models_of, tiers_of
from workers.llm.errors import BudgetSpent, ModelUnavailable
from workers.llm.messages import Model, ModelReply, ModelRequest, Tier
from workers.repair.episode import repair
from workers.repair.result import Repaired, RepairStatus
from workers.settings import WorkerSettings

# ── What a run may cost ──────────────────────────────────────────────────────────────────────────────────────────────


RUN = "run"
"""The task that all of a run is to its accounts, so that the budget of a task is the run's."""


class Halted(Exception):
    """The run stops here, between two calls, and can be resumed. No error of the product's: nothing may live with it."""


@dataclass(frozen=True, slots=True)
class Charged:
    """Implements `Model` by one with accounts of its own: a repair's own budgets are kept by who asks here."""

    model: Model

    def reply(self, ask: ModelRequest) -> ModelReply:
        """Raises Halted where the run's cap is met, and where the endpoint is gone: neither says anything of a case."""
        try:
            return self.model.reply(ask)
        except BudgetSpent:
            raise Halted("the next call may exceed the cap; give a higher one with --resume") from None
        except ModelUnavailable as gone:
            raise Halted(f"{gone}; give --resume once that is mended") from gone


def charged(settings: WorkerSettings, calls: Calls, limits: tuple[BudgetLimit, ...]) -> Mapping[Tier, PricedModel]:
    """The models that the settings name, with the run's accounts before them."""
    tiers = tiers_of(settings)
    client = BudgetedModel(
        tiers=tiers,
        calls=calls,
        limits=limits,
        task_id=RUN,
        repository=RUN,
        clock=lambda: datetime.now(UTC),
        rng=random.Random(settings.seed),
    )
    return {
        tier: PricedModel(endpoint=Charged(client), name=each.name, price=each.price) for tier, each in tiers.items()
    }


def caps(*, tokens: int, usd: float) -> tuple[BudgetLimit, ...]:
    """The run's budgets; 0 is none."""
    found = [BudgetLimit(scope=BudgetScope.RUN, unit=BudgetUnit.TOKENS, most=tokens)] if tokens else []
    return (
        *found,
        *([BudgetLimit(scope=BudgetScope.RUN, unit=BudgetUnit.MICROS, most=round(usd * 1e6))] if usd else []),
    )


def paid(accounts: Store) -> tuple[int, int]:
    """Tokens and micros of all calls of a run that have ended, those of cases broken off among them."""
    found = next((each for each in accounts.calls.by_task() if each.task_id == RUN), None)
    return (found.tokens, found.micros) if found else (0, 0)


# ── One case ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRun:
    """What came of a case, and its costs."""

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
    tiers: Mapping[Tier, PricedModel]

    def tried(self, case: Case, trial: int, home: Path) -> CaseRun:
        """What comes of a case with the memory under `home`. Raises Halted between two calls of the model."""
        begun = time.monotonic()
        context = self._context(case, trial, home)
        task_id = f"{self.run}/{trial}/{case.id}"
        try:
            ended = self._ended(case, task_id, context)
            spent = next((each for each in context.store.calls.by_task() if each.task_id == task_id), None)
        finally:
            context.store.close()
        tokens, micros = (spent.tokens, spent.micros) if spent else (0, 0)
        return replace(ended, tokens=tokens, micros=micros, seconds=round(time.monotonic() - begun, 2))

    def _context(self, case: Case, trial: int, home: Path) -> Context:
        settings = self.settings.model_copy(update={"home": home, "budget_seconds": case.budget_seconds})
        context = open_context(settings, embedder=self.embedder).for_task(f"{trial}:{case.id}")
        return replace(context, models=models_of(settings, context.store, context.clock, context.rng, tiers=self.tiers))

    def _ended(self, case: Case, task_id: str, context: Context) -> CaseRun:
        try:
            repaired = self._repaired(case, task_id, context)
            right = judged(case, repaired, context)
        except ApprenticeError as problem:
            return CaseRun(outcome=Outcome.DID_NOT_RUN, problem=str(problem))
        if repaired.status is RepairStatus.NOTHING_FAILING:
            return CaseRun(outcome=Outcome.DID_NOT_RUN, problem="nothing fails before the repair")
        proven, last = repaired.proven, repaired.attempts[-1:]
        return CaseRun(
            outcome=_outcome(proven is not None, right),
            attempts=len(repaired.attempts),
            steps=sum(each.candidates for each in repaired.attempts if each.strategy in self.plan.strategies),
            strategy=proven.strategy if proven else "".join(each.strategy for each in last),
        )

    def _repaired(self, case: Case, task_id: str, context: Context) -> Repaired:
        repository = f"benchmark/{case.labels.get('project', self.plan.suite)}"
        with opened(case, context, task_id=task_id, repository=repository) as (task, project):
            plan, llm = self.plan, context.llm_options(task)
            assert llm is not None, "the settings name a model"
            deps = replace(context.repair_deps(), retries=(RetryMode(plan.retry_mode),), remember=plan.memory)
            return repair(task, project, deps, replace(llm, attempts=plan.attempts, strategies=plan.strategies))


def _outcome(proven: bool, right: bool | None) -> Outcome:
    if not proven:
        return Outcome.UNSOLVED
    return Outcome.PLAUSIBLE if right is False else Outcome.SOLVED


# ── The trials ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A case in a trial."""

    trial: int
    case: Case
    held_out: bool


def turns(plan: Plan, cases: Sequence[Case], trials: int) -> list[Turn]:
    """Every case of every trial, in order. With `held_out`, the second half is tried before the first is learned on.

    So the first trial tries it with an empty memory, and each later one with what one more pass over the first half left.
    Without a memory there is nothing to learn on the first half for.
    """
    half = len(cases) // 2 if plan.held_out else 0
    learned = cases[:half] if plan.memory else []
    order = [*((each, plan.held_out) for each in cases[half:]), *((each, False) for each in learned)]
    return [Turn(trial=number, case=case, held_out=held) for number in range(1, trials + 1) for case, held in order]


def run(folder: Folder, plan: Plan, cases: Sequence[Case], trials: int, trier: Trier) -> None:
    """Do what is not finished yet. Raises Halted between two calls of the model; what is finished is kept."""
    records = folder.records
    known = {(record.trial, record.case) for record in records}
    left = [turn for turn in turns(plan, cases, trials) if (turn.trial, turn.case.id) not in known]
    folder.tidy(records)
    with folder.log() as log:
        for turn in left:
            store = records[-1].store if records else ""
            ended = trier.tried(turn.case, turn.trial, folder.copy_of(store))
            if plan.memory and not turn.held_out:
                store = folder.keep(f"{turn.trial:03}-{len(records):05}")
            records.append(_record(turn, ended, store))
            log.append(records[-1])
            folder.tidy(records)
            print(_line_of(records[-1]), file=sys.stderr)


def _record(turn: Turn, ended: CaseRun, store: str) -> Record:
    return Record(
        trial=turn.trial, case=turn.case.id, held_out=turn.held_out, store=store, commit=commit(), **asdict(ended)
    )


def _line_of(record: Record) -> str:
    summary = (
        record.problem or f"{record.strategy}, {record.steps} steps, {record.tokens} tokens, {record.seconds:.1f} s"
    )
    return f"trial {record.trial}, {record.case}: {record.outcome} ({summary})"
