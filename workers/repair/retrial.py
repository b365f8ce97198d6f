"""A failure that was met before: what this repair is given of earlier ones, and what it leaves to the next."""

from __future__ import annotations

from collections.abc import Sequence

from memory.learner import Learner
from memory.model import (
    Arm,
    Attempt,
    AttemptOutcome,
    Decision,
    Failure,
    NearMiss,
    Reflection,
    RetryMode,
    State,
    Task,
    TaskKind,
)
from memory.reflections import MOST_RECALLED, MOST_RULED_OUT, Retry, arms, given, mode_of, of_same
from memory.rewards import repair_components
from memory.store import Store


class Retrial:
    """What earlier repairs say, by the mode that the policy chose; nothing where there were none, or for the control arm."""

    def __init__(
        self, task: Task, failure: Failure, store: Store, learner: Learner, arm: Arm, modes: Sequence[RetryMode]
    ) -> None:
        self._arms = arms(modes)
        self._task = task
        self._failure = failure
        self._store = store
        self._learner = learner
        known = () if arm is Arm.CONTROL else of_same(failure, store.reflections.latest(task.repository, MOST_RECALLED))
        self._decision = self._choose(arm) if known else None
        self.given = given(mode_of(self._decision.chosen), known) if self._decision else Retry()

    def _choose(self, arm: Arm) -> Decision:
        state = State(
            kind=TaskKind.REPAIR,
            repository=self._task.repository,
            label=self._failure.error_type,
            family=self._failure.family,
        )
        return self._learner.decide(self._task.id, state, tuple(self._arms), arm=arm, prior=self._arms, attempts=1)

    def reflect(self, decision: Decision, attempt: Attempt, nearest: NearMiss | None, screened: Sequence[str]) -> None:
        """Keep what an attempt ruled out, unless it proved something."""
        if attempt.outcome is AttemptOutcome.PROVEN:
            return
        self._store.reflections.add(
            Reflection(
                id=decision.id,
                repository=self._task.repository,
                error_type=self._failure.error_type,
                failing_tests=self._failure.failing_tests,
                strategy=decision.chosen,
                outcome=attempt.outcome,
                candidates=attempt.candidates,
                ruled_out=tuple(screened[:MOST_RULED_OUT]),
                nearest=nearest,
                told=attempt.reflection,
                created_at=decision.created_at,
            )
        )

    def conclude(self, attempts: Sequence[Attempt]) -> None:
        """Record what came of the choice, if there was one."""
        if self._decision is None or not attempts:
            return
        proven = attempts[-1].outcome is AttemptOutcome.PROVEN
        components = repair_components(
            failing_before=len(self._failure.failing_tests),
            fixed=len(self._failure.failing_tests) if proven else 0,
            broken=0,
            moved=False,
            proven=proven,
            patch_lines=0,
            candidates=sum(attempt.candidates for attempt in attempts),
        )
        self._learner.conclude(self._decision, components)
