"""`.apprentice/learnings.yml`: the lessons of a repository, in a form that its maintainers can review. Pure.

The file holds no code, no messages and no logins: rules, built-in error types, figures, days, and links to the sources.
It is untrusted YAML: a plain tree of bounded size, without anchors, tags or duplicate keys; errors name the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeVar

import yaml

from memory.model import TaskKind
from memory.sharing.lessons import MOST_LESSONS, MOST_LINKS, QUORUM, Learnings, Lesson

MOST_BYTES = 200_000
DEEPEST = 6

Read = TypeVar("Read")


class BadLearnings(Exception):
    """A learnings file cannot be used; the text names the line and says what to do."""


def bad(line: int, reason: str) -> BadLearnings:
    """The error for one line."""
    return BadLearnings(f"line {line}: {reason}")


@dataclass(frozen=True, slots=True)
class YamlNode:
    """One value and its line."""

    found: yaml.Node

    @property
    def line(self) -> int:
        """The line it begins on, from 1."""
        return int(self.found.start_mark.line) + 1

    def mapping(self, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, YamlNode]:
        """The values by key: all of the required ones, and none that is not known."""
        if not isinstance(self.found, yaml.MappingNode):
            raise bad(self.line, f"expected the keys {', '.join(required)}")
        values: dict[str, YamlNode] = {}
        for key, value in self.found.value:
            name, line = YamlNode(key).text(40), YamlNode(key).line
            if name in values:
                raise bad(line, f"{name!r} occurs twice; remove one")
            if name not in (*required, *optional):
                raise bad(line, f"{name!r} is not known here; known are {', '.join((*required, *optional))}")
            values[name] = YamlNode(value)
        missing = [name for name in required if name not in values]
        if missing:
            raise bad(self.line, f"{', '.join(missing)} is missing; export the file again")
        return values

    def items(self, most: int, read: Callable[[YamlNode], Read]) -> tuple[Read, ...]:
        """A list of at most so many values."""
        if not isinstance(self.found, yaml.SequenceNode):
            raise bad(self.line, "expected a list")
        if len(self.found.value) > most:
            raise bad(self.line, f"{len(self.found.value)} entries, at most {most}; split the file")
        return tuple(read(YamlNode(each)) for each in self.found.value)

    def text(self, longest: int) -> str:
        """A line of printable text."""
        value = self._scalar("text")
        if not value or len(value) > longest or not value.isprintable():
            raise bad(self.line, f"expected printable text of 1 to {longest} characters")
        return value

    def number(self, low: float, high: float) -> float:
        """A finite number within bounds."""
        value = self._scalar("a number")
        try:
            number = float(value)
        except ValueError:
            raise bad(self.line, f"{value[:40]!r} is not a number") from None
        if not low <= number <= high:
            raise bad(self.line, f"{value[:40]} is not within {low:g} and {high:g}; correct it or remove the entry")
        return number

    def whole(self, low: int, high: int) -> int:
        """A whole number within bounds."""
        number = self.number(low, high)
        if number != int(number):
            raise bad(self.line, f"{number:g} is not a whole number")
        return int(number)

    def day(self) -> date:
        """A day, as 2026-01-31."""
        value = self._scalar("a day")
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise bad(self.line, f"{value[:40]!r} is not a day; write it as 2026-01-31") from None

    def _scalar(self, wanted: str) -> str:
        if not isinstance(self.found, yaml.ScalarNode):
            raise bad(self.line, f"expected {wanted}")
        return str(self.found.value)


def tree(text: str) -> YamlNode:
    """The root of a document; raises BadLearnings for what is no plain YAML, too large or too deep."""
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise bad(1, f"the file is over {MOST_BYTES:,} bytes; export fewer lessons")
    try:
        _refuse_tricks(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise bad(mark.line + 1 if mark else 1, f"not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:  # a character that YAML forbids
        raise bad(1, "not valid YAML: it holds characters that are not allowed") from error
    if root is None:
        raise bad(1, "the file is empty")
    return YamlNode(root)


def _refuse_tricks(text: str) -> None:
    """Refuse by events, before a tree is built: a depth that breaks the parser, references that multiply, foreign types."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise bad(line, f"nested deeper than {DEEPEST} levels")
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            raise bad(line, "anchors and aliases are not read; write the value out")
        if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent)) and event.tag is not None:
            raise bad(line, "tags are not read; remove it")


PATH = ".apprentice/learnings.yml"
VERSION = 1

_REQUIRED = ("about", "label", "family", "strategy", "mean", "weight", "teachers", "since", "until", "taught_by")
_SOURCE = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9_.][\w.-]*)?")
_NAME = re.compile(r"[A-Za-z][\w.:-]*")
_HEAD = """\
# Lessons from feedback in this repository, as a prior for reviews and repairs. Review changes to it like code:
# Apprentice reads it from the base branch only. Remove an entry to end its effect.
"""


def parse(text: str) -> Learnings:
    """Read an untrusted file; raises BadLearnings with the line and what to do."""
    top = tree(text).mapping(("version", "source", "lessons"))
    version = top["version"].whole(1, 10**6)
    if version > VERSION:
        raise bad(
            top["version"].line, f"version {version} is newer than {VERSION}, the last one known; upgrade Apprentice"
        )
    lessons = top["lessons"].items(MOST_LESSONS, _lesson)
    seen: dict[tuple[TaskKind, str, str], None] = {}
    for node, lesson in zip(top["lessons"].items(MOST_LESSONS, lambda each: each), lessons, strict=True):
        if lesson.pattern in seen:
            raise bad(node.line, f"{lesson.label} with {lesson.strategy} occurs twice; remove one")
        seen[lesson.pattern] = None
    return Learnings(source=_matching(top["source"], _SOURCE, "a name such as owner/name"), lessons=lessons)


def _lesson(node: YamlNode) -> Lesson:
    found = node.mapping(_REQUIRED, ("decisions",))
    about = found["about"].text(10)
    if about not in set(TaskKind):
        raise bad(found["about"].line, f"about is {about!r}; it is {' or '.join(TaskKind)}")
    since, until = found["since"].day(), found["until"].day()
    if until < since:
        raise bad(found["until"].line, f"until {until} is before since {since}")
    return Lesson(
        about=TaskKind(about),
        label=_matching(found["label"], _NAME, "a rule or an error type"),
        family=_matching(found["family"], _NAME, "a family or category"),
        strategy=_matching(found["strategy"], _NAME, "a strategy"),
        mean=found["mean"].number(0.0, 1.0),
        weight=found["weight"].number(0.0, 1e6),
        teachers=found["teachers"].whole(QUORUM, 10**6),
        since=since,
        until=until,
        decisions=found["decisions"].items(MOST_LINKS, lambda each: each.text(64)) if "decisions" in found else (),
        taught_by=found["taught_by"].items(MOST_LINKS, _link),
    )


def _matching(node: YamlNode, pattern: re.Pattern[str], wanted: str) -> str:
    text = node.text(100)
    if not pattern.fullmatch(text):
        raise bad(node.line, f"{text!r} is not {wanted}")
    return text


def _link(node: YamlNode) -> str:
    text = node.text(300)
    if not re.fullmatch(r"https?://[\w.:-]+/[\w./-]+", text):
        raise bad(node.line, "expected the address of a pull request or an issue")
    return text


def render(learnings: Learnings) -> str:
    """The file, the same for the same learnings, an entry a block, so that a change reads well in a diff."""
    lines = [f"version: {VERSION}", f"source: {_quoted(learnings.source)}"]
    lessons = sorted(learnings.lessons, key=lambda each: each.pattern)
    lines.append("lessons:" if lessons else "lessons: []")
    for lesson in lessons:
        lines += _block(lesson)
    return _HEAD + "\n".join(lines) + "\n"


def _block(lesson: Lesson) -> Iterator[str]:
    yield f"  - about: {lesson.about}"
    for name, text in (("label", lesson.label), ("family", lesson.family), ("strategy", lesson.strategy)):
        yield f"    {name}: {_quoted(text)}"
    yield f"    mean: {lesson.mean:.3f}"
    yield f"    weight: {lesson.weight:.1f}"
    yield f"    teachers: {lesson.teachers}"
    yield f"    since: {lesson.since}"
    yield f"    until: {lesson.until}"
    for name, many in (("taught_by", lesson.taught_by), ("decisions", lesson.decisions)):
        yield f"    {name}: [{', '.join(_quoted(each) for each in many)}]"


def _quoted(text: str) -> str:
    """Plain where YAML reads it as the same text, else in quotes: `no` and `1e5` are texts here."""
    return text if re.fullmatch(r"[A-Z]+[0-9]{3,4}|[a-z]{4,}(_[a-z]+)*", text) else json.dumps(text)
