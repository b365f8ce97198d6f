"""`.apprentice/learnings.yml`: what a repository's people taught, in words that they can review. Pure.

The file holds no code, no messages and no logins: rules, error types that everybody has, figures, days, and links to where
it was taught.
"""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Iterator

from memory.model import TaskKind
from memory.sharing.lessons import QUORUM, Learnings, Lesson
from memory.sharing.strict import YamlNode, bad, tree

PATH = ".apprentice/learnings.yml"
VERSION = 1
MOST_LESSONS, MOST_LINKS = 400, 5

_REQUIRED = ("about", "label", "family", "strategy", "mean", "weight", "teachers", "since", "until", "taught_by")
_SOURCE = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9_.][\w.-]*)?")
_NAME = re.compile(r"[A-Za-z][\w.:-]*")
_RULE = re.compile(r"[A-Z]{1,5}[0-9]{2,4}")
_EVERYBODYS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
) | {"Failed", "Timeout", "TimeoutExpired", "JSONDecodeError", "FrozenInstanceError", "ValidationError"}

_HEAD = """\
# What people here taught Apprentice, as a prior for reviews and repairs. Review changes to it like code:
# it is read from the base branch only. Remove an entry, and it has no effect any more.
"""


def is_public(about: TaskKind, label: str) -> bool:
    """Whether a label says nothing about anybody's code: a tool's rule, or an error type that everybody has."""
    return bool(_RULE.fullmatch(label)) if about is TaskKind.REVIEW else label in _EVERYBODYS


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
