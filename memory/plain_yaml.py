"""Reads untrusted YAML as a plain tree of bounded size: no anchors, no tags, no types but those that a field asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:
    import yaml

T = TypeVar("T")

MAX_BYTES, LONGEST, DEEPEST = 200_000, 300, 6
"""The most that a file, a value in it, and its nesting may have."""


class BadYaml(Exception):
    """A text cannot be used; `line` and `column` count from 1, and the text names the line and says what to do."""

    def __init__(self, line: int, column: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.column = column
        self.reason = reason


def root_of(text: str, most_bytes: int = MAX_BYTES) -> yaml.Node | None:
    """The root of a document, None for an empty one. Raises BadYaml, before a tree is built, for what multiplies."""
    import yaml  # slow to import, and seldom needed

    if len(text.encode(errors="replace")) > most_bytes:
        raise BadYaml(1, 1, f"the file is over {most_bytes:,} bytes")
    with only_bad_yaml():
        _refuse_tricks(yaml.parse(text, Loader=yaml.SafeLoader))
        return yaml.compose(text, Loader=yaml.SafeLoader)


@contextmanager
def only_bad_yaml() -> Iterator[None]:
    """Raise BadYaml for all that PyYAML raises: what it does not check itself comes from Python, such as `"\\UFFFFFFFF"`."""
    import yaml

    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise BadYaml(line, column, f"not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:  # a character that YAML forbids
        raise BadYaml(1, 1, "not valid YAML: it holds characters that are not allowed") from error
    except RecursionError as error:
        raise BadYaml(1, 1, "not valid YAML: it is nested too deep") from error
    except (ArithmeticError, AttributeError, LookupError, ValueError) as error:
        raise BadYaml(1, 1, "not valid YAML: it holds a value that cannot be read") from error


def weight(node: yaml.Node, most: int, known: dict[int, int] | None = None) -> int:
    """How many values a node holds, those of an alias each time; a node within itself has more than `most`."""
    known = {} if known is None else known
    if id(node) not in known:
        known[id(node)] = most + 1
        pairs = node.value if node.id in ("sequence", "mapping") else ()
        below = (each for pair in pairs for each in (pair if isinstance(pair, tuple) else (pair,)))
        known[id(node)] = 1 + sum(weight(each, most, known) for each in below)
    return known[id(node)]


def _refuse_tricks(events: Iterable[yaml.Event]) -> None:
    """Refuse a depth that breaks the parser, references that multiply, and foreign types."""
    depth = 0
    for event in events:
        name = type(event).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        if depth > DEEPEST + 2:  # the stream and the document count as well
            raise bad_at(event, f"nested deeper than {DEEPEST} levels")
        if getattr(event, "anchor", None) is not None:
            raise bad_at(event, "anchors and aliases are not read; write the value out")
        if getattr(event, "tag", None) is not None:
            raise bad_at(event, "tags are not read; remove it")


def plain(node: yaml.Node) -> object:
    """Dictionaries, lists and texts: each type is converted where a field asks for it, so that `no` stays a text."""
    if node.id == "sequence":
        return [plain(each) for each in node.value]
    if node.id == "scalar":
        if not node.value.isprintable() or len(node.value) > LONGEST:
            raise bad_at(node, f"expected printable text of at most {LONGEST} characters")
        return node.value
    found: dict[str, object] = {}
    for key, value in node.value:
        if key.id != "scalar" or key.value in found:
            raise bad_at(key, f"{str(key.value)[:40]!r} occurs twice or is no key; remove it")
        found[str(plain(key))] = plain(value)
    return found


def bad_at(place: yaml.Node | yaml.Event, reason: str) -> BadYaml:
    """What is wrong where a node or an event begins."""
    return BadYaml(place.start_mark.line + 1, place.start_mark.column + 1, reason)


def read_exported(text: str, kind: type[T], advice: str) -> tuple[T, Callable[[str], int]]:
    """The value that an exported file holds, and the line of a place in it such as `lessons[2].mean`.

    Raises BadYaml, with the `advice` where a field is not as it should be.
    """
    root = root_of(text)
    if root is None:
        raise BadYaml(1, 1, "the file is empty; export it again")

    def line_of(keys: str) -> int:
        return int(node_at(root, keys).start_mark.line) + 1

    try:
        return msgspec.convert(plain(root), kind, strict=False), line_of
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at ")
        keys = place.strip("`").removeprefix("$.")
        raise BadYaml(line_of(keys), 1, f"{keys}: {reason}; {advice}") from error


def node_at(root: yaml.Node, keys: str) -> yaml.Node:
    """The node at a place; the last one on the way to it that there is."""
    node = root
    for name in re.findall(r"\w+", keys):
        if node.id == "sequence":
            node = node.value[int(name)]
        else:
            node = next((value for key, value in node.value if key.value == name), node)
    return node
