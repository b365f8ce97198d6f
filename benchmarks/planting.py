"""Bugs planted by generic mutation: what people mistype, made without a look at how the repair engine edits.

Four kinds: another operator, another variable of the same function, a statement left out, a number off by one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OPERATORS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Add: ("-",),
    ast.Sub: ("+",),
    ast.Mult: ("+", "//"),
    ast.Div: ("*", "//"),
    ast.FloorDiv: ("*", "%"),
    ast.Mod: ("//",),
    ast.Lt: ("<=", ">"),
    ast.LtE: ("<", ">="),
    ast.Gt: (">=", "<"),
    ast.GtE: (">", "<="),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
    ast.And: ("or",),
    ast.Or: ("and",),
}
DROPPED = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Raise, ast.If)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One bug: `source` is the whole module with it, `path` is relative to the project's root."""

    path: str
    kind: str
    line: int
    source: str


def plantable(tree: Path, sources: str = "src") -> list[Planted]:
    """Every bug that can be planted in the modules under `sources`, in a fixed order."""
    found = []
    for module in sorted((tree / sources).rglob("*.py")):
        path = module.relative_to(tree).as_posix()
        found += list(_in_module(path, module.read_text(encoding="utf-8")))
    return found


def _in_module(path: str, source: str) -> Iterator[Planted]:
    text = _Text(source)
    parsed = ast.parse(source)
    for function in (node for node in ast.walk(parsed) if isinstance(node, Function)):
        names = sorted({n.id for n in ast.walk(function) if isinstance(n, ast.Name)} & _bound_in(function))
        for kind, node, edited in _edits(function, names, text):
            if _compiles(edited):
                yield Planted(path=path, kind=kind, line=node, source=edited)


def _edits(function: Function, names: list[str], text: _Text) -> Iterator[tuple[str, int, str]]:
    """Kind, line and the edited module."""
    for node in ast.walk(function):
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                yield from _operator(text, left, op, right)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                yield from _operator(text, left, op, right)
            case ast.BoolOp(op=op, values=[left, right]):
                yield from _operator(text, left, op, right)
            case ast.Name(ctx=ast.Load()) if node.id in names:
                others = (name for name in names if name != node.id)
                yield from (("variable", node.lineno, text.with_node(node, other)) for other in others)
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                yield from (("number", node.lineno, text.with_node(node, str(value + step))) for step in (1, -1))
            case ast.stmt() if isinstance(node, DROPPED) and not _is_docstring(node):
                yield "statement", node.lineno, text.with_node(node, "pass")
            case _:
                pass


def _operator(text: _Text, left: ast.expr, op: ast.AST, right: ast.expr) -> Iterator[tuple[str, int, str]]:
    for other in OPERATORS.get(type(op), ()):
        edited = text.with_operator(left, right, other)
        if edited is not None:
            yield "operator", left.end_lineno or left.lineno, edited


def _bound_in(function: Function) -> set[str]:
    """Parameters and what is assigned: what a slip of the pen would have at hand."""
    arguments = function.args
    given = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return (given | stored) - {"self", "cls", "_"}


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _compiles(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


class _Text:
    """A module's text, edited by the places that `ast` gives, which count bytes."""

    def __init__(self, source: str) -> None:
        self._data = source.encode()
        starts = [0]
        for line in self._data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts

    def with_node(self, node: ast.expr | ast.stmt, text: str) -> str:
        """The module with `text` in the node's place."""
        return self._with(self._start(node), self._end(node), text)

    def with_operator(self, left: ast.expr, right: ast.expr, operator: str) -> str | None:
        """The module with another operator between two operands; None where more than an operator stands there."""
        start, end = self._end(left), self._start(right)
        between = self._data[start:end].decode()
        if not between.strip() or set(between) & set("()\n\\#"):
            return None
        return self._with(start, end, f" {operator} ")

    def _with(self, start: int, end: int, text: str) -> str:
        return (self._data[:start] + text.encode() + self._data[end:]).decode()

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset
