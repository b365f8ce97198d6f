"""What an edit's form says against it: does it weaken a check, guard something away, or silence a test? Pure.

Which kinds of edits overfit is known from studies of plausible patches: Qi et al., An Analysis of Patch Plausibility and
Correctness (ISSTA 2015), for deleted functionality; Tan et al., Anti-patterns in Search-Based Program Repair (FSE 2016).
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import takewhile

from memory.parsing import PARSE_ERRORS, read_module
from workers.repair.outline import FunctionNode


class EditKind(Enum):
    """Kinds of edits by what they do to the conditions under which something happens, with a factor for their score.

    `factor` is relative to a plain edit. Condition weakening and guards were measured to overfit far more often than other
    edits that pass the same tests.
    """

    PLAIN = ("plain", 1.0)
    WIDENED = ("widened", 0.3)
    NARROWED = ("narrowed", 0.5)
    DROPPED = ("dropped", 0.4)
    GUARD = ("guard", 0.5)
    UNREAD = ("unread variable", 0.4)
    CONSTANT_CONDITION = ("constant condition", 0.2)
    CONSTANT_RESULT = ("constant result", 0.15)
    DELETED = ("deleted", 0.3)
    TEXTLESS = ("error without its text", 0.4)
    SWALLOWED = ("swallowed", 0.1)
    SPECIAL_CASE = ("special case", 0.05)
    SHIFTED = ("shifted by a number", 0.3)
    AS_TEXT = ("compared as text", 0.3)

    def __init__(self, _name: str, factor: float) -> None:
        self.factor = factor

    @property
    def prone(self) -> bool:
        """Whether edits of this kind often fit the tests and nothing else."""
        return self is not EditKind.PLAIN

    @property
    def silences(self) -> bool:
        """Whether an edit of this kind may rather silence a test than repair what it tests."""
        return self in (
            EditKind.CONSTANT_RESULT,
            EditKind.DELETED,
            EditKind.TEXTLESS,
            EditKind.SWALLOWED,
            EditKind.SPECIAL_CASE,
        )

    @property
    def coincides(self) -> bool:
        """Whether an edit of this kind often fits the tested values alone, as its rivals do."""
        return self in (EditKind.SHIFTED, EditKind.AS_TEXT)


@dataclass(frozen=True, slots=True)
class TreeChange:
    """Where two trees differ: what is there before and after, and whether it is within a condition, what a handler catches,
    an error that is raised, or a loop.
    """

    before: tuple[ast.AST, ...]
    after: tuple[ast.AST, ...]
    condition: bool = False
    caught: bool = False
    raised: bool = False
    looped: bool = False


COMMON_CONSTANTS = (0, 1, -1, "", None, True, False)
"""Constants that a legitimate special case is often about: the ends of recursion and of ranges."""


def kind_of(before: str, after: str) -> EditKind:
    """The kind of an edit of a module; PLAIN when one of the two does not parse."""
    try:
        old, new = read_module(before), read_module(after)
        change = difference(old, new)
    except PARSE_ERRORS:
        return EditKind.PLAIN
    statements = any(isinstance(node, ast.stmt) for node in (*change.before, *change.after))
    kind = _of_statements(change) if statements else _of_expression(change)
    if kind is EditKind.PLAIN and (_indifferent(new) - _indifferent(old) or _idle(new) - _idle(old)):
        return EditKind.CONSTANT_RESULT
    return EditKind.UNREAD if kind is EditKind.PLAIN and _unread(new) - _unread(old) else kind


def _indifferent(tree: ast.AST) -> set[str]:
    """Functions of several returns that all give the same constant: an edit that leaves one behind removed its answer."""
    functions = (node for node in ast.walk(tree) if isinstance(node, FunctionNode))
    return {function.name for function in functions if _has_one_answer(function)}


def _has_one_answer(function: ast.AST) -> bool:
    answers = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    first = answers[0] if len(answers) > 1 else None
    return isinstance(first, ast.Constant) and all(_equal(first, answer) for answer in answers)


def _idle(tree: ast.AST) -> set[str]:
    """Expressions in which a zero has the operation do nothing, or leave nothing over."""
    return {ast.dump(node) for node in ast.walk(tree) if _is_idle(node)}


def _is_idle(node: ast.AST) -> bool:
    match node:
        case (
            ast.BinOp(op=ast.Mult(), left=ast.Constant(value=0))
            | ast.BinOp(op=ast.Mult(), right=ast.Constant(value=0))
            | ast.Subscript(slice=ast.Slice(upper=ast.Constant(value=0)))
            | ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=0)])
            | ast.Call(func=ast.Attribute(attr="replace"), args=[_, _, ast.Constant(value=0)])
            | ast.Call(func=ast.Attribute(attr="split" | "rsplit"), args=[_, ast.Constant(value=0)])
        ):
            return True
        case _:
            return False


def _unread(tree: ast.AST) -> set[tuple[str, str]]:
    """Parameters and locals that nothing reads, with their functions: an edit that leaves one behind lost what it was for."""
    found: set[tuple[str, str]] = set()
    for function in ast.walk(tree):
        if isinstance(function, FunctionNode):
            names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
            read = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
            bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
            bound |= {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
            found |= {(function.name, name) for name in bound - read if not name.startswith("_")}
    return found


def difference(before: ast.AST, after: ast.AST, within: TreeChange | None = None) -> TreeChange:
    """The smallest place that holds every difference between two trees; `within` says what is around them."""
    here = replace(within or TreeChange((), ()), before=(before,), after=(after,))
    names: list[str] = []
    if type(before) is type(after):
        names = [name for name in before._fields if not _equal(getattr(before, name, None), getattr(after, name, None))]
    if len(names) != 1:
        return here
    here = replace(
        here,
        condition=here.condition or names[0] in ("test", "ifs"),
        caught=here.caught or (names[0] == "type" and isinstance(before, ast.ExceptHandler)),
        raised=here.raised or isinstance(before, ast.Raise),
        looped=here.looped or isinstance(before, (ast.For, ast.AsyncFor, ast.While)),
    )
    old, new = getattr(before, names[0]), getattr(after, names[0])
    if isinstance(old, ast.AST) and isinstance(new, ast.AST):
        return difference(old, new, here)
    return _difference_of_lists(here, old, new) if isinstance(old, list) and isinstance(new, list) else here


def _difference_of_lists(whole: TreeChange, old: list[object], new: list[object]) -> TreeChange:
    head = _common_start(old, new)
    tail = min(_common_start(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    nodes = [node for node in (*left, *right) if isinstance(node, ast.AST)]
    if len(nodes) < len(left) + len(right):
        return whole
    first, then = nodes[: len(left)], nodes[len(left) :]
    if len(first) == len(then) == 1:
        return difference(first[0], then[0], whole)
    if isinstance(whole.before[0], ast.BoolOp):
        return whole
    return replace(whole, before=tuple(first), after=tuple(then))


def _of_statements(change: TreeChange) -> EditKind:
    if not change.after:
        return EditKind.DELETED
    if any(_swallows(node) for node in change.after) and not any(_swallows(node) for node in change.before):
        return EditKind.SWALLOWED
    added = [node for node in change.after if not any(_equal(node, old) for old in change.before)]
    guards = [node for node in added if isinstance(node, ast.If)]
    if any(_is_special_case(guard) for guard in guards):
        return EditKind.SPECIAL_CASE
    if guards and not any(isinstance(old, ast.If) for old in change.before):
        return EditKind.GUARD
    if len(change.after) == 1 and isinstance(change.after[0], (ast.Pass, ast.Continue)) and change.before:
        return EditKind.DELETED
    counted = not change.looped and not change.before and all(isinstance(node, ast.AugAssign) for node in change.after)
    return EditKind.SHIFTED if counted and all(_is_shift(node, least=1) for node in change.after) else EditKind.PLAIN


def _is_shift(node: ast.AST, *, least: int) -> bool:
    """Whether it adds or subtracts a written number of at least `least`."""
    number = node.value if isinstance(node, ast.AugAssign) else node.right if isinstance(node, ast.BinOp) else None
    return (
        isinstance(node, (ast.AugAssign, ast.BinOp))
        and isinstance(node.op, (ast.Add, ast.Sub))
        and isinstance(number, ast.Constant)
        and isinstance(number.value, (int, float))
        and (number.value >= least or number.value % 1 != 0)
    )


def _of_expression(change: TreeChange) -> EditKind:
    if change.caught and any(map(_is_broad, change.after)) and not any(map(_is_broad, change.before)):
        return EditKind.SWALLOWED
    if change.raised and any(map(_has_message, change.before)) and not any(map(_has_message, change.after)):
        return EditKind.TEXTLESS
    if len(change.before) != 1 or len(change.after) != 1:
        return EditKind.PLAIN if not change.condition else EditKind.NARROWED if change.after else EditKind.DROPPED
    old, new = change.before[0], change.after[0]
    if _adds_to(new, old):
        return EditKind.WIDENED if isinstance(new, ast.BoolOp) and isinstance(new.op, ast.Or) else EditKind.NARROWED
    if _adds_to(old, new) or (change.condition and (_asks_less(old, new) or _loses_value(old, new))):
        return EditKind.DROPPED
    if isinstance(new, ast.IfExp) and any(_equal(part, old) for part in (new.body, new.orelse)):
        return EditKind.SPECIAL_CASE if _tests_uncommon_value(new.test, known=_constants(old)) else EditKind.GUARD
    if isinstance(new, ast.Constant) and not isinstance(old, ast.Constant):
        return EditKind.CONSTANT_CONDITION if change.condition else EditKind.CONSTANT_RESULT
    if isinstance(new, ast.BinOp) and _equal(new.left, old) and _is_shift(new, least=2):
        return EditKind.SHIFTED
    return EditKind.AS_TEXT if _compares_texts(new) and not _compares_texts(old) else EditKind.PLAIN


def _compares_texts(node: ast.AST) -> bool:
    """Whether the texts of two values are compared, `str(a) < str(b)`: 10 comes before 9, and 1 equals "1"."""
    sides = (node.left, *node.comparators) if isinstance(node, ast.Compare) else ()
    return bool(sides) and all(map(_is_text_of, sides))


def _is_text_of(node: ast.expr) -> bool:
    match node:
        case (
            ast.Call(func=ast.Name(id="str" | "repr"))
            | ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="str" | "repr"), _])
        ):
            return True
        case _:
            return False


def _has_message(node: ast.AST) -> bool:
    """Whether a text of several words is in it, so no key or name."""
    texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return any(" " in text.strip() for text in texts)


def _adds_to(whole: ast.AST, part: ast.AST) -> bool:
    """Whether `whole` is `part` with something joined to it by `and` or `or`."""
    if not isinstance(whole, ast.BoolOp):
        return False
    if any(_equal(value, part) for value in whole.values):
        return True
    same = isinstance(part, ast.BoolOp) and type(part.op) is type(whole.op) and len(part.values) < len(whole.values)
    return same and isinstance(part, ast.BoolOp) and all(any(_equal(v, p) for v in whole.values) for p in part.values)


def _asks_less(old: ast.AST, new: ast.AST) -> bool:
    """Whether a comparison lost what a value is compared with, unless that is nothing or empty: `a not in b` → `not b`."""
    asked = new.operand if isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not) else new
    operands = [old.left, *old.comparators] if isinstance(old, ast.Compare) else []
    lost = [operand for operand in operands if not _equal(operand, asked)]
    return len(lost) < len(operands) and not all(
        isinstance(o, ast.Constant) and o.value in COMMON_CONSTANTS for o in lost
    )


def _loses_value(old: ast.AST, new: ast.AST) -> bool:
    """Whether a comparison with an uncommon value gave way to a test of none: `"\\n" in text` → `not isinstance(text, str)`."""
    return isinstance(old, ast.Compare) and bool(_uncommon_constants(old)) and not _uncommon_constants(new)


def _uncommon_constants(node: ast.AST) -> list[object]:
    return [value for value in _constants(node) if value not in COMMON_CONSTANTS]


def _swallows(node: ast.AST) -> bool:
    """Whether a statement catches everything, or catches something and does nothing about it."""
    return any(
        isinstance(part, ast.ExceptHandler) and (_is_broad(part.type) or all(map(_does_nothing, part.body)))
        for part in ast.walk(node)
    )


def _is_broad(caught: ast.AST | None) -> bool:
    """Whether a handler of this, one error or a tuple of them, catches every error; None: a bare `except`."""
    if isinstance(caught, ast.Tuple):
        return any(map(_is_broad, caught.elts))
    return caught is None or (isinstance(caught, ast.Name) and caught.id in ("Exception", "BaseException"))


def _does_nothing(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _is_special_case(guard: ast.If) -> bool:
    """Whether one uncommon value gets a constant for its result."""
    first = guard.body[0]
    constant = isinstance(first, (ast.Return, ast.Assign)) and isinstance(first.value, ast.Constant)
    return constant and _tests_uncommon_value(guard.test)


def _tests_uncommon_value(test: ast.expr, known: Sequence[object] = ()) -> bool:
    """Whether it asks for a value that is not a usual one, nor `known` to what it decides about, as a separator is."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Eq, ast.In)):
        return False
    usual = (*COMMON_CONSTANTS, *known)
    return any(not any(value is each or value == each for each in usual) for value in _constants(test))


def _constants(node: ast.AST) -> list[object]:
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]


def _equal(one: object, other: object) -> bool:
    """Whether two parts of trees say the same, wherever they stand."""
    if isinstance(one, ast.AST) and isinstance(other, ast.AST):
        return type(one) is type(other) and all(
            _equal(getattr(one, name, None), getattr(other, name, None)) for name in one._fields
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return type(one) is type(other) and one == other


def _common_start(one: Sequence[object], other: Sequence[object]) -> int:
    return sum(1 for _ in takewhile(lambda pair: _equal(*pair), zip(one, other, strict=False)))
