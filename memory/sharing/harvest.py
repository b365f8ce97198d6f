"""The feedback of one repository, as lessons that may leave it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date

from memory.model import Decision, Signal, TaskKind
from memory.rewards import PATTERN, SIGNAL_WORTH
from memory.sharing.document import MOST_LESSONS, MOST_LINKS, is_public
from memory.sharing.lessons import QUORUM, Learnings, Lesson, not_of
from memory.store import Store


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


Pattern = tuple[TaskKind, str, str]


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
            tallies[_pattern(decision)].add(decision, signal)
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


def _pattern(decision: Decision) -> Pattern:
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
