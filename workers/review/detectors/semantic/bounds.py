"""What a comparison with a constant leaves possible, and whether two of them leave anything. Pure."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from workers.review.detectors.semantic.edited import is_plain

_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
Value = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """`subject operator value`, where the subject reads the same each time."""

    subject: str
    operator: type[ast.cmpop]
    value: Value

    def opposite(self) -> Bound:
        """What holds where this does not (NaN aside)."""
        return Bound(subject=self.subject, operator=_OPPOSITE[self.operator], value=self.value)


def bound_of(node: ast.expr) -> Bound | None:
    """A comparison of a plain expression with a number or string, on either side; None for anything else."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    left, right, operator = node.left, node.comparators[0], type(node.ops[0])
    if isinstance(left, ast.Constant):
        left, right, operator = right, left, _MIRRORED.get(operator, ast.In)
    value = _value(right)
    if value is None or operator not in _MIRRORED or not is_plain(left) or isinstance(left, ast.Constant):
        return None
    return Bound(subject=ast.unparse(left), operator=operator, value=value)


def _value(node: ast.expr) -> Value | None:
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool) or node.value is None:
        return None
    if isinstance(node.value, int | float):
        return sign * node.value
    return node.value if isinstance(node.value, str) and sign == 1 else None


def contradict(one: Bound, other: Bound) -> bool:
    """Whether no value meets both."""
    if one.subject != other.subject or isinstance(one.value, str) != isinstance(other.value, str):
        return False
    return not any(_meets(point, one) and _meets(point, other) for point in _points(one.value, other.value))


def implies(one: Bound, other: Bound) -> bool:
    """Whether every value that meets `one` meets `other`."""
    return contradict(one, other.opposite())


def _points(one: Value, other: Value) -> list[Value]:
    """One value in each stretch that two constants of a kind cut all values into."""
    if isinstance(one, str) or isinstance(other, str):
        return ["", str(one), f"{one}\0", str(other), f"{other}\0"]
    low, high = sorted((one, other))
    return [low - 1, low, (low + high) / 2, high, high + 1]


def _meets(point: Value, bound: Bound) -> bool:
    value = bound.value
    if isinstance(point, str) or isinstance(value, str):
        return _compare(bound.operator, (str(point) > str(value)) - (str(point) < str(value)))
    return _compare(bound.operator, (point > value) - (point < value))


def _compare(operator: type[ast.cmpop], sign: int) -> bool:
    """Whether a comparison holds between values whose order is `sign`: -1, 0 or 1."""
    held: dict[type[ast.cmpop], tuple[int, ...]] = {
        ast.Lt: (-1,),
        ast.LtE: (-1, 0),
        ast.Eq: (0,),
        ast.NotEq: (-1, 1),
        ast.GtE: (0, 1),
        ast.Gt: (1,),
    }
    return sign in held[operator]
