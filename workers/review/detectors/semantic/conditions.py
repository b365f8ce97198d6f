"""SEM003 constant-condition: a change made a condition that always, or never, holds. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import combinations

from workers.review.detectors.detector import RawFinding
from workers.review.detectors.semantic.bounds import bound_of, contradict, implies
from workers.review.detectors.semantic.edited import Edited, functions, is_plain, same, within

RULE = "SEM003"
_MOST_PARTS = 40
"""Longer chains are tables; comparing each part with each other would take long and find nothing."""
_SUBCLASSES = {
    "int": {"bool"},
    "Exception": {"ValueError", "KeyError", "TypeError", "OSError"},
    "object": {"str", "int"},
}


def constant_conditions(edited: Edited) -> Iterator[RawFinding]:
    """Conditions on changed lines that contradict themselves, what was asked before them, or what they were before."""
    for node in ast.walk(edited.after):
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            yield from _tested(edited, node.test)
        if isinstance(node, ast.BoolOp) and edited.is_added(node):
            yield from _contradictions(edited, node)
        if isinstance(node, ast.Compare) and edited.is_added(node) and (message := _length(node)):
            yield edited.finding(RULE, node, f"constant-condition: {message}")
    for chain in _chains(edited.after):
        yield from _unreached(edited, chain)
    yield from _negations(edited)


def _tested(edited: Edited, test: ast.expr) -> Iterator[RawFinding]:
    """A part that is a constant decides the whole: `x == 1 or 2`."""
    if not isinstance(test, ast.BoolOp) or not edited.is_added(test):
        return
    for part in test.values:
        if isinstance(part, ast.Constant) and bool(part.value) == isinstance(test.op, ast.Or):
            word = "true" if isinstance(test.op, ast.Or) else "false"
            yield edited.finding(
                RULE, test, f"constant-condition: `{ast.unparse(part)}` alone makes this condition always {word}."
            )


def _contradictions(edited: Edited, node: ast.BoolOp) -> Iterator[RawFinding]:
    bounds = [(part, bound) for part in node.values if (bound := bound_of(part)) is not None]
    for (one, left), (other, right) in combinations(bounds[:_MOST_PARTS], 2):
        if isinstance(node.op, ast.And) and contradict(left, right):
            word = "never both hold"
        elif isinstance(node.op, ast.Or) and contradict(left.opposite(), right.opposite()):
            word = "between them always hold"
        else:
            continue
        yield edited.finding(RULE, node, f"constant-condition: `{ast.unparse(one)}` and `{ast.unparse(other)}` {word}.")


def _length(node: ast.Compare) -> str:
    """A comparison of a length with zero that says nothing."""
    left = node.left
    if len(node.ops) != 1 or not (
        isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "len"
    ):
        return ""
    right = node.comparators[0]
    if not (isinstance(right, ast.Constant) and right.value == 0 and not isinstance(right.value, bool)):
        return ""
    said = {ast.GtE: "is always true", ast.Lt: "is never true"}.get(type(node.ops[0]), "")
    return f"`{ast.unparse(node)}` {said}: no length is below zero." if said else ""


def _chains(tree: ast.Module) -> Iterator[list[ast.expr]]:
    """The tests of every `if` with its `elif`s, in order."""
    inner = {id(node.orelse[0]) for node in ast.walk(tree) if isinstance(node, ast.If) and _is_elif(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and id(node) not in inner:
            tests, at = [node.test], node
            while _is_elif(at) and isinstance(at.orelse[0], ast.If):
                at = at.orelse[0]
                tests.append(at.test)
            if len(tests) > 1:
                yield tests


def _is_elif(node: ast.If) -> bool:
    return len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)


def _unreached(edited: Edited, tests: Sequence[ast.expr]) -> Iterator[RawFinding]:
    """Branches whose condition was asked for, as such or more widely, in a branch above."""
    for at, test in enumerate(tests[:_MOST_PARTS]):
        earlier = next((above for above in tests[:at] if _covers(above, test)), None)
        if earlier is not None and (edited.is_added(test) or edited.is_added(earlier)):
            node = test if edited.is_added(test) else earlier
            yield edited.finding(
                RULE,
                node,
                f"constant-condition: `{ast.unparse(test)}` (line {test.lineno}) is never true after "
                f"`{ast.unparse(earlier)}` (line {earlier.lineno}).",
            )


def _covers(earlier: ast.expr, later: ast.expr) -> bool:
    """Whether `earlier` holds wherever `later` does."""
    one, other = bound_of(later), bound_of(earlier)
    if one is not None and other is not None:
        return implies(one, other)
    asked, again = _instance(earlier), _instance(later)
    if asked and again and asked[0] == again[0]:
        wide = asked[1].union(*(_SUBCLASSES.get(name, set()) for name in asked[1]))
        return again[1] <= wide
    return is_plain_test(earlier) and same(earlier, later)


def is_plain_test(node: ast.expr) -> bool:
    """Whether asking twice gives the same answer, as far as syntax tells."""
    if isinstance(node, ast.Compare):
        return all(is_plain(part) for part in (node.left, *node.comparators))
    if isinstance(node, ast.BoolOp):
        return all(is_plain_test(part) for part in node.values)
    return is_plain(node)


def _instance(node: ast.expr) -> tuple[str, set[str]] | None:
    """What `isinstance(x, (A, B))` asks: x, and the classes by name."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"):
        return None
    if len(node.args) != 2 or not is_plain(node.args[0]):
        return None
    classes = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
    return ast.unparse(node.args[0]), {ast.unparse(each) for each in classes}


def _negations(edited: Edited) -> Iterator[RawFinding]:
    """`not (a and b)` that became `not a and not b`, or the other way round."""
    before = dict(functions(edited.before)) if edited.before else {}
    for name, function in functions(edited.after):
        if name not in before or not edited.is_added(function):
            continue
        old = _conditions(before[name])
        now = [ast.dump(node) for node in _conditions(function)]
        for node in _conditions(function):
            slip = _slip_of(node)
            was = next((each for each in old if slip is not None and same(each, slip)), None)
            if was is not None and edited.is_added(node) and ast.dump(was) not in now:
                yield edited.finding(
                    RULE,
                    node,
                    f"constant-condition: this was `{ast.unparse(was)}`, and `{ast.unparse(node)}` does not mean the same.",
                )


def _conditions(function: ast.AST) -> list[ast.expr]:
    return [node for node in within(function) if isinstance(node, ast.BoolOp | ast.UnaryOp)]


def _slip_of(node: ast.expr) -> ast.expr | None:
    """What a condition was if whoever wrote it forgot that a negation turns `and` into `or`."""
    if isinstance(node, ast.BoolOp) and all(_is_negated(part) for part in node.values):
        inner = [part.operand for part in node.values if isinstance(part, ast.UnaryOp)]
        return ast.UnaryOp(op=ast.Not(), operand=ast.BoolOp(op=node.op, values=inner))
    if _is_negated(node) and isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.BoolOp):
        return ast.BoolOp(
            op=node.operand.op, values=[ast.UnaryOp(op=ast.Not(), operand=part) for part in node.operand.values]
        )
    return None


def _is_negated(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
