"""Python source as it stands in an untrusted file: parsed without running it, or not at all. Pure."""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

_ONE_AT_A_TIME = threading.Lock()
"""Which warnings are shown is a setting of the whole process, and detectors read side by side."""

STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
"""What statements stand in; functions and classes are never inside of anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A function or class by its dotted qualified name, decorators included in its lines."""

    name: str
    line: int
    end_line: int


def parsed(text: str) -> ast.Module | None:
    """The syntax tree, or None when this interpreter cannot read it."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the repository's odd escapes are no warnings of ours
        try:
            return ast.parse(text.removeprefix("\ufeff"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def scopes(text: str) -> tuple[Scope, ...]:
    """Every function and class, outer before inner; none when the source cannot be parsed."""
    tree = parsed(text)
    return tuple(_scopes(tree)) if tree else ()


def _scopes(tree: ast.Module) -> Iterator[Scope]:
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, prefix = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{node.name}" if prefix else node.name
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield Scope(name=name, line=first, end_line=node.end_lineno or node.lineno)
            prefix = name
        waiting += [(child, prefix) for child in ast.iter_child_nodes(node) if isinstance(child, STATEMENTS)]


def scope_of(line: int, known: tuple[Scope, ...]) -> str:
    """The qualified name of the innermost scope around a line, empty at module level."""
    around = [scope for scope in known if scope.line <= line <= scope.end_line]
    return max(around, key=lambda scope: (scope.line, -scope.end_line)).name if around else ""
