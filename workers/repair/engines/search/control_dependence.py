"""Which conditions decide whether a line runs."""

import ast
from collections.abc import Iterator

from workers.repair.engines.search.outline import Outline, last_line
from workers.repair.engines.search.scope import own_nodes


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
    around = [
        block
        for block in blocks
        if isinstance(block, list) and any(each.lineno <= line <= last_line(each) for each in block)
    ]
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
