"""A source's functions and statements by their lines, and which conditions decide whether a line runs."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from memory.parsing import parsed

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `node`, in source order, without the bodies of functions and classes defined inside."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, FunctionNode | ast.ClassDef | ast.Lambda):
            yield from own_nodes(child)


def called(node: ast.AST) -> str:
    """The last part of what a call calls."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name
        case _:
            return ""


class Outline:
    """One source's syntax tree, read when first asked for; what does not parse has nothing in it."""

    def __init__(self, source: str) -> None:
        self.source = source

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node, parents before their children."""
        tree = parsed(self.source)
        return list(ast.walk(tree)) if tree else []

    @property
    def body(self) -> list[ast.stmt]:
        """The statements at the top level."""
        return self.nodes[0].body if self.nodes and isinstance(self.nodes[0], ast.Module) else []

    @cached_property
    def functions(self) -> list[FunctionNode]:
        """Every function, however deep."""
        return [node for node in self.nodes if isinstance(node, FunctionNode)]

    def functions_at(self, line: int) -> list[FunctionNode]:
        """The functions whose bodies are around a line, innermost first."""
        return self._functions_by_line.get(line, [])

    @cached_property
    def _functions_by_line(self) -> dict[int, list[FunctionNode]]:
        lines: dict[int, list[FunctionNode]] = {}
        for function in sorted(self.functions, key=lambda f: -f.lineno):
            for line in range(function.body[0].lineno, last_line(function) + 1):
                lines.setdefault(line, []).append(function)
        return lines

    @cached_property
    def statements(self) -> dict[int, range]:
        """The lines of the innermost statement around each line; of a compound one, its header's."""
        lines: dict[int, range] = {}
        for node in self.nodes:
            if isinstance(node, (ast.stmt, ast.ExceptHandler)):
                body = getattr(node, "body", None)
                header = max(node.lineno, min(body[0].lineno - 1, last_line(node))) if body else last_line(node)
                # Parents come before their children here, so the innermost statement has the last word.
                lines.update(dict.fromkeys(range(node.lineno, header + 1), range(node.lineno, header + 1)))
        return lines


def body_lines(function: FunctionNode) -> range:
    return range(max(function.lineno + 1, function.body[0].lineno), last_line(function) + 1)


def first_line(node: ast.stmt) -> int:
    """That of its first decorator, if it has any."""
    decorators: Sequence[ast.expr] = getattr(node, "decorator_list", ())
    return min([node.lineno, *(each.lineno for each in decorators)])


def last_line(node: ast.stmt | ast.ExceptHandler) -> int:
    return node.end_lineno or node.lineno


def falls_off(function: FunctionNode, asked: Collection[str]) -> bool:
    """Whether a function gives a value in one place, or is `asked` for one by its name, and gives none at its end."""
    nodes = list(own_nodes(function))
    gives = function.name in asked or any(isinstance(node, ast.Return) and node.value for node in nodes)
    return gives and not any(isinstance(n, ast.Yield | ast.YieldFrom) for n in nodes) and not _leaves(function.body)


def asked_for_values(functions: Iterable[FunctionNode]) -> set[str]:
    """The names of the functions that are called in others for what they give, and not as statements of their own."""
    nodes = [node for function in functions for node in own_nodes(function)]
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return {called(node) for node in nodes if id(node) not in alone} - {""}


def _leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether no statement behind a block runs, or that is unknown."""
    match block[-1]:
        case ast.If(body=body, orelse=orelse):
            return bool(orelse) and _leaves(body) and _leaves(orelse)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            return _leaves(body)
        case ast.Try() | ast.TryStar() | ast.Match() | ast.While(test=ast.Constant()):
            return True
    return isinstance(block[-1], ast.Return | ast.Raise)


Outlines = Mapping[str, Outline]
"""Sources by path."""


# ── Control dependence ──


def deciding_lines(source: str, line: int) -> frozenset[int]:
    """The lines of the conditions of its function that decide whether a line runs, where there are any.

    These are the innermost one around it, and the last one before it that leaves.
    """
    functions = Outline(source).functions_at(line)[:1]
    nodes = [node for function in functions for node in (function, *own_nodes(function))]
    around = [node for node in nodes if isinstance(node, ast.If | ast.While) and is_within(node, line)]
    leaving = [exit_ for node in nodes for exit_ in _exits_before(node, line)]
    deciding = (*around[-1:], *leaving[-1:])
    return frozenset(number for node in deciding for number in range(node.lineno, node.body[0].lineno))


def _exits_before(node: ast.AST, line: int) -> list[ast.If]:
    """The conditions that leave a block of a statement before a line in that block is reached."""
    blocks = [getattr(node, name, ()) for name in ("body", "orelse", "finalbody")]
    several = (block for block in blocks if isinstance(block, list))
    around = [block for block in several if any(each.lineno <= line <= last_line(each) for each in block)]
    before = [each for block in around for each in block if isinstance(each, ast.If) and last_line(each) < line]
    return [each for each in before if isinstance(each.body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)]


def elifs_after(condition: ast.If | ast.While) -> Iterator[ast.If]:
    """The `elif`s after it, whose conditions do not run where it holds."""
    while isinstance(condition, ast.If) and len(condition.orelse) == 1 and isinstance(condition.orelse[0], ast.If):
        condition = condition.orelse[0]
        yield condition


def is_within(condition: ast.If | ast.While, line: int) -> bool:
    """Whether a line is one of those that run only as the condition has it."""
    return condition.body[0].lineno <= line <= last_line(condition)
