"""The engine of a repair with a model: its strategies, an attempt of one of them, and what it keeps of that."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType

from memory.model import EMBEDDED, Attempt, AttemptOutcome, Decision, NearMiss
from memory.store.documents import Trajectory
from workers.agent.checkout import Checkout, checked
from workers.agent.loop import MODEL_MISSING, AgentLoop, AgentRun, ModelConversation, RunEnd, finish
from workers.agent.prompt_context import Assignment, MemoryContext, MemoryParts, code_around, opening, recalling
from workers.agent.tools import History, Toolset, described, editing, reading, testing, tool
from workers.diffs import unified
from workers.llm.errors import ModelError
from workers.llm.messages import FinishReason, Model, ModelRequest, Tier, first_messages
from workers.llm.prompt_text import data, prompt, truncated, visible_text
from workers.ports import Image
from workers.redaction import redact
from workers.repair.engines.engine import (
    EngineUse,
    OpenStrategies,
    PreviousAttempts,
    RepairDeps,
    ReproducedFailure,
    RetryChoice,
)
from workers.repair.engines.search.edit_shapes import shape_between
from workers.repair.engines.search.localise import suspects
from workers.repair.judging.prove import PatchEvaluation, Prover, reserved
from workers.repair.reproduce import deciding
from workers.repair.result import AttemptResult
from workers.sandbox.test_ids import file_of

LONGEST_WORDS = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """`prior` is the proof expected before any evidence; `most_files` how many may be edited."""

    name: str
    prior: float
    most_files: int = 20
    writes_tests: bool = False


EMBEDDED_PRIOR = 0.5
"""The share of failures that the search is expected to repair, before any evidence."""

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        each.name: each
        for each in (
            Strategy(name="model:minimal", prior=0.45, most_files=1),
            Strategy(name="model:related", prior=0.4),
            Strategy(name="model:test_first", prior=0.35, writes_tests=True),
        )
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmOptions:
    """What a repair with a model needs. `seconds` is the time for all attempts with it and their proofs, `steps` the replies of one.

    `strategies` are those to choose from, the search among them as EMBEDDED; `guidance` and `images` come from the user.
    """

    model: Model
    seconds: float
    steps: int
    attempts: int = 3
    strategies: tuple[str, ...]
    history: History | None = None
    guidance: str = ""
    images: tuple[Image, ...] = ()

    def open(self, case: ReproducedFailure, deps: RepairDeps, previous: PreviousAttempts) -> LlmEngine:
        return LlmEngine(self, case, deps, previous)


class LlmEngine:
    """The attempts of a model at one failure."""

    def __init__(
        self, options: LlmOptions, case: ReproducedFailure, deps: RepairDeps, previous: PreviousAttempts
    ) -> None:
        self._options = options
        self._case = case
        self._deps = deps
        self._previous = previous
        self._seconds = options.seconds
        self._available = True
        self._memory = MemoryContext(case, deps, previous)
        tests = deciding(case.project.tree, (case.reproduction.report,))
        self._checkout = Checkout(case.project.tree, case.project.paths, tests)
        self._prover = Prover(deps.sandbox, case.project, case.reproduction, case.failure, deps.limits)
        self._reserved = reserved(options.seconds, case.reproduction)
        self._assignment = _assignment(options, case, self._checkout)
        self._last: tuple[AgentRun, RetryChoice] | None = None

    def open_strategies(self, tried: tuple[str, ...]) -> OpenStrategies | None:
        """The strategies that were not tried; of a model that cannot be used, or without time, none but the search."""
        left = [name for name in self._options.strategies if name not in tried]
        if not self._available:
            left = [name for name in left if name == EMBEDDED]
        if not left or len(tried) >= self._options.attempts or self._seconds <= 0:
            return None
        return OpenStrategies(
            priors={name: EMBEDDED_PRIOR if name == EMBEDDED else STRATEGIES[name].prior for name in left},
            attempts=self._options.attempts - len(tried),
        )

    def attempt(self, decision: Decision) -> AttemptResult:
        """Try one strategy with what the retry mode gives of earlier attempts. A model that fails ends the attempt."""
        strategy, checkout, retry = STRATEGIES[decision.chosen], self._checkout, self._memory.retry()
        checkout.clear(most_files=strategy.most_files)
        began = time.monotonic()
        self._prover.runs.deadline = began + self._seconds
        run = self._run(strategy, self._memory.given(retry.mode))
        self._deps.progress(f"{strategy.name}: {run.end}; proving what it edited")
        evaluation = self._prover.evaluate(checkout.edits)
        result = (self._unproven if evaluation.proof is None else self._proven)(run, evaluation)
        self._seconds -= time.monotonic() - began
        self._available = result.counts
        self._last = (run, retry)
        return result

    def learn(self, decision: Decision, attempt: Attempt, result: AttemptResult) -> None:
        """Conclude the retry mode, and keep the whole run of a proven repair."""
        assert self._last is not None, "the loop learns from an attempt that was made"
        run, retry = self._last
        store, task, failure = self._deps.store, self._case.task, self._case.failure
        self._previous.conclude(retry, [attempt], fixed=result.fixed)
        if attempt.outcome is AttemptOutcome.PROVEN:
            calls = [f"{call.name} {call.arguments[:200]}" for message in run.messages for call in message.calls]
            head = f"{failure.error_type}: {visible_text(failure.message)[:300]}"
            without_pictures = [{**asdict(message), "images": len(message.images)} for message in run.messages]
            kept = Trajectory(
                text="\n".join([head, *calls, attempt.patch]), messages=json.dumps(without_pictures, ensure_ascii=False)
            )
            store.trajectories.add(decision.id, kept, owner=task.repository, now=decision.created_at)

    def close(self, attempts: Sequence[Attempt]) -> EngineUse:
        """Every attempt is concluded by itself."""
        del attempts
        return EngineUse(self._prover.runs.count, self._prover.seconds)

    def _run(self, strategy: Strategy, remembered: MemoryParts) -> AgentRun:
        checkout, options = self._checkout, self._options
        tools = (
            *reading(checkout, options.history),
            *editing(checkout, tests=strategy.writes_tests),
            testing(checkout, self._prover.run, self._prover.failing),
            recalling(self._memory.about),
            tool(finish),
        )
        system = prompt("repair", strategy=prompt(f"strategy_{strategy.name.partition(':')[2]}"))
        return AgentLoop(
            model=options.model,
            tools=Toolset(tools),
            conversation=ModelConversation(opening(system, self._assignment, remembered), purpose="repair"),
            steps=options.steps,
            deadline=self._prover.runs.deadline - self._reserved,
            progress=self._deps.progress,
            state=checkout.diff,
        ).run()

    def _proven(self, run: AgentRun, evaluation: PatchEvaluation) -> AttemptResult:
        checkout, edits = self._checkout, self._checkout.edits
        (path, *others) = sorted(edits)
        alone = not others and path in checkout.paths
        tests = self._prover.demonstrating(edits, checkout.added_tests)
        return AttemptResult(
            outcome=AttemptOutcome.PROVEN,
            candidates=run.steps,
            reflection=checked(checkout, _plain(run.words)) or "The edit is proven.",
            fixed=evaluation.passed,
            path=path,
            patch=checkout.diff() + "".join(unified(name, None, text) for name, text in sorted(tests.items())),
            proof=evaluation.proof,
            shape=shape_between(checkout.original(path), edits[path]) if alone else None,
            effort=self._effort(run),
        )

    def _unproven(self, run: AgentRun, evaluation: PatchEvaluation) -> AttemptResult:
        diff = self._checkout.diff()
        path = next(iter(sorted(self._checkout.edits)), "")
        spent = run.end is RunEnd.DEADLINE or run.end in MODEL_MISSING
        outcome = AttemptOutcome.OUT_OF_BUDGET if spent else AttemptOutcome.NOTHING_PLAUSIBLE
        if diff and evaluation.passed == len(self._prover.failing):
            outcome = AttemptOutcome.UNPROVEN
        return AttemptResult(
            outcome=outcome,
            candidates=run.steps,
            reflection=_reflection(self._options.model, diff, evaluation, run),
            fixed=evaluation.passed,
            path=path,
            nearest=_nearest(diff, path, evaluation),
            effort=self._effort(run),
            counts=run.end not in MODEL_MISSING,
        )

    def _effort(self, run: AgentRun) -> float:
        return min(run.steps / max(self._options.steps, 1), 1.0)


def _assignment(options: LlmOptions, case: ReproducedFailure, checkout: Checkout) -> Assignment:
    failure, reproduction = case.failure, case.reproduction
    before = reproduction.before if reproduction.broken else {}
    found = suspects(failure, reproduction.lines, reproduction.passing, sources=case.sources, before=before)
    files = dict.fromkeys(file_of(test) for test in failure.failing_tests)
    return Assignment(
        repository=case.task.repository,
        failure=failure,
        suspects=found,
        tests={path: checkout.read(path) for path in list(files)[:2] if path in checkout.paths},
        report=described(reproduction.failing_report),
        code=code_around(found, case.sources),
        guidance=options.guidance,
        images=options.images,
    )


def _nearest(diff: str, path: str, evaluation: PatchEvaluation) -> NearMiss | None:
    if not diff:
        return None
    first = next(iter(evaluation.report.failing()), None)
    return NearMiss(
        path=path,
        line=0,
        template="model",
        edit=diff,
        passed=evaluation.passed,
        error_type=first.error_type if first else "",
        message=redact(first.message)[:300] if first else evaluation.objection[:300],
    )


def _reflection(model: Model, diff: str, evaluation: PatchEvaluation, run: AgentRun) -> str:
    """What to remember of a failed attempt, in the model's words (Reflexion, Shinn et al. 2023); the facts where it has none."""
    why = f": {' '.join(visible_text(run.words).split())[:300]}" if run.end in MODEL_MISSING else ""
    facts = f"{run.end.capitalize()}{why}. {(evaluation.objection or 'nothing was proven').capitalize()}."
    if run.end in MODEL_MISSING:
        return facts
    material = [
        data("your edit", truncated(diff, 4_000) or "none", code=True),
        described(evaluation.report),
        data("verdict", facts),
        data("your last words", truncated(run.words, 1_000)),
    ]
    messages = first_messages(prompt("reflect"), "\n\n".join(material))
    try:
        reply = model.reply(ModelRequest(messages=messages, purpose="reflect", tier=Tier.WEAK, max_tokens=400))
    except ModelError:
        return facts
    words = _plain(reply.text)
    return words if words and reply.finish is not FinishReason.REFUSED else facts


def _plain(text: str) -> str:
    return " ".join(visible_text(text).split())[:LONGEST_WORDS]
