"""What a test function expects in literals that it only compares: names that it reads once, and values of parameters. Pure."""

import ast
from collections import Counter
from collections.abc import Iterator

from workers.repair.outline import FunctionNode, called

EQUALITIES = frozenset(f"assert{kind}Equal" for kind in ("", "Dict", "List", "MultiLine", "Sequence", "Set", "Tuple"))
"""Methods of unittest.TestCase that compare their first two arguments by ==."""


def compared_once(function: FunctionNode) -> set[str]:
    """The names that a function reads once, as one side of an equality that it asserts: another value makes it fail."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    read = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    asserted = [equality for node in nodes if isinstance(node, ast.Assert) for equality in _equalities(node.test)]
    sides = [side for equality in asserted for side in (equality.left, *equality.comparators)]
    calls = [node for node in nodes if isinstance(node, ast.Call) and called(node) in EQUALITIES]
    sides += [side for call in calls for side in call.args]
    return {side.id for side in sides if isinstance(side, ast.Name) and read[side.id] == 1}


def _equalities(test: ast.expr) -> Iterator[ast.Compare]:
    """The comparisons by == which all have to hold where `test` holds."""
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            for part in parts:
                yield from _equalities(part)
        case ast.Compare(ops=[ast.Eq()]):
            yield test


def parameters(function: FunctionNode) -> Iterator[tuple[str, list[tuple[list[ast.expr], int]]]]:
    """The parameters of pytest.mark.parametrize with the places of their values, where these are written out."""
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(args=[ast.Constant(value=str() as text), ast.List() | ast.Tuple() as rows, *_]):
                names = [name.strip() for name in text.split(",")]
            case ast.Call(args=[ast.List() | ast.Tuple() as listed, ast.List() | ast.Tuple() as rows, *_]):
                names = [str(each.value) for each in listed.elts if isinstance(each, ast.Constant)]
            case _:
                continue
        if called(decorator) == "parametrize":
            for at, name in enumerate(names):
                places = [_place(rows.elts, row, at, len(names)) for row in range(len(rows.elts))]
                yield name, [place for place in places if place is not None] if None not in places else []


def _place(rows: list[ast.expr], row: int, column: int, columns: int) -> tuple[list[ast.expr], int] | None:
    """The place of a parameter's value."""
    match rows[row]:
        case ast.Call(args=values) if len(values) == columns:
            return values, column
        case ast.List(elts=values) | ast.Tuple(elts=values) if columns > 1 and len(values) == columns:
            return values, column
    return (rows, row) if columns == 1 else None
