"""Reads `.github/apprentice.yml`: what is right counts, and each mistake has its place and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct

from memory.plain_yaml import BadYaml, bad_at, plain, root_of
from workers.configuration.schema import (
    CATEGORIES,
    SECURITY_RULES,
    Patterns,
    RepositoryConfiguration,
    RuleChoice,
    RuleLevel,
    RuleName,
    RuleSeverity,
)

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 20_000
MAX_MISTAKES = 20
_LONGEST = 40
_CODE_IN_ANY_CASE = re.compile(r"[A-Za-z]{1,5}[0-9]{1,5}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """What is wrong at a place in the file; `line` and `column` count from 1."""

    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationFile:
    """The values of one file that are right, as its keys have them, and the mistakes in it, each of which is as if not written."""

    values: Mapping[str, object] = field(default_factory=dict)
    mistakes: tuple[Mistake, ...] = ()


def read_configuration(content: bytes) -> ConfigurationFile:
    """Read an untrusted file. It never raises: a file that is no YAML, or too large, has one mistake and no values."""
    try:
        root = root_of(content.decode(), MAX_BYTES)
        if root is None or _is_empty(root):
            return ConfigurationFile()
        reading = _Reading()
        values = reading.keys(root, RepositoryConfiguration, "")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        return ConfigurationFile(
            mistakes=(Mistake(line=line, column=1, text="the file is not UTF-8; save it as UTF-8"),)
        )
    except BadYaml as error:
        return ConfigurationFile(mistakes=(Mistake(line=error.line, column=error.column, text=error.reason),))
    return ConfigurationFile(values=values, mistakes=tuple(reading.mistakes[:MAX_MISTAKES]))


def configuration_of(files: Iterable[ConfigurationFile]) -> RepositoryConfiguration:
    """What files say together: a later one wins, key by key, and a rule counts as one key."""
    values: dict[str, object] = {}
    for file in files:
        for name, value in file.values.items():
            before = values.get(name)
            both = isinstance(before, Mapping) and isinstance(value, Mapping)
            values[name] = {**before, **value} if both else value  # type: ignore[dict-item]  # both are mappings
    return msgspec.convert(values, RepositoryConfiguration)


class _Reading:
    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []

    def keys(self, node: yaml.Node, kind: type[Struct], above: str) -> dict[str, object]:
        """The right values of a mapping that has the fields of a struct."""
        types = get_type_hints(kind, include_extras=True)
        fields = {each.encode_name: types[each.name] for each in msgspec.structs.fields(kind)}
        found: dict[str, object] = {}
        for name, key, value in self._pairs(node, above):
            place = f"{above}{name}"
            if name not in fields:
                self._at(key, f"{_quoted(name)} is no key{_under(above)}{_near(name, fields)}")
            elif name == "rules":
                found[name] = self._rules(value)
            elif isinstance(wanted := fields[name], type) and issubclass(wanted, Struct):
                found[name] = self.keys(value, wanted, f"{place}.")
            else:
                self._leaf(found, name, value, wanted, place)
        return found

    def _rules(self, node: yaml.Node) -> dict[str, object]:
        found: dict[str, object] = {}
        for name, key, value in self._pairs(node, "rules."):
            if not _fits(name, RuleName):
                self._at(key, f"{_quoted(name)} is no name of a rule; write it as F401, F or style")
            elif meant := _rule_meant(name):
                self._at(key, f"{_quoted(name)} is no name of a rule; did you mean {meant}?")
            elif value.id == "mapping":
                found[name] = self.keys(value, RuleChoice, f"rules.{name}.")
            else:
                self._leaf(found, name, value, RuleSeverity, f"rules.{name}")
            if SECURITY_RULES.fullmatch(name) and _leaves_out(found.get(name)):
                self._at(value, f"rules.{name}: findings about security cannot be left out")
                del found[name]
        return found

    def _pairs(self, node: yaml.Node, above: str) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        """The keys of a mapping with their values, without those that have none."""
        known = set[str]()
        if node.id != "mapping":
            if not _is_empty(node):
                self._at(node, f"expected keys with values{_under(above)}, as `key: value`")
            return
        for key, value in node.value:
            name = key.value if key.id == "scalar" else ""
            if name in known or not name:
                self._at(
                    key,
                    f"{_quoted(name)} occurs twice; the first counts, remove this one" if name else "this is no key",
                )
            elif not _is_empty(value):
                yield name, key, value
            known.add(name)

    def _leaf(self, found: dict[str, object], name: str, node: yaml.Node, wanted: Any, place: str) -> None:  # noqa: ANN401  a type
        try:
            value = msgspec.to_builtins(msgspec.convert(plain(node), wanted, strict=False))
        except BadYaml as error:
            self.mistakes.append(Mistake(line=error.line, column=error.column, text=f"{place}: {error.reason}"))
        except msgspec.ValidationError as error:
            wrong = _within(node, str(error))
            self._at(wrong, f"{place}: {_instead(node, wrong, wanted) or _expected(node, wanted)}")
        else:
            found |= {name: value} if value is not None else {}  # as a quoted "null"

    def _at(self, node: yaml.Node, text: str) -> None:
        bad = bad_at(node, text)
        self.mistakes.append(Mistake(line=bad.line, column=bad.column, text=text))


def _leaves_out(value: object) -> bool:
    chosen = value if isinstance(value, Mapping) else {"severity": value}
    return chosen.get("severity") == RuleLevel.OFF or "only" in chosen


def _is_empty(node: yaml.Node) -> bool:
    """A key without a value is as if not written."""
    return node.id == "scalar" and (not node.value or node.tag.endswith(":null"))


def _fits(value: str, wanted: Any) -> bool:  # noqa: ANN401  a type
    try:
        msgspec.convert(value, wanted)
    except msgspec.ValidationError:
        return False
    return True


def _expected(node: yaml.Node, wanted: Any) -> str:  # noqa: ANN401  a type
    """What a value has to look like, and what was probably meant."""
    title = next(each.title or "" for each in get_args(wanted) if isinstance(each, Meta))
    words = title.removeprefix("one of ").split(", ") if title.startswith("one of ") else []
    meant = get_close_matches(node.value[:_LONGEST], words, n=1) if node.id == "scalar" else []
    return f"expected {title}{f'; did you mean {meant[0]}?' if meant else ''}"


def _rule_meant(name: str) -> str:
    """The code or category that a name nearly is, empty otherwise: review tools name their rules as they like."""
    if _CODE_IN_ANY_CASE.fullmatch(name):
        return "" if name.isupper() else name.upper()
    near = get_close_matches(name.lower(), CATEGORIES, n=1, cutoff=0.8)
    return near[0] if near and near[0] != name else ""


def _instead(node: yaml.Node, wrong: yaml.Node, wanted: Any) -> str:  # noqa: ANN401  a type
    """What to write for a pattern in a list of them, where that is known."""
    is_pattern = wrong is not node and wrong.id == "scalar" and get_args(wanted)[0] == Patterns
    return _pattern_instead(wrong.value) if is_pattern else ""


def _pattern_instead(pattern: str) -> str:
    """What to write for a pattern that would match nothing, or every file; empty where that is not known."""
    if pattern.startswith("!"):
        return "no pattern begins with !; list the paths that are meant"
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if not names:
        return f"{pattern!r} holds no name; write ** for every file"
    is_rooted = "/" in pattern.rstrip("/") and len(names) == 1
    path = f"{'/' * is_rooted}{'/'.join(names)}"
    return f"write {path!r}, without `.`" if "." in pattern.split("/") else ""


def _within(node: yaml.Node, error: str) -> yaml.Node:
    """The entry of a list that is wrong, or the whole value."""
    _, _, place = error.partition("$[")
    number = place.partition("]")[0]
    return node.value[int(number)] if number.isdecimal() and node.id == "sequence" else node


def _near(word: str, known: Iterable[str]) -> str:
    near = get_close_matches(word[:_LONGEST], list(known), n=1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"


def _under(above: str) -> str:
    return f" of {above.rstrip('.')}" if above else ""


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
