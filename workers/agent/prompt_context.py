"""The opening of a model's run: the task first, then what memory has for it, each part with a name. Pure.

What is the same for every task comes first, so that an endpoint can cache it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from memory.model import Experience, Failure, NearMiss, Recollection
from memory.skills import Skill
from workers.agent.conversation import truncated
from workers.agent.tools.reading import numbered
from workers.llm.messages import ChatMessage, ChatRole
from workers.llm.untrusted import data
from workers.ports import Image
from workers.repair.engines.search.candidates import Suspect

SHOWN_TESTS, SHOWN_SUSPECTS, SHOWN_ATTEMPTS, SHOWN_SKILLS, SHOWN_EXAMPLES = 10, 12, 6, 5, 2
LONGEST_EDIT, LONGEST_EXAMPLE = 700, 3_000

SHOWN_FILES, SHOWN_PLACES, AROUND, MOST_LINES = 3, 20, 25, 200
"""Files and suspects whose surroundings are shown, lines on both sides, and lines of one file at most."""

SECTIONS = ("attempts", "skills", "examples")
"""The parts of the memory that a run can do without, so that their use can be measured."""


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
    code: str = ""
    guidance: str = ""
    images: tuple[Image, ...] = field(default=())


def opening(
    system: str, assignment: Assignment, remembered: MemoryParts, withheld: Collection[str]
) -> tuple[ChatMessage, ...]:
    """The first messages of a run, without the parts that are `withheld`."""
    parts = [*_task(assignment), *memory(assignment, remembered, withheld)]
    task = ChatMessage(role=ChatRole.USER, text="\n\n".join(parts), images=assignment.images)
    return (ChatMessage(role=ChatRole.SYSTEM, text=system), task)


def code_around(suspects: Sequence[Suspect], sources: Mapping[str, str]) -> str:
    """The code around the likeliest places, with line numbers, each file once."""
    parts: list[str] = []
    for path in list(dict.fromkeys(suspect.path for suspect in suspects))[:SHOWN_FILES]:
        lines = [suspect.line for suspect in suspects[:SHOWN_PLACES] if suspect.path == path]
        first = max(min(lines, default=1) - AROUND, 1)
        parts.append(numbered(path, sources[path], first, min(max(lines, default=1) + AROUND, first + MOST_LINES)))
    return "\n\n".join(parts)


def _task(assignment: Assignment) -> list[str]:
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
        parts.append(f"# What the person who asked for this says\n{data('guidance', assignment.guidance)}")
    return parts


def memory(assignment: Assignment, remembered: MemoryParts, withheld: Collection[str]) -> list[str]:
    """The parts that memory has, each under its heading."""
    sections = {
        "attempts": _attempts(remembered, assignment.repository),
        "skills": _skills(remembered.skills),
        "examples": _examples(remembered.examples),
    }
    headings = {
        "attempts": "# Similar failures, what was tried and what it was worth (1 is proven and accepted, 0 worthless)",
        "skills": "# Edits that repaired failures like this (`$0` is any name or operand, the same on both sides)",
        "examples": "# Repairs that people here accepted",
    }
    parts = [f"{headings[name]}\n{text}" for name, text in sections.items() if text and name not in withheld]
    if remembered.lessons:
        lessons = "\n".join(f"- {lesson}" for lesson in dict.fromkeys(remembered.lessons))
        parts.append(f"# Lessons of earlier tries\n{data('lessons', lessons)}")
    if remembered.last is not None:
        parts.append(f"# The last try, which failed\n{_last(remembered.last)}")
    return parts


def _attempts(remembered: MemoryParts, repository: str) -> str:
    """The in-context table, good and bad: what is of another repository comes without its code and its names."""
    rewards = remembered.rewards
    rows = [
        _row(e, rewards.get(e.id, 0.0), repository)
        for e in (r.experience for r in remembered.recalled[:SHOWN_ATTEMPTS])
    ]
    return data("past attempts", "\n".join(rows), code=True) if rows else ""


def _row(experience: Experience, reward: float, repository: str) -> str:
    ours = experience.repository == repository
    kind = experience.error_type if ours else experience.family
    head = f"reward {reward:.2f} | {kind} | {experience.strategy} | {experience.outcome}"
    if not ours:
        return head
    edit = "".join(f"\n    {line}" for line in truncated(experience.patch, LONGEST_EDIT).splitlines())
    return f"{head} | {experience.path} | {experience.reflection}{edit}"


def _skills(skills: Sequence[Skill]) -> str:
    rows = [
        f"{each.shape.before or 'nothing'}\n  becomes\n{each.shape.after or 'nothing'}"
        for each in skills[:SHOWN_SKILLS]
    ]
    return data("skills", "\n\n".join(rows), code=True) if rows else ""


def _examples(examples: Sequence[str]) -> str:
    shown = (truncated(each, LONGEST_EXAMPLE) for each in examples[:SHOWN_EXAMPLES])
    return "\n\n".join(data("accepted repair", each, code=True) for each in shown)


def _last(miss: NearMiss) -> str:
    outcome = f"{miss.passed} failing tests passed with it; then {miss.error_type}: {miss.message}"
    return data("last try", f"{truncated(miss.edit, LONGEST_EXAMPLE)}\n{outcome}", code=True)
