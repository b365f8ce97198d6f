"""The engine of a repair with a model: its strategies, an attempt of one of them, and what it keeps of that."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType

from memory.evaluation.prompt_ablation import drawn, withheld
from memory.model import EMBEDDED, Attempt, AttemptOutcome, Decision, Failure
from memory.store import Picture, Trajectory
from workers.agent.attempt import OPTIONAL_TOOLS, AttemptContext, Strategy, attempt
from workers.agent.checkout import Checkout
from workers.agent.loop import Run
from workers.agent.memory_context import MemoryContext
from workers.agent.prompt_context import SECTIONS, Assignment, code_around
from workers.agent.tools.reading import History
from workers.agent.tools.testing import described
from workers.llm.messages import ChatMessage, Model
from workers.llm.untrusted import visible_text
from workers.ports import Image
from workers.repair.engines.engine import Case, Options, RepairDeps
from workers.repair.engines.search.localise import suspects
from workers.repair.judging.preference_score import liking_of_diffs
from workers.repair.judging.prove import Prover
from workers.repair.previous_attempts import PreviousAttempts, RetryChoice
from workers.repair.result import AttemptResult

EMBEDDED_PRIOR = 0.5
"""The share of failures that the search is expected to repair, before any evidence."""

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        each.name: each
        for each in (
            Strategy(name="model:minimal", prior=0.45, most_files=1),
            Strategy(name="model:related", prior=0.4),
            Strategy(name="model:test_first", prior=0.35, writes_tests=True),
            Strategy(name="model:propose", prior=0.4, proposes=True),
        )
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmOptions:
    """What a repair with a model needs. `seconds` is the time for all attempts with it, `steps` the replies of one.

    `strategies` are those to choose from, the search among them as EMBEDDED; `guidance` and `images` come from the user.
    """

    model: Model
    seconds: float
    steps: int
    attempts: int = 3
    strategies: tuple[str, ...] = (EMBEDDED, *STRATEGIES)
    history: History | None = None
    guidance: str = ""
    images: tuple[Image, ...] = ()

    def open(self, case: Case, deps: RepairDeps, previous: PreviousAttempts) -> LlmEngine:
        """The engine for one repair."""
        return LlmEngine(self, case, deps, previous)


class LlmEngine:
    """The attempts of a model at one failure."""

    def __init__(self, options: LlmOptions, case: Case, deps: RepairDeps, previous: PreviousAttempts) -> None:
        self._options = options
        self._case = case
        self._deps = deps
        self._previous = previous
        self._seconds = options.seconds
        self._available = True
        self._memory = MemoryContext(case, deps, previous)
        checkout = Checkout(case.project.tree)
        self._context = AttemptContext(
            model=options.model,
            checkout=checkout,
            prover=Prover(deps.sandbox, case.project, case.reproduction, case.failure),
            assignment=_assignment(options, case, checkout),
            recall=self._memory.about,
            steps=options.steps,
            history=options.history,
            preference=self._preference,
            progress=deps.progress,
        )
        self._last: tuple[Run, RetryChoice] | None = None

    @property
    def test_runs(self) -> int:
        """How often tests were run so far."""
        return self._context.prover.runs

    def options(self, tried: tuple[str, ...]) -> Options | None:
        """The strategies that were not tried; of a model that cannot be used, or without time, none but the search."""
        left = [name for name in self._options.strategies if name not in tried]
        if not self._available:
            left = [name for name in left if name == EMBEDDED]
        if not left or len(tried) >= self._options.attempts or self._seconds <= 0:
            return None
        return Options(
            priors={name: EMBEDDED_PRIOR if name == EMBEDDED else STRATEGIES[name].prior for name in left},
            attempts=self._options.attempts - len(tried),
            features=drawn((*SECTIONS, *OPTIONAL_TOOLS), self._case.arm, self._deps.rng),
        )

    def attempt(self, decision: Decision) -> AttemptResult:
        """Try one strategy with what the retry mode gives of earlier attempts."""
        retry = self._memory.retry()
        remembered = self._memory.given(retry.mode)
        began = time.monotonic()
        result, run = attempt(
            self._context,
            STRATEGIES[decision.chosen],
            remembered,
            withheld=withheld(decision),
            deadline=began + self._seconds,
        )
        self._seconds -= time.monotonic() - began
        self._available = result.counts
        self._last = (run, retry)
        return result

    def learn(self, decision: Decision, attempt: Attempt, result: AttemptResult) -> None:
        """Conclude the retry mode; keep the pictures, and of a proven repair its whole run."""
        assert self._last is not None, "the loop learns from an attempt that was made"
        run, retry = self._last
        store, task = self._deps.store, self._case.task
        self._previous.conclude(retry, [attempt], fixed=result.fixed)
        for image in result.images:
            picture = Picture(media_type=image.media_type, content=image.content)
            store.pictures.add(f"{decision.id}/{image.digest}", picture, owner=decision.id)
        if attempt.outcome is AttemptOutcome.PROVEN:
            store.trajectories.add(
                decision.id,
                Trajectory(
                    text=_example(self._case.failure, run.messages, attempt.patch), messages=_as_json(run.messages)
                ),
                owner=task.repository,
                now=decision.created_at,
            )

    def close(self, attempts: Sequence[Attempt]) -> None:
        """Every attempt is concluded by itself."""

    def _preference(self, diffs: Sequence[str]) -> Sequence[float]:
        taste = self._deps.taste(self._case.task.repository) if diffs and self._case.remembers else None
        return liking_of_diffs(taste, diffs) if taste is not None else [0.0] * len(diffs)


def _assignment(options: LlmOptions, case: Case, checkout: Checkout) -> Assignment:
    failure, reproduction = case.failure, case.reproduction
    found = suspects(failure, reproduction.lines, reproduction.passing, sources=case.sources)
    files = dict.fromkeys(test.partition("::")[0] for test in failure.failing_tests)
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


def _example(failure: Failure, messages: tuple[ChatMessage, ...], patch: str) -> str:
    """A run as an example for another one: the failure, the calls, and the patch."""
    calls = [f"{call.name} {call.arguments[:200]}" for message in messages for call in message.calls]
    return "\n".join([f"{failure.error_type}: {visible_text(failure.message)[:300]}", *calls, patch])


def _as_json(messages: tuple[ChatMessage, ...]) -> str:
    """A run's messages for training, without pictures."""
    return json.dumps([{**asdict(message), "images": len(message.images)} for message in messages], ensure_ascii=False)
