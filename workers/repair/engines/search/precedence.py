"""How tightly a Python expression binds, judged by its text."""

from __future__ import annotations

import ast
from functools import lru_cache


@lru_cache(maxsize=8192)
def precedence(code: str) -> int:
    """How tightly an expression's text binds: 0 for a lambda, 15 for a name, a call or a literal."""
    try:
        node = ast.parse(f"({code}\n)", mode="eval").body
    except (SyntaxError, ValueError):
        return 0
    if node.col_offset > 1 or (node.col_offset == 1 and isinstance(node, (ast.Tuple, ast.GeneratorExp))):
        return 15  # in parentheses of its own
    match node:
        case ast.BinOp(op=op):
            return _BINARY.get(type(op), 12)
        case ast.UnaryOp(op=ast.Not()):
            return 5
        case ast.UnaryOp() | ast.Await():
            return 13
        case ast.Constant(value=int() | float()) if not code[-1:].isalnum():
            return 14
    return _LEVELS.get(type(node), 15)


_LEVELS: dict[type[ast.expr], int] = {
    ast.Yield: 0,
    ast.YieldFrom: 0,
    ast.Lambda: 0,
    ast.NamedExpr: 0,
    ast.Tuple: 1,
    ast.GeneratorExp: 1,
    ast.Starred: 1,
    ast.IfExp: 2,
    ast.BoolOp: 3,
    ast.Compare: 6,
}
_BINARY: dict[type[ast.operator], int] = {
    ast.BitOr: 7,
    ast.BitXor: 8,
    ast.BitAnd: 9,
    ast.LShift: 10,
    ast.RShift: 10,
    ast.Add: 11,
    ast.Sub: 11,
    ast.Pow: 14,
}


def wrapped(code: str, needed: int) -> str:
    """`code`, in parentheses if it binds less tightly than `needed` (see `precedence`)."""
    return code if precedence(code) >= needed else f"({code})"
