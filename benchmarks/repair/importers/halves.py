"""A suite of which part is hidden: test functions are taken out of the files' text, so that nothing of them can be seen."""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """A test function as it is written: one definition, however many tests pytest makes of it."""

    path: str
    name: str
    """With the names of the classes that it stands in, joined by dots."""


def units_of(files: Mapping[str, str]) -> list[Unit]:
    """The test functions in the texts of files, by path and place, without those that other code there calls."""
    trees = {path: ast.parse(text) for path, text in sorted(files.items())}
    used = {name for tree in trees.values() for node in ast.walk(tree) for name in _used(node)}
    return [
        Unit(path, name)
        for path, tree in trees.items()
        for name, _ in _defined(tree.body)
        if name.rpartition(".")[2] not in used
    ]


def unit_of(test: str, units: Iterable[Unit]) -> Unit | None:
    """The definition behind a test's id; one that a test class inherits is known by its name if no other has it."""
    path, _, rest = test.partition("::")
    name = rest.partition("[")[0].replace("::", ".")
    known = list(units)
    if (exact := Unit(path, name)) in known:
        return exact
    alike = [unit for unit in known if unit.name.rpartition(".")[2] == name.rpartition(".")[2]]
    return alike[0] if len(alike) == 1 else None


def half(units: Iterable[Unit], seed: str) -> frozenset[Unit]:
    """A random half, to be hidden."""
    ordered = sorted(units)
    return frozenset(random.Random(seed).sample(ordered, len(ordered) // 2))


def without(files: Mapping[str, str], hidden: Collection[Unit]) -> dict[str, str]:
    """The texts of those files that had something to hide, without it."""
    names: dict[str, set[str]] = defaultdict(set)
    for unit in hidden:
        names[unit.path].add(unit.name)
    return {path: _cut(files[path], wanted) for path, wanted in sorted(names.items())}


def _cut(text: str, names: Collection[str]) -> str:
    """A module without the functions of these names; a class left empty gets a `pass`."""
    lines = text.splitlines(keepends=True)
    tree = ast.parse(text)
    cut = [node for name, node in _defined(tree.body) if name in names]
    emptied = [node.body[0] for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and set(node.body) <= set(cut)]
    for node in cut:
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1
        last = node.end_lineno or node.lineno
        lines[first:last] = [""] * (last - first)
        if node in emptied:
            lines[first] = f"{' ' * node.col_offset}pass\n"
    return "".join(lines)


def _used(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            yield name
        case _:
            pass


def _defined(body: Iterable[ast.stmt], within: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield within + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _defined(node.body, f"{within}{node.name}.")
