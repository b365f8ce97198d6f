"""Untrusted YAML: a plain tree of bounded size, without anchors, tags or duplicate keys; errors say which line. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeVar

import yaml

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
