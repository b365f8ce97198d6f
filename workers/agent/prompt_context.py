"""The opening of a model's run: the task first, then what memory has for it, each part with a name.

What is the same for every task comes first, so that an endpoint can cache it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from memory.model import AttemptOutcome, Experience, Failure, NearMiss, Recollection, Reflection, RetryMode
from memory.rewards import acceptance
from memory.skills import Skill, current, usable
from memory.store import Store
from memory.store.documents import Trajectory
from workers.agent.tools import Tool, numbered, tool
from workers.llm.messages import ChatMessage, first_messages
from workers.llm.prompt_text import data, rendered_text, truncated
from workers.ports import Image
from workers.repair.candidates import Suspect
from workers.repair.engines.engine import PreviousAttempts, RepairDeps, ReproducedFailure, RetryChoice

SHOWN_TESTS, SHOWN_SUSPECTS, SHOWN_ATTEMPTS, SHOWN_SKILLS, SHOWN_EXAMPLES = 10, 12, 6, 5, 2
LONGEST_EDIT, LONGEST_EXAMPLE = 700, 3_000

SHOWN_FILES, SHOWN_PLACES, AROUND, MAX_LINES = 3, 20, 25, 200
"""Files and suspects whose surroundings are shown, lines on both sides, and lines of one file at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryParts:
    """What memory has for one attempt.

    `lessons` are reflections on this failure and similar ones, `last` what came nearest before; the retry mode chooses
    between the two. `rewards` are within [0, 1], by experience; `examples` are whole repairs that maintainers accepted, as text.
    """

    recalled: tuple[Recollection, ...] = ()
    rewards: Mapping[str, float] = field(default_factory=dict)
    skills: tuple[Skill, ...] = ()
    examples: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    last: NearMiss | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One failure as the model gets it: `tests` is the source of the failing tests, by path; `code` surrounds the
    suspects, `guidance` is what the user wrote."""

    repository: str
    failure: Failure
    suspects: Sequence[Suspect]
    tests: Mapping[str, str]
    report: str
    code: str
    guidance: str
    images: tuple[Image, ...] = ()


def opening(system: str, assignment: Assignment, remembered: MemoryParts) -> tuple[ChatMessage, ...]:
    """The first messages of a run."""
    failure = assignment.failure
    tests = "\n".join(f"- {test}" for test in failure.failing_tests[:SHOWN_TESTS])
    more = len(failure.failing_tests) - SHOWN_TESTS
    parts = [
        f"# The failure\n{data('failing tests', tests, code=True)}" + (f"\nand {more} more" if more > 0 else ""),
        assignment.report,
        *(data(path, text, code=True) for path, text in assignment.tests.items()),
    ]
    if assignment.suspects:
        lines = "\n".join(f"{s.path}:{s.line} ({s.score:.2f})" for s in assignment.suspects[:SHOWN_SUSPECTS])
        parts.append(
            f"# Lines that the failing tests run and the passing ones less\n{data('suspects', lines, code=True)}"
        )
        parts.append(f"# The code around them\n{assignment.code}")
    if assignment.guidance:
        parts.append(f"# What the user who asked for this says\n{data('guidance', rendered_text(assignment.guidance))}")
    parts += memory(assignment, remembered)
    return first_messages(system, "\n\n".join(parts), assignment.images)


def code_around(suspects: Sequence[Suspect], sources: Mapping[str, str]) -> str:
    """The code around the likeliest places, with line numbers, each file once."""
    parts: list[str] = []
    for path in list(dict.fromkeys(suspect.path for suspect in suspects))[:SHOWN_FILES]:
        lines = [suspect.line for suspect in suspects[:SHOWN_PLACES] if suspect.path == path]
        first = max(min(lines, default=1) - AROUND, 1)
        parts.append(numbered(path, sources[path], first, min(max(lines, default=1) + AROUND, first + MAX_LINES)))
    return "\n\n".join(parts)


def memory(assignment: Assignment, remembered: MemoryParts) -> list[str]:
    """The parts that memory has, each under its heading. What is of another repository comes without its code and its names."""
    attempts = (each.experience for each in remembered.recalled[:SHOWN_ATTEMPTS])
    rows = [_row(each, remembered.rewards.get(each.id, 0.0), assignment.repository) for each in attempts]
    edits = (each.shape for each in remembered.skills[:SHOWN_SKILLS])
    skills = [f"{edit.before or 'nothing'}\n  becomes\n{edit.after or 'nothing'}" for edit in edits]
    examples = [truncated(each, LONGEST_EXAMPLE) for each in remembered.examples[:SHOWN_EXAMPLES]]
    parts: list[str] = []
    if rows:
        heading = "# Similar failures, what was tried and what it was worth (1 is proven and accepted, 0 worthless)"
        parts.append("\n".join((heading, data("past attempts", "\n".join(rows), code=True))))
    if skills:
        heading = "# Edits that repaired failures like this (`$0` is any name or operand, the same on both sides)"
        parts.append("\n".join((heading, data("skills", "\n\n".join(skills), code=True))))
    if examples:
        shown = "\n\n".join(data("accepted repair", each, code=True) for each in examples)
        parts.append(f"# Repairs that maintainers here accepted\n{shown}")
    if remembered.lessons:
        lessons = "\n".join(f"- {lesson}" for lesson in dict.fromkeys(remembered.lessons))
        parts.append(f"# Lessons of earlier tries\n{data('lessons', lessons)}")
    if (miss := remembered.last) is not None:
        outcome = f"{miss.passed} failing tests passed with it; then {miss.error_type}: {miss.message}"
        last = data("last try", f"{truncated(miss.edit, LONGEST_EXAMPLE)}\n{outcome}", code=True)
        parts.append(f"# The last try, which failed\n{last}")
    return parts


def _row(experience: Experience, reward: float, repository: str) -> str:
    """One row of the in-context table, good or bad."""
    ours = experience.repository == repository
    kind = experience.error_type if ours else experience.family
    head = f"reward {reward:.2f} | {kind} | {experience.strategy} | {experience.outcome}"
    if not ours:
        return head
    edit = "".join(f"\n    {line}" for line in truncated(experience.patch, LONGEST_EDIT).splitlines())
    return f"{head} | {experience.path} | {experience.reflection}{edit}"


LESSONS = 5
"""Reflections given at most."""

ALIKE = 0.3
"""How near a failure is whose lessons may help; recollections below are about other things."""


def recalling(memory_of: Callable[[str], str]) -> Tool:
    """The tool that asks memory: `memory_of` says in words what it has of failures like the one described."""

    def recall(like: Annotated[str, Meta(min_length=1, max_length=500)]) -> str:
        """Recall earlier failures of this repository like the one you describe, with what was tried and what it brought."""
        return data("memory", memory_of(like), code=True)

    return tool(recall)


class MemoryContext:
    """What the memory has of one failure; nothing where the case does not remember."""

    def __init__(self, case: ReproducedFailure, deps: RepairDeps, previous: PreviousAttempts) -> None:
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
            only_here=True,
        )
        rows = [each.experience for each in found]
        lines = (f"{e.path}: {e.error_type}, {e.strategy}, {e.outcome}: {e.reflection}" for e in rows)
        return "\n".join(lines) or "nothing"

    def _lessons_of_others(self) -> tuple[str, ...]:
        """The lessons of similar failures of this repository, in words."""
        near = (found.experience for found in self._case.recalled if found.score >= ALIKE)
        here = [each for each in near if each.repository == self._case.task.repository]
        lessons = self._deps.store.reflections.several([each.id for each in here], Reflection)
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
