"""Reads the files of a foreign checkout: no link is followed, nothing outside is read, and sizes are bounded."""

from __future__ import annotations

import ast
import codecs
import configparser
import posixpath
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from memory.parsing import PARSE_ERRORS, read_module
from memory.plain_yaml import BadYaml, only_bad_yaml

LARGEST, LARGEST_LOCK, MOST_NAMES = 512 << 10, 8 << 20, 2000
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Table = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class TreeFiles:
    """The files of a checkout, by POSIX path. What is absent, too large or not well formed reads as empty."""

    root: Path
    memo: dict[str, object] = field(default_factory=dict, compare=False)
    """What was read before, by its reader's key: a plan reads the same metadata many times."""

    def place(self, path: str) -> Path | None:
        """The file or directory at a path; None where there is none, outside of the tree, and where a link is on the way."""
        clean = posixpath.normpath(path)
        if clean.startswith(("/", "..")) or "\0" in clean or len(clean) > 1000:
            return None
        place = self.root
        for step in clean.split("/"):
            place = place / step
            if place.is_symlink() or not place.exists():
                return None
        return place

    def names(self, directory: str) -> list[str]:
        """The names in a directory, sorted; the first of very many."""
        place = self.place(directory)
        return sorted(each.name for each in place.iterdir())[:MOST_NAMES] if place and place.is_dir() else []

    def text(self, path: str, largest: int = LARGEST) -> str:
        place = self.place(path)
        if place is None or not place.is_file() or place.stat().st_size > largest:
            return ""
        data = place.read_bytes()
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # what Windows' shell writes lists in
        text = data.decode("utf-16" if wide else "utf-8-sig", errors="replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def toml(self, path: str, largest: int = LARGEST) -> Table:
        try:
            return tomllib.loads(self.text(path, largest))
        except (ValueError, RecursionError):
            return {}

    def yaml(self, path: str) -> Table:
        try:
            with only_bad_yaml():
                return table(yaml.load(self.text(path), Loader=_LOADER))  # noqa: S506 - a safe loader, in C where there is one
        except BadYaml:
            return {}

    def ini(self, path: str) -> Mapping[str, Mapping[str, str]]:
        return ini(self.text(path))

    def module(self, path: str) -> ast.Module:
        try:
            return read_module(self.text(path))
        except PARSE_ERRORS:
            return ast.Module(body=[], type_ignores=[])


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


def ini(text: str) -> Mapping[str, Mapping[str, str]]:
    """The sections of a text as configparser reads them; none of a text that it refuses."""
    parser = configparser.RawConfigParser(strict=False, default_section="\0", allow_no_value=True)
    try:
        parser.read_string(text)
    except (configparser.Error, AttributeError):  # a continued value that has no first line
        return {}
    return {name: {key: value or "" for key, value in parser[name].items()} for name in parser.sections()}


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
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in names:
            return literal(names[name], {key: value for key, value in names.items() if key != name})
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            found = [(part, literal(part.value if isinstance(part, ast.Starred) else part, names)) for part in parts]
            return [
                each for part, value in found for each in (items(value) if isinstance(part, ast.Starred) else [value])
            ]
        case ast.Dict(keys=keys, values=values):
            pairs = ((literal(key, names), value) for key, value in zip(keys, values, strict=True) if key)
            return {key: literal(value, names) for key, value in pairs if not isinstance(key, list | dict)}
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, other = literal(left, names), literal(right, names)
            return one + other if isinstance(one, list) and isinstance(other, list) else one or other
    return None


def assigned(module: ast.Module) -> dict[str, ast.expr]:
    """The expressions that a module assigns to plain names, the last one each."""
    found = ((target, node.value) for node in module.body if isinstance(node, ast.Assign) for target in node.targets)
    return {target.id: value for target, value in found if isinstance(target, ast.Name)}
