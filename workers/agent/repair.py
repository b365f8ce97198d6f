"""One repair where there is a model: see the failure, recall, choose an engine and how to use it, try, prove, reflect, learn.

The embedded engine is one of the arms; what it leaves, the model works on, and the other way round.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memory.experiences import neighbours
from memory.model import EMBEDDED, Attempt, AttemptOutcome, Decision, Failure, State, Task, TaskKind
from memory.rewards import repair_components
from memory.usefulness import Withheld, withheld
from workers.agent.attempting import OPTIONAL_TOOLS, Bench, Tried, as_json, attempt, told
from workers.agent.briefing import SECTIONS, Assignment
from workers.agent.checkout import Checkout
from workers.agent.errors import OUT_OF_REACH
from workers.agent.evaluating import Evaluator
from workers.agent.remembering import Memory
from workers.agent.strategies import STRATEGIES, priors
from workers.agent.tools.reading import History, numbered
from workers.agent.tools.testing import told as told_report
from workers.llm.messages import Model
from workers.ports import Image
from workers.repair import episode as embedded
from workers.repair.candidates import Suspect
from workers.repair.episode import Case, Toolbox, concluded, reproduced, search
from workers.repair.liking import liking_of_diffs
from workers.repair.localise import suspects
from workers.repair.repaired import Repaired, RepairStatus, attempt_of, ended, experience_of
from workers.repair.selection import sources_of
from workers.sandbox.project import Project

SHOWN_FILES, SHOWN_PLACES, AROUND, MOST_LINES = 3, 20, 25, 200
"""Files and suspects whose surroundings are shown, lines on both sides, and lines of one file at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mind:
    """What a repair with a model needs beside a toolbox. `seconds` is the time for all attempts with it, `steps` of one.

    `guidance` and `images` are of the person who asked; `remember` off is the arm without memory of an evaluation.
    """

    model: Model
    seconds: float
    steps: int
    attempts: int = 3
    arms: tuple[str, ...] = (EMBEDDED, *STRATEGIES)
    history: History | None = None
    guidance: str = ""
    images: tuple[Image, ...] = ()
    remember: bool = True


def repair(task: Task, project: Project, tools: Toolbox, mind: Mind | None) -> Repaired:
    """Repair the primary failure of a project, without a `mind` by the embedded engine alone.

    Raises CannotRun or BadInput when its tests cannot run. A model that cannot be used, or whose budget is spent, fails
    nothing: what was tried before that is told.
    """
    if mind is None:
        return embedded.repair(task, project, tools)
    case = reproduced(task, project, tools)
    if case.failure is None:
        return ended(RepairStatus.NOTHING_FAILING, None, (), case.reproduction, 0, case.started)
    episode = _Episode(case, case.failure, tools, mind)
    attempts = episode.run()
    return concluded(case, attempts, episode.test_runs, None)


class _Episode:
    """The choices of one repair and what came of each."""

    def __init__(self, case: Case, failure: Failure, tools: Toolbox, mind: Mind) -> None:
        self._case = case
        self._failure = failure
        self._tools = tools
        self._mind = mind
        self._deadline = time.monotonic() + mind.seconds
        checkout = Checkout(case.project.tree)
        sources = sources_of(case.project)
        self._memory = Memory(case, failure, tools, sources.get, off=not mind.remember)
        self._withheld = Withheld.of(tools.store, case.task.repository, (*SECTIONS, *OPTIONAL_TOOLS), case.arm)
        self._embedded_runs = 0
        self._there = True
        self._bench = Bench(
            model=mind.model,
            checkout=checkout,
            evaluator=Evaluator(tools.sandbox, case.project, case.reproduction, failure),
            assignment=self._assignment(checkout, sources),
            recall=self._memory.about,
            steps=mind.steps,
            history=mind.history,
            liking=self._liking,
            progress=tools.progress,
        )

    @property
    def test_runs(self) -> int:
        """How often tests were run."""
        return self._embedded_runs + self._bench.evaluator.runs

    def run(self) -> tuple[Attempt, ...]:
        """Choose and try until something is proven, or tries or time are used up."""
        attempts: list[Attempt] = []
        state = self._state()
        for _ in range(self._mind.attempts):
            left = [name for name in self._mind.arms if name not in state.tried and (self._there or name == EMBEDDED)]
            if not left or time.monotonic() >= self._deadline:
                break
            decision = self._choose(state, left)
            state = replace(state, tried=(*state.tried, decision.chosen))
            attempts += self._embedded(decision) if decision.chosen == EMBEDDED else [self._worked(decision)]
            if attempts and attempts[-1].outcome is AttemptOutcome.PROVEN:
                break
        return tuple(attempts)

    def _state(self) -> State:
        return State(
            kind=TaskKind.REPAIR,
            repository=self._case.task.repository,
            label=self._failure.error_type,
            family=self._failure.family,
        )

    def _choose(self, state: State, left: Sequence[str]) -> Decision:
        """An arm; what is withheld from it, if anything, is recorded."""
        decision = self._tools.learner.decide(
            self._case.task.id,
            state,
            left,
            arm=self._case.arm,
            prior=priors(left),
            evidence=neighbours(self._memory.recalled),
            attempts=self._mind.attempts - len(state.tried),
            features=self._withheld.drawn(self._tools.rng),
        )
        self._tools.progress(f"chose: {decision.chosen} (probability {decision.probability:.2f}, {self._case.arm} arm)")
        return decision

    def _embedded(self, decision: Decision) -> list[Attempt]:
        """The embedded engine's own episode, concluded as one choice."""
        began = time.monotonic()
        found = search(self._case, self._failure, self._tools, seconds=self._tools.budget_seconds)
        self._deadline += time.monotonic() - began  # which is the model's time alone
        self._embedded_runs += found.test_runs
        self._conclude(decision, found.attempts, spent=0.0)
        return list(found.attempts)

    def _worked(self, decision: Decision) -> Attempt:
        """An attempt with the model, told, remembered and learned of."""
        retry = self._memory.retry()
        remembered = self._memory.given(retry.mode)
        strategy, without = STRATEGIES[decision.chosen], withheld(decision)
        tried = attempt(self._bench, strategy, remembered, withheld=without, deadline=self._deadline)
        done = attempt_of(decision, tried.result)
        self._tools.progress(done.reflection)
        if tried.run.end in OUT_OF_REACH and done.outcome is not AttemptOutcome.PROVEN:
            self._there = False
            self._tools.store.tasks.add_attempt(self._case.task.id, done)
            return done
        spent = min(tried.run.steps / max(self._mind.steps, 1), 1.0)
        self._conclude(decision, [done], spent=spent, fixed=tried.result.fixed)
        if retry.decision is not None:
            self._conclude(retry.decision, [done], spent=0.0, fixed=tried.result.fixed)
        self._remember(decision, done, tried)
        return done

    def _conclude(self, decision: Decision, attempts: Sequence[Attempt], *, spent: float, fixed: int = 0) -> None:
        """Record what the tests said of a choice; `spent` is the share of the steps that it took."""
        if not attempts:
            return
        last = attempts[-1]
        proven, failing = last.outcome is AttemptOutcome.PROVEN, len(self._failure.failing_tests)
        components = repair_components(
            failing_before=failing,
            fixed=failing if proven else fixed,
            broken=int(last.outcome is AttemptOutcome.UNPROVEN),
            moved=False,
            proven=proven,
            patch_lines=sum(line.startswith(("+", "-")) for line in last.patch.splitlines()),
            candidates=sum(each.candidates for each in attempts) if decision.chosen == EMBEDDED else 0,
        )
        self._tools.learner.conclude(decision, components | {"step_cost": min(components["step_cost"], -spent)})

    def _remember(self, decision: Decision, done: Attempt, tried: Tried) -> None:
        store, task = self._tools.store, self._case.task
        store.tasks.add_attempt(task.id, done)
        experience = experience_of(task, self._failure, decision, tried.result, done)
        images = self._mind.images
        self._tools.experiences.remember(replace(experience, images=tuple(image.digest for image in images)))
        for image in images:
            store.pictures.add(experience.id, image.digest, image.media_type, image.content)
        if done.outcome is not AttemptOutcome.PROVEN:
            self._memory.reflect(decision, done.outcome, done.reflection, tried.nearest)
            return
        messages = tried.run.messages
        store.trajectories.add(
            decision.id,
            task.repository,
            text=told(self._failure, messages, done.patch),
            messages=as_json(messages),
            now=decision.created_at,
        )

    def _assignment(self, checkout: Checkout, sources: dict[str, str]) -> Assignment:
        case, failure = self._case, self._failure
        found = suspects(failure, case.reproduction.lines, case.reproduction.passing, sources=sources)
        files = dict.fromkeys(test.partition("::")[0] for test in failure.failing_tests)
        return Assignment(
            repository=case.task.repository,
            failure=failure,
            suspects=found,
            tests={path: checkout.read(path) for path in list(files)[:2] if path in checkout.paths},
            report=told_report(case.reproduction.failing_report),
            code=_around(found, sources),
            guidance=self._mind.guidance,
            images=self._mind.images,
        )

    def _liking(self, diffs: Sequence[str]) -> Sequence[float]:
        taste = self._tools.taste(self._case.task.repository) if diffs and not self._memory.off else None
        return liking_of_diffs(taste, diffs) if taste is not None else [0.0] * len(diffs)


def _around(found: Sequence[Suspect], sources: Mapping[str, str]) -> str:
    """The code around the likeliest places, with line numbers, each file once."""
    parts: list[str] = []
    for path in list(dict.fromkeys(suspect.path for suspect in found))[:SHOWN_FILES]:
        lines = [suspect.line for suspect in found[:SHOWN_PLACES] if suspect.path == path]
        first = max(min(lines, default=1) - AROUND, 1)
        parts.append(numbered(path, sources[path], first, min(max(lines, default=1) + AROUND, first + MOST_LINES)))
    return "\n\n".join(parts)
