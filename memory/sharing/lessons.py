"""Lessons from elsewhere as a prior: pseudo-counts of bounded strength, kept apart from what was seen here. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date

from memory.model import TaskKind

QUORUM = 2
"""The fewest users with weight behind a lesson that leaves a repository."""

MOST = 20.0
"""The most observations that all imports about one pattern are worth."""

OWN = 10.0
"""The observations that our own prior is worth beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Feedback on one rule (with the strategy `finding`), or on one strategy for an error type.

    `mean` of acceptance lies within [0, 1], `weight` is about how many verdicts it comes from, `teachers` how many people
    gave them; `decisions` are ids at the source, `taught_by` links to where it happened.
    """

    about: TaskKind
    label: str
    family: str
    strategy: str
    mean: float
    weight: float
    teachers: int
    since: date
    until: date
    decisions: tuple[str, ...]
    taught_by: tuple[str, ...]

    @property
    def pattern(self) -> tuple[TaskKind, str, str]:
        """The rule or error type, with the strategy."""
        return self.about, self.label, self.strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnings:
    """One file: what a source learned."""

    source: str
    lessons: tuple[Lesson, ...]


@dataclass(frozen=True, slots=True)
class ShiftedChances:
    """A prior with what others learned, and whose learnings moved it."""

    mean: float
    sources: tuple[str, ...] = ()


def shifted(prior: float, learnings: Iterable[Learnings], pattern: tuple[TaskKind, str, str]) -> ShiftedChances:
    """The prior mean of acceptance after what is imported about a pattern.

    Each lesson counts as pseudo-observations; together they are scaled down to `MOST`, beside `OWN` of the prior itself.
    """
    found = [(each.source, lesson) for each in learnings for lesson in each.lessons if lesson.pattern == pattern]
    weight = sum(min(lesson.weight, MOST) for _, lesson in found)
    if weight <= 0.0:
        return ShiftedChances(prior)
    mean = sum(min(lesson.weight, MOST) * lesson.mean for _, lesson in found) / weight
    counted = min(weight, MOST)
    return ShiftedChances(
        (OWN * prior + counted * mean) / (OWN + counted), tuple(sorted({source for source, _ in found}))
    )


def not_of(known: Collection[str], learnings: Learnings) -> Learnings:
    """The same without the lessons that come from decisions that are `known` here: those were learned from already."""
    foreign = tuple(each for each in learnings.lessons if not set(each.decisions) & set(known))
    return Learnings(source=learnings.source, lessons=foreign)


def merged(old: Learnings, new: Learnings) -> Learnings:
    """The file after an update: `new` speaks for its patterns, and what it does not name any more is gone.

    A pattern of which nothing changed keeps its old words, so that the difference shows what was learned.
    """
    known = {lesson.pattern: lesson for lesson in old.lessons if old.source == new.source}
    kept = tuple(known[each.pattern] if _same(known.get(each.pattern), each) else each for each in new.lessons)
    return Learnings(source=new.source, lessons=kept)


def _same(old: Lesson | None, new: Lesson) -> bool:
    return old is not None and (old.mean, old.weight, old.teachers) == (new.mean, new.weight, new.teachers)
