"""Reads the files of a foreign checkout: no link is followed, nothing outside is read, and sizes are bounded."""

import ast
import codecs
import configparser
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import yaml

from memory.parsing import parsed
from memory.plain_yaml import BadYaml, only_bad_yaml, weight
from workers.sandbox.checkout_files import exists

LARGEST, LARGEST_LOCK, MAX_NAMES = 512 << 10, 8 << 20, 2000
MAX_VALUES, MAX_ITEMS, DEEPEST = 200_000, 2000, 100
"""Of a YAML document with its aliases written out, of one list of a module, and levels of both."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Table = Mapping[str, object]
T = TypeVar("T")
ParserOfIni = TypeVar("ParserOfIni", bound=configparser.RawConfigParser)


@dataclass(frozen=True, slots=True)
class TreeFiles:
    """The files of a checkout, by POSIX path. What is absent, too large or not well formed reads as empty."""

    root: Path
    memo: dict[str, Any] = field(default_factory=dict, compare=False)
    """What was read before, by its reader's key: a plan reads the same metadata many times."""

    def place(self, path: str) -> Path | None:
        """The file or directory at a path; None where there is none, outside of the tree, and where a link is on the way."""
        clean = posixpath.normpath(path)
        if clean.startswith(("/", "..")) or "\0" in clean or len(clean) > 1000:
            return None
        place = self.root
        for step in clean.split("/"):
            place = place / step
            if not exists(place) or place.is_symlink():
                return None
        return place

    def names(self, directory: str) -> list[str]:
        """The names in a directory, sorted; the first of very many."""
        place = self.place(directory)
        return sorted(each.name for each in place.iterdir())[:MAX_NAMES] if place and place.is_dir() else []

    def text(self, path: str, largest: int = LARGEST) -> str:
        place = self.place(path)
        if place is None or not place.is_file() or place.stat().st_size > largest:
            return ""
        data = place.read_bytes()
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # what Windows' shell writes lists in
        text = data.decode("utf-16" if wide else "utf-8-sig", errors="replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def once(self, key: str, read: Callable[[], T]) -> T:
        """What `read` gave under this key: the commands of a recipe ask for the same file again and again."""
        if key not in self.memo:
            self.memo[key] = read()
        found: T = self.memo[key]
        return found

    def toml(self, path: str, largest: int = LARGEST) -> Table:
        def read() -> Table:
            try:
                return toml(self.text(path, largest))
            except ValueError:
                return {}

        return self.once(f"toml {path}", read)

    def yaml(self, path: str) -> Table:
        try:
            with only_bad_yaml():
                return table(_document(self.text(path)))
        except BadYaml:
            return {}

    def ini(self, path: str) -> Mapping[str, Mapping[str, str]]:
        return self.once(f"ini {path}", lambda: ini(self.text(path)))

    def module(self, path: str) -> ast.Module:
        return self.once(f"module {path}", lambda: parsed(self.text(path)) or ast.Module(body=[], type_ignores=[]))


@cache
def well_known(section: str) -> Mapping[str, Any]:
    """What is well known of names of tools, modules, fixtures and options: one section of well_known.toml beside this file."""
    tables = tomllib.loads(Path(__file__).with_name("well_known.toml").read_text(encoding="utf-8"))
    found: Mapping[str, Any] = tables[section]
    return found


# ── Values of foreign documents ──


def table(node: object, *keys: str) -> Table:
    """The table below a node, by keys; empty where there is none."""
    for key in keys:
        node = node.get(key) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}


_DEEP = re.compile(
    r"""^[ \t\[]*(?:(?:[\w-]++|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*"|'[^'\n]*+')[ \t]*\.[ \t]*){32}""", re.MULTILINE
)
_BLANKS = re.compile(r"(?<=\S)[^\S\n]+(?=\S)")


def toml(text: str) -> dict[str, Any]:
    """The document; raises ValueError for what is none, and for keys of so many parts that the parser would not end."""
    if _DEEP.search(text):
        raise ValueError("a key of over 32 parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("values nested too deeply") from error


def parsed_ini(parser: ParserOfIni, text: str) -> ParserOfIni:
    """The parser with a text, each run of blanks within a line as one, on which its patterns spend the square of its length.

    Raises configparser.Error.
    """
    parser.read_string(_BLANKS.sub(" ", text))
    return parser


def ini(text: str) -> Mapping[str, Mapping[str, str]]:
    """The sections of a text as configparser reads them; none of a text that it refuses."""
    parser = configparser.RawConfigParser(strict=False, default_section="\0", allow_no_value=True)
    try:
        parsed_ini(parser, text)
    except (configparser.Error, AttributeError):  # a continued value that has no first line
        return {}
    return {name: {key: value or "" for key, value in parser[name].items()} for name in parser.sections()}


def _document(text: str) -> object:
    """A YAML document. Raises BadYaml, before its values are made, for what breaks the parser in C, or multiplies by aliases."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise BadYaml(1, 1, "nested too deep")
    loader = _LOADER(text)
    try:
        root = loader.get_single_node()
        if root is not None and weight(root, MAX_VALUES) > MAX_VALUES:
            raise BadYaml(1, 1, "too many values")
        return None if root is None else loader.construct_document(root)
    finally:
        loader.dispose()


def items(node: object) -> list[object]:
    """The items of a list; one value is a list of one, nothing of none."""
    return node if isinstance(node, list) else [] if node is None else [node]


def strings(node: object) -> tuple[str, ...]:
    """The texts among the items of a list."""
    return tuple(each for each in items(node) if isinstance(each, str))


def word(node: object) -> str:
    """A text or a number as text; empty for anything else."""
    return str(node) if isinstance(node, str | int | float) and not isinstance(node, bool) else ""


def literal(node: ast.AST | None, names: Mapping[str, ast.expr]) -> object:
    """The value of an expression made of constants, lists, dicts and the module's names; None for what is computed."""
    return Literals(names).of(node)


@dataclass(frozen=True, slots=True)
class Literals:
    """The values of a module's expressions: each name is read once, and a list has MAX_ITEMS at most."""

    names: Mapping[str, ast.expr]
    known: dict[str, object] = field(default_factory=dict)

    def of(self, node: ast.AST | None, depth: int = 0) -> object:
        """The value; None for what is computed, or deeper than DEEPEST."""
        if depth > DEEPEST:
            return None
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in self.names:
                if name not in self.known:
                    self.known[name] = None  # within its own expression
                    self.known[name] = self.of(self.names[name], depth + 1)
                return self.known[name]
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return list(islice(self._items(parts, depth), MAX_ITEMS))
            case ast.Dict(keys=keys, values=values):
                pairs = ((self.of(key, depth + 1), value) for key, value in zip(keys, values, strict=True) if key)
                return {key: self.of(value, depth + 1) for key, value in pairs if not isinstance(key, list | dict)}
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                one, other = self.of(left, depth + 1), self.of(right, depth + 1)
                if isinstance(one, list) and isinstance(other, list):
                    return (one + other)[:MAX_ITEMS]
                return one or other
        return None

    def _items(self, parts: Iterable[ast.expr], depth: int) -> Iterator[object]:
        for part in parts:
            value = self.of(part.value if isinstance(part, ast.Starred) else part, depth + 1)
            yield from items(value) if isinstance(part, ast.Starred) else [value]


def assigned(module: ast.Module) -> dict[str, ast.expr]:
    """The expressions that a module assigns to plain names, the last one each."""
    found = ((target, node.value) for node in module.body if isinstance(node, ast.Assign) for target in node.targets)
    return {target.id: value for target, value in found if isinstance(target, ast.Name)}
