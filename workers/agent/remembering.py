"""What memory gives the agent for one failure, and what an attempt leaves there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memory.model import (
    Among,
    Arm,
    AttemptOutcome,
    Decision,
    Failure,
    NearMiss,
    Recollection,
    Reflection,
    RetryMode,
    State,
    TaskKind,
)
from memory.reflections import MOST_RECALLED, arms, mode_of, of_same
from memory.rewards import acceptance
from memory.skills import current, usable
from memory.store import Store
from workers.agent.briefing import SHOWN_EXAMPLES, Remembered
from workers.repair.classify import signature
from workers.repair.episode import NEIGHBOURS, Case, Toolbox

LESSONS = 5
"""Reflections given at most."""

ALIKE = 0.3
"""How near a failure is of whose lessons there may be use; recollections below are of other things."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How one attempt uses what earlier ones left; `decision` is None where they left nothing."""

    mode: RetryMode
    decision: Decision | None


class Memory:
    """What is remembered of one failure; nothing for the control arm, or when `off`."""

    def __init__(
        self, case: Case, failure: Failure, tools: Toolbox, read: Callable[[str], str | None], *, off: bool = False
    ) -> None:
        self._case = case
        self._failure = failure
        self._tools = tools
        self.off = off or case.arm is Arm.CONTROL
        self.recalled = () if self.off else self._recall(read)

    def _recall(self, read: Callable[[str], str | None]) -> tuple[Recollection, ...]:
        return self._tools.experiences.recall(
            signature=signature(self._failure),
            error_type=self._failure.error_type,
            family=self._failure.family,
            repository=self._case.task.repository,
            k=NEIGHBOURS,
            read=read,
        )

    def retry(self) -> Retry:
        """Choose how the next attempt uses what earlier ones left."""
        if self.off or not (self._reflections() or self._lessons_of_others()):
            return Retry(mode=RetryMode.NONE, decision=None)
        modes = arms(self._tools.retries)
        state = State(
            kind=TaskKind.REPAIR,
            repository=self._case.task.repository,
            label=self._failure.error_type,
            family=self._failure.family,
        )
        learner, arm = self._tools.learner, self._case.arm
        decision = learner.decide(self._case.task.id, state, tuple(modes), arm=arm, prior=modes, attempts=1)
        return Retry(mode=mode_of(decision.chosen), decision=decision)

    def given(self, mode: RetryMode) -> Remembered:
        """What one attempt is told."""
        if self.off:
            return Remembered()
        earlier = self._reflections()
        said = tuple(each.told for each in earlier if each.outcome is AttemptOutcome.PROVEN)
        own = tuple(each.told for each in earlier if each.outcome is not AttemptOutcome.PROVEN)
        near = [each.nearest for each in earlier if each.nearest is not None]
        reflective = mode in (RetryMode.REFLECTION, RetryMode.BOTH)
        return Remembered(
            recalled=self.recalled,
            rewards={each.experience.id: reward(self._tools.store, each) for each in self.recalled},
            skills=usable(current(self._tools.store), self._case.task.repository, self._tools.learner.quorum),
            examples=self._examples(),
            # What people said of a repair they rejected is no experiment: it is told in any mode.
            lessons=(said + ((*own, *self._lessons_of_others()) if reflective else ()))[:LESSONS],
            last=near[0] if near and mode in (RetryMode.LAST_ATTEMPT, RetryMode.BOTH) else None,
        )

    def about(self, query: str) -> str:
        """What this repository's memory has of failures like the one described, in words."""
        if self.off:
            return "nothing"
        found = self._tools.experiences.recall(
            signature=query,
            error_type=self._failure.error_type,
            family=self._failure.family,
            repository=self._case.task.repository,
            among=Among(repository=self._case.task.repository),
        )
        rows = [each.experience for each in found]
        told = (f"{e.path}: {e.error_type}, {e.strategy}, {e.outcome}: {e.reflection}" for e in rows)
        return "\n".join(told) or "nothing"

    def _reflections(self) -> Sequence[Reflection]:
        """On this failure, newest first, those of this repair among them."""
        known = self._tools.store.reflections.latest(self._case.task.repository, MOST_RECALLED)
        return of_same(self._failure, known)

    def _lessons_of_others(self) -> tuple[str, ...]:
        """What similar failures of this repository taught, in words."""
        near = (found.experience for found in self.recalled if found.score >= ALIKE)
        here = [each for each in near if each.repository == self._case.task.repository]
        told = self._tools.store.reflections.told([each.id for each in here])
        own = {each.id: each.reflection for each in here if each.strategy.startswith("model:")}
        return tuple(text for each in here if (text := told.get(each.id) or own.get(each.id, "")))

    def _examples(self) -> tuple[str, ...]:
        """Whole repairs of this repository that people accepted, the nearest first: expert iteration without training."""
        good = [
            found.experience.id
            for found in self.recalled
            if found.experience.outcome is AttemptOutcome.PROVEN
            and found.experience.repository == self._case.task.repository
            and (accepted(self._tools.store, found.experience.id) or 0.0) > 0.5
        ]
        texts = (self._tools.store.trajectories.text(each) for each in good)
        return tuple(text for text in texts if text)[:SHOWN_EXAMPLES]

    def reflect(self, decision: Decision, outcome: AttemptOutcome, told: str, nearest: NearMiss | None) -> None:
        """Keep the reflection on an attempt that proved nothing."""
        self._tools.store.reflections.add(
            Reflection(
                id=decision.id,
                repository=self._case.task.repository,
                error_type=self._failure.error_type,
                failing_tests=self._failure.failing_tests,
                strategy=decision.chosen,
                outcome=outcome,
                candidates=1,
                ruled_out=(),
                nearest=nearest,
                told=told,
                created_at=decision.created_at,
            )
        )


def accepted(store: Store, decision_id: str) -> float | None:
    """What people whose word counts made of a decision, within [0, 1]; None where nobody said anything."""
    return acceptance(store.ledger.live_signals([decision_id]))


def reward(store: Store, found: Recollection) -> float:
    """What a past attempt was worth, within [0, 1]: what the tests said, times what people did."""
    outcome = store.ledger.outcome(found.experience.id)
    proven = found.experience.outcome is AttemptOutcome.PROVEN
    tested = outcome.target if outcome is not None else (1.0 if proven else 0.0)
    said = accepted(store, found.experience.id)
    return tested if said is None else tested * said
