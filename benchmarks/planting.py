"""Bugs planted by generic mutation: what people mistype, made without a look at how the repair engine edits.

Four kinds: another operator, another variable of the same function, a statement left out, a number off by one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """The bytes from `start` to `end` of a module become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """What one slip does to a module: edits that do not overlap. `line` is where it is seen first."""

    kind: str
    line: int
    edits: tuple[Edit, ...]


def plantable(tree: Path, sources: str = "src") -> list[Planted]:
    """Every bug that can be planted in the modules under `sources`, in a fixed order."""
    found = []
    for module in sorted((tree / sources).rglob("*.py")):
        path = module.relative_to(tree).as_posix()
        found += list(_in_module(path, module.read_text(encoding="utf-8")))
    return found


def _in_module(path: str, source: str) -> Iterator[Planted]:
    text = Text(source)
    for function in functions(ast.parse(source)):
        for slip in elementary(function, bound_in(function), text):
            edited = text.with_edits(slip.edits)
            if compiles(edited):
                yield Planted(path=path, kind=slip.kind, line=slip.line, source=edited)


def functions(tree: ast.AST) -> Iterator[Function]:
    """Every function, nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def elementary(root: ast.AST, names: Sequence[str], text: Text) -> Iterator[Slip]:
    """The slips of one token, and the statements left out, within `root`; `names` are the variables at hand."""
    for node in ast.walk(root):
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                yield from _operator(text, left, op, right)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                yield from _operator(text, left, op, right)
            case ast.BoolOp(op=op, values=[left, right]):
                yield from _operator(text, left, op, right)
            case ast.Name(ctx=ast.Load()) if node.id in names:
                yield from (_slip("variable", node, text, name) for name in names if name != node.id)
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                yield from (_slip("number", node, text, str(value + step)) for step in (1, -1))
            case ast.stmt() if isinstance(node, DROPPED) and not is_docstring(node):
                yield _slip("statement", node, text, "pass")
            case _:
                pass


def _slip(kind: str, node: ast.expr | ast.stmt, text: Text, new: str) -> Slip:
    return Slip(kind=kind, line=node.lineno, edits=(text.replacing(node, new),))


def _operator(text: Text, left: ast.expr, op: ast.AST, right: ast.expr) -> Iterator[Slip]:
    for other in OPERATORS.get(type(op), ()):
        edit = text.replacing_operator(left, right, other)
        if edit is not None:
            yield Slip(kind="operator", line=left.end_lineno or left.lineno, edits=(edit,))


def bound_in(function: Function) -> list[str]:
    """Parameters and what is assigned, as far as they are read: what a slip of the pen would have at hand."""
    arguments = function.args
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    given = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return sorted({node.id for node in names} & ((given | stored) - {"self", "cls", "_"}))


def is_docstring(node: ast.stmt) -> bool:
    """Whether a statement is a constant alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def compiles(source: str) -> bool:
    """Whether a module's text is valid."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


class Text:
    """A module's text, edited by the places that `ast` gives, which count bytes."""

    def __init__(self, source: str) -> None:
        self._data = source.encode()
        starts = [0]
        for line in self._data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts

    def with_edits(self, edits: Sequence[Edit]) -> str:
        """The module after edits that do not overlap."""
        data = self._data
        for edit in sorted(edits, key=lambda edit: -edit.start):
            data = data[: edit.start] + edit.text.encode() + data[edit.end :]
        return data.decode()

    def replacing(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        """`text` in the node's place."""
        return Edit(start=self.start(node), end=self.end(node), text=text)

    def replacing_operator(self, left: ast.expr, right: ast.expr, operator: str) -> Edit | None:
        """Another operator between two operands; None where more than an operator stands there."""
        start, end = self.end(left), self.start(right)
        between = self._data[start:end].decode()
        if not between.strip() or set(between) & set("()\n\\#"):
            return None
        return Edit(start=start, end=end, text=f" {operator} ")

    def between(self, start: int, end: int) -> str:
        """The text from one byte to another."""
        return self._data[start:end].decode()

    def of(self, node: ast.expr | ast.stmt) -> str:
        """The node's own text."""
        return self.between(self.start(node), self.end(node))

    def start(self, node: ast.expr | ast.stmt) -> int:
        """The node's first byte."""
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        """The byte after the node's last."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset
