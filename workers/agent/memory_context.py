"""What memory gives a model for one failure: similar attempts, skills, accepted repairs, and the lessons of earlier tries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from memory.model import Among, AttemptOutcome, Recollection, RetryMode
from memory.rewards import acceptance
from memory.skills import current, usable
from memory.store import Store, Trajectory
from workers.agent.prompt_context import SHOWN_EXAMPLES, MemoryParts
from workers.agent.tools.tool import Tool, tool
from workers.llm.untrusted import data
from workers.repair.engines.engine import Case, RepairDeps
from workers.repair.previous_attempts import PreviousAttempts, RetryChoice

LESSONS = 5
"""Reflections given at most."""

ALIKE = 0.3
"""How near a failure is whose lessons may help; recollections below are about other things."""

Recall = Callable[[str], str]
"""What the memory has of failures like the one described, in words."""


class RecallQuery(Struct, forbid_unknown_fields=True):
    """Recall earlier failures of this repository like the one you describe, with what was tried and what came of it."""

    like: Annotated[str, Meta(min_length=1, max_length=500)]


def recalling(recall: Recall) -> Tool:
    """The tool that asks memory."""
    return tool("recall", RecallQuery, lambda asked: data("memory", recall(asked.like), code=True))


class MemoryContext:
    """What the memory has of one failure; nothing where the case does not remember."""

    def __init__(self, case: Case, deps: RepairDeps, previous: PreviousAttempts) -> None:
        self._case = case
        self._deps = deps
        self._previous = previous

    def retry(self) -> RetryChoice:
        """Choose how the next attempt uses what earlier ones left."""
        return self._previous.choose(lessons=bool(self._lessons_of_others()))

    def given(self, mode: RetryMode) -> MemoryParts:
        """The part of the memory that one attempt gets."""
        if not self._case.remembers:
            return MemoryParts()
        store, earlier = self._deps.store, self._previous.reflections()
        rejected = tuple(each.summary for each in earlier if each.outcome is AttemptOutcome.PROVEN)
        own = tuple(each.summary for each in earlier if each.outcome is not AttemptOutcome.PROVEN)
        near = [each.nearest for each in earlier if each.nearest is not None]
        reflective = mode in (RetryMode.REFLECTION, RetryMode.BOTH)
        return MemoryParts(
            recalled=self._case.recalled,
            rewards={each.experience.id: reward(store, each) for each in self._case.recalled},
            skills=usable(current(store), self._case.task.repository, self._deps.learner.quorum),
            examples=self._examples(),
            # Why maintainers rejected a repair is no experiment: any mode includes it.
            lessons=(rejected + ((*own, *self._lessons_of_others()) if reflective else ()))[:LESSONS],
            last=near[0] if near and mode in (RetryMode.LAST_ATTEMPT, RetryMode.BOTH) else None,
        )

    def about(self, query: str) -> str:
        """What this repository's memory has of failures like the one described, in words."""
        if not self._case.remembers:
            return "nothing"
        repository = self._case.task.repository
        found = self._deps.experiences.recall(
            signature=query,
            error_type=self._case.failure.error_type,
            family=self._case.failure.family,
            repository=repository,
            among=Among(repository=repository),
        )
        rows = [each.experience for each in found]
        lines = (f"{e.path}: {e.error_type}, {e.strategy}, {e.outcome}: {e.reflection}" for e in rows)
        return "\n".join(lines) or "nothing"

    def _lessons_of_others(self) -> tuple[str, ...]:
        """The lessons of similar failures of this repository, in words."""
        near = (found.experience for found in self._case.recalled if found.score >= ALIKE)
        here = [each for each in near if each.repository == self._case.task.repository]
        lessons = self._deps.store.reflections.several([each.id for each in here])
        own = {each.id: each.reflection for each in here if each.strategy.startswith("model:")}
        return tuple(
            text for each in here if (text := lessons[each.id].summary if each.id in lessons else own.get(each.id, ""))
        )

    def _examples(self) -> tuple[str, ...]:
        """Whole repairs of this repository that maintainers accepted, the nearest first: expert iteration without training."""
        store = self._deps.store
        good = [
            found.experience.id
            for found in self._case.recalled
            if found.experience.outcome is AttemptOutcome.PROVEN
            and found.experience.repository == self._case.task.repository
            and (accepted(store, found.experience.id) or 0.0) > 0.5
        ]
        found = store.trajectories.several(good, Trajectory)
        return tuple(found[each].text for each in good if each in found)[:SHOWN_EXAMPLES]


def accepted(store: Store, decision_id: str) -> float | None:
    """How far maintainers accepted a decision, within [0, 1]; None without any feedback that counts."""
    return acceptance(store.ledger.live_signals([decision_id]))


def reward(store: Store, found: Recollection) -> float:
    """What a past attempt was worth, within [0, 1]: the outcome of the tests, times the acceptance."""
    outcome = store.ledger.outcome(found.experience.id)
    proven = found.experience.outcome is AttemptOutcome.PROVEN
    tested = outcome.target if outcome is not None else (1.0 if proven else 0.0)
    acceptance_of = accepted(store, found.experience.id)
    return tested if acceptance_of is None else tested * acceptance_of
