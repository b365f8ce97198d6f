"""How a module uses its names: what it calls with what, what it asks, what it reads of them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from workers.repair.engines.search.scope import called

_LONGEST = 60
"""Conditions of more characters are not taken elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUsage:
    """A call as it is written: the last part of what is called, and the arguments; keywords are written as `name=`.

    `names` must be in scope to call so elsewhere.
    """

    code: str
    name: str
    arguments: tuple[str, ...]
    names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What is asked somewhere, and the names that must be in scope to ask it elsewhere."""

    code: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleUsage:
    """One module. `conditions` are the most frequent first; `parts` tells what is read of a name: `a.b`, `a.c`."""

    calls: tuple[CallUsage, ...]
    conditions: tuple[Condition, ...]
    parts: Mapping[str, tuple[str, ...]]


def read_usage(tree: ast.Module) -> ModuleUsage:
    """What a module does, at all levels."""
    nodes = list(ast.walk(tree))
    return ModuleUsage(calls=tuple(_calls(nodes)), conditions=tuple(_conditions(nodes)), parts=_parts(nodes))


def _calls(nodes: Iterable[ast.AST]) -> Iterator[CallUsage]:
    for node in nodes:
        if isinstance(node, ast.Call) and (name := called(node)):
            named = (f"{word.arg or '**'}={ast.unparse(word.value)}" for word in node.keywords)
            arguments = (*map(ast.unparse, node.args), *named)
            yield CallUsage(code=ast.unparse(node), name=name, arguments=arguments, names=_names(node))


def _conditions(nodes: Iterable[ast.AST]) -> Iterator[Condition]:
    """Each test, and each part of one beside `and` or `or`; the most frequent first."""
    asked: Counter[str] = Counter()
    names: dict[str, frozenset[str]] = {}
    for node in nodes:
        tests = [node.test] if isinstance(node, (ast.If, ast.While, ast.IfExp)) else ()
        for test in node.values if isinstance(node, ast.BoolOp) else tests:
            code = ast.unparse(test)
            if code not in asked:
                names[code] = _names(test)
            asked[code] += 1
    return (Condition(code=code, names=names[code]) for code, _ in asked.most_common() if len(code) <= _LONGEST)


def _names(node: ast.AST) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def _parts(nodes: Iterable[ast.AST]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.setdefault(node.value.id, {})[node.attr] = None
    return {name: tuple(attributes) for name, attributes in found.items()}
