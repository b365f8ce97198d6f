"""Lessons of one repository that may leave it, and lessons from elsewhere as a prior: pseudo-counts of bounded strength,
kept apart from what was seen here."""

from __future__ import annotations

import builtins
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import date

from memory.model import Decision, Signal, TaskKind
from memory.rewards import PATTERN, SIGNAL_WORTH
from memory.store import Store

QUORUM = 2
"""The fewest users with weight behind a lesson that leaves a repository."""

MOST = 20.0
"""The most observations that all imports about one pattern are worth."""

OWN = 10.0
"""The observations that our own prior is worth beside it."""

MOST_LESSONS, MOST_LINKS = 400, 5

Pattern = tuple[TaskKind, str, str]
"""A rule or error type: its kind, its label, and the strategy."""

_RULE = re.compile(r"[A-Z]{1,5}[0-9]{2,4}")
_COMMON_ERRORS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
) | {"Failed", "Timeout", "TimeoutExpired", "JSONDecodeError", "FrozenInstanceError", "ValidationError"}


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
    def pattern(self) -> Pattern:
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


def shifted(prior: float, learnings: Iterable[Learnings], pattern: Pattern) -> ShiftedChances:
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


# ── Harvest ────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_public(about: TaskKind, label: str) -> bool:
    """Whether a label reveals no code: a tool's rule, or a built-in error type."""
    return bool(_RULE.fullmatch(label)) if about is TaskKind.REVIEW else label in _COMMON_ERRORS


@dataclass(slots=True)
class _PatternTally:
    """The verdicts on one pattern. Who gave them is counted and not kept."""

    weight: float = 0.0
    value: float = 0.0
    teachers: set[int] = field(default_factory=set)
    days: list[date] = field(default_factory=list)
    decisions: dict[str, Decision] = field(default_factory=dict)

    def add(self, decision: Decision, signal: Signal) -> None:
        worth = SIGNAL_WORTH[signal.kind]
        weight = signal.weight * worth.weight
        if weight <= 0.0:
            return
        self.weight += weight
        self.value += weight * worth.value
        self.teachers.add(signal.actor.id)
        self.days.append(signal.created_at.date())
        self.decisions[decision.id] = decision


def harvest(
    store: Store,
    repository: str,
    link: Callable[[TaskKind, str, int], str],
    *,
    quorum: int = QUORUM,
    private_names: bool = False,
) -> Learnings:
    """The lessons of feedback by at least `quorum` users of a repository; of too many the weightiest.

    Only feedback leaves; test results do not. Error types that a project defines are its code, and stay unless
    `private_names`. `link` addresses an issue or pull request of a repository.
    """
    tallies: defaultdict[Pattern, _PatternTally] = defaultdict(_PatternTally)
    for kind in TaskKind:
        decisions = {d.id: d for d in store.ledger.with_feedback(kind) if d.state.repository == repository}
        for signal in store.ledger.live_signals(list(decisions)):
            decision = decisions[signal.decision_id]
            tallies[_pattern_of(decision)].add(decision, signal)
    fit = [
        (pattern, tally)
        for pattern, tally in tallies.items()
        if len(tally.teachers) >= max(quorum, QUORUM) and (private_names or is_public(pattern[0], pattern[1]))
    ]
    fit.sort(key=lambda each: (-each[1].weight, each[0]))
    lessons = (_lesson(store, repository, pattern, tally, link) for pattern, tally in fit[:MOST_LESSONS])
    return Learnings(source=repository, lessons=tuple(lessons))


def from_elsewhere(store: Store, learnings: Iterable[Learnings]) -> tuple[Learnings, ...]:
    """Learnings without the lessons that come from this installation: the table has learned from those already."""
    found = tuple(learnings)
    known = store.ledger.known([each for one in found for lesson in one.lessons for each in lesson.decisions])
    return tuple(not_of(known, each) for each in found)


def _pattern_of(decision: Decision) -> Pattern:
    state = decision.state
    return state.kind, state.label, PATTERN if state.kind is TaskKind.REVIEW else decision.chosen


def _lesson(
    store: Store, repository: str, pattern: Pattern, tally: _PatternTally, link: Callable[[TaskKind, str, int], str]
) -> Lesson:
    latest = sorted(tally.decisions.values(), key=lambda each: (each.created_at, each.id), reverse=True)[:MOST_LINKS]
    return Lesson(
        about=pattern[0],
        label=pattern[1],
        family=latest[0].state.family,
        strategy=pattern[2],
        mean=round(tally.value / tally.weight, 3),
        weight=round(tally.weight, 1),
        teachers=len(tally.teachers),
        since=min(tally.days),
        until=max(tally.days),
        decisions=tuple(decision.id for decision in latest),
        taught_by=tuple(dict.fromkeys(_links(store, repository, latest, link))),
    )


def _links(
    store: Store, repository: str, decisions: Iterable[Decision], link: Callable[[TaskKind, str, int], str]
) -> Iterable[str]:
    for decision in decisions:
        stored = store.tasks.get(decision.task_id)
        if stored is not None and stored.task.number:
            yield link(decision.state.kind, repository, stored.task.number)
