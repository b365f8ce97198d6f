"""Lessons of one repository that may leave it, and lessons from elsewhere as a prior: pseudo-counts of bounded strength,
kept apart from what was seen here.

`.apprentice/learnings.yml` holds them in a form that maintainers can review: rules, built-in error types, figures, days, and
links to the sources; no code, no messages and no logins. It is untrusted YAML, see `parse`.
"""

import builtins
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from math import inf
from typing import Annotated

import msgspec
from msgspec import Meta

from memory.model import Decision, Signal, TaskKind
from memory.plain_yaml import BadYaml, read_exported
from memory.rewards import PATTERN, SIGNAL_WORTH, weight_of
from memory.store import Store

PATH = ".apprentice/learnings.yml"
VERSION = 1

QUORUM = 2
"""The fewest users with weight behind a lesson that leaves a repository."""

MOST = 20.0
"""The most observations that all imports about one pattern are worth."""

OWN = 10.0
"""The observations that our own prior is worth beside it."""

MAX_LESSONS, MAX_LINKS = 400, 5

Pattern = tuple[TaskKind, str, str]
"""A rule or error type: its kind, its label, and the strategy."""

_RULE = re.compile(r"[A-Z]{1,5}[0-9]{2,4}")
_COMMON_ERRORS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
) | {"Failed", "Timeout", "TimeoutExpired", "JSONDecodeError", "FrozenInstanceError", "ValidationError"}


Name = Annotated[str, Meta(pattern=r"\A[A-Za-z][\w.:-]*\Z", max_length=100)]
Id = Annotated[str, Meta(pattern=r"\A[\w.:-]+\Z", max_length=64)]
Link = Annotated[str, Meta(pattern=r"\Ahttps?://[\w.:-]+/[\w./-]+\Z", max_length=300)]


class Lesson(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Feedback on one rule (with the strategy `finding`), or on one strategy for an error type.

    `mean` of acceptance lies within [0, 1], `weight` is about how many verdicts it comes from, `teachers` how many people
    gave them; `decisions` are ids at the source, `taught_by` links to where it happened.
    """

    about: TaskKind
    label: Name
    family: Name
    strategy: Name
    mean: Annotated[float, Meta(ge=0.0, le=1.0)]
    weight: Annotated[float, Meta(ge=0.0, le=1e6)]
    teachers: Annotated[int, Meta(ge=QUORUM, le=10**6)]
    since: date
    until: date
    taught_by: Annotated[tuple[Link, ...], Meta(max_length=MAX_LINKS)]
    decisions: Annotated[tuple[Id, ...], Meta(max_length=MAX_LINKS)] = ()

    @property
    def pattern(self) -> Pattern:
        """The rule or error type, with the strategy."""
        return self.about, self.label, self.strategy


class Learnings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file: what a source learned."""

    version: Annotated[int, Meta(ge=1, le=VERSION)] = VERSION
    source: Annotated[str, Meta(pattern=r"\A(local:)?[A-Za-z0-9][\w.-]*(/[A-Za-z0-9_.][\w.-]*)?\Z", max_length=100)]
    lessons: Annotated[tuple[Lesson, ...], Meta(max_length=MAX_LESSONS)]


def shifted(prior: float, learnings: Iterable[Learnings], pattern: Pattern) -> tuple[float, tuple[str, ...]]:
    """The prior mean of acceptance after what is imported about a pattern, and whose learnings moved it.

    Each lesson counts as pseudo-observations; together they are scaled down to `MOST`, beside `OWN` of the prior itself.
    """
    found = [(each.source, lesson) for each in learnings for lesson in each.lessons if lesson.pattern == pattern]
    weight = sum(min(lesson.weight, MOST) for _, lesson in found)
    if weight <= 0.0:
        return prior, ()
    mean = sum(min(lesson.weight, MOST) * lesson.mean for _, lesson in found) / weight
    counted = min(weight, MOST)
    return (OWN * prior + counted * mean) / (OWN + counted), tuple(sorted({source for source, _ in found}))


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


Verdicts = Sequence[tuple[Decision, Signal]]
"""Feedback with weight on one pattern. Who gave it is counted and not kept."""


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
    given: defaultdict[Pattern, list[tuple[Decision, Signal]]] = defaultdict(list)
    for decision, signal in store.ledger.standing(repository=repository):
        if weight_of(signal) > 0.0:
            state = decision.state
            strategy = PATTERN if state.kind is TaskKind.REVIEW else decision.chosen
            given[state.kind, state.label, strategy].append((decision, signal))
    lessons = [
        _lesson(store, repository, pattern, verdicts, link)
        for pattern, verdicts in given.items()
        if _teachers(verdicts) >= max(quorum, QUORUM) and (private_names or is_public(pattern[0], pattern[1]))
    ]
    weightiest = sorted(lessons, key=lambda each: (-each.weight, each.pattern))
    return Learnings(source=store.name_of(repository), lessons=tuple(weightiest[:MAX_LESSONS]))


def from_elsewhere(store: Store, learnings: Iterable[Learnings]) -> tuple[Learnings, ...]:
    """Learnings without the lessons that come from this installation: the table has learned from those already."""
    found = tuple(learnings)
    known = store.ledger.known([each for one in found for lesson in one.lessons for each in lesson.decisions])
    return tuple(
        Learnings(source=one.source, lessons=tuple(each for each in one.lessons if known.isdisjoint(each.decisions)))
        for one in found
    )


def _teachers(verdicts: Verdicts) -> int:
    return len({signal.actor.id for _, signal in verdicts})


def _lesson(
    store: Store, repository: str, pattern: Pattern, verdicts: Verdicts, link: Callable[[TaskKind, str, int], str]
) -> Lesson:
    decisions = {decision.id: decision for decision, _ in verdicts}.values()
    latest = sorted(decisions, key=lambda each: (each.created_at, each.id), reverse=True)[:MAX_LINKS]
    stored = [store.tasks.get(decision.task_id) for decision in latest]
    numbers = dict.fromkeys(each.task.number for each in stored if each is not None and each.task.number)
    days = [signal.created_at.date() for _, signal in verdicts]
    weight = sum(weight_of(signal) for _, signal in verdicts)
    about, label, strategy = pattern
    return Lesson(
        about=about,
        label=label,
        family=latest[0].state.family,
        strategy=strategy,
        mean=round(sum(weight_of(signal) * SIGNAL_WORTH[signal.kind].value for _, signal in verdicts) / weight, 3),
        weight=round(weight, 1),
        teachers=_teachers(verdicts),
        since=min(days),
        until=max(days),
        taught_by=tuple(link(about, store.name_of(repository), number) for number in numbers),
        decisions=tuple(decision.id for decision in latest),
    )


# ── The file ───────────────────────────────────────────────────────────────────────────────────────────────────────

_HEAD = """\
# Lessons from feedback in this repository, as a prior for reviews and repairs. Review changes to it like code:
# Apprentice reads it from the base branch only. Remove an entry to end its effect.
"""


def parse(text: str) -> Learnings:
    """Read an untrusted file; raises BadYaml.

    A plain tree of bounded size, without anchors, tags or duplicate keys, that has the fields of `Learnings`.
    """
    learnings, line_of = read_exported(text, Learnings, "correct it, export the file again, or upgrade Apprentice")
    seen = set[Pattern]()
    for number, lesson in enumerate(learnings.lessons):
        line = line_of(f"lessons[{number}]")
        if lesson.until < lesson.since:
            raise BadYaml(line, 1, f"until {lesson.until} is before since {lesson.since}; correct it")
        if lesson.pattern in seen:
            raise BadYaml(line, 1, f"{lesson.label} with {lesson.strategy} occurs twice; remove one")
        seen.add(lesson.pattern)
    return learnings


def render(learnings: Learnings) -> str:
    """The file, the same for the same learnings, an entry a block, so that a change reads well in a diff."""
    import yaml  # slow to import, and seldom needed

    ordered = msgspec.structs.replace(
        learnings, lessons=tuple(sorted(learnings.lessons, key=lambda each: each.pattern))
    )
    plain = msgspec.to_builtins(ordered)
    return _HEAD + str(yaml.safe_dump(plain, sort_keys=False, default_flow_style=None, allow_unicode=True, width=inf))
