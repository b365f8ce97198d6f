"""Wrong operators: comparison, arithmetic, bitwise, augmented.

"Change binary operator" of ManySStuBs4J (Karampatsis and Sutton 2020); the mutation operators ROR, AOR, LOR and COR
of Just et al. 2011, applied backwards.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template

_VALUES = (Family.ASSERTION, Family.VALUE, Family.LOOKUP, Family.ARITHMETIC, Family.RECURSION, Family.TIMEOUT)

_COMPARISONS = {
    "<": ("<=", ">", ">=", "!=", "=="),
    "<=": ("<", ">=", ">", "==", "!="),
    ">": (">=", "<", "<=", "!=", "=="),
    ">=": (">", "<=", "<", "==", "!="),
    "==": ("!=", "<=", ">=", "in", "<", ">", "is"),
    "!=": ("==", "<", ">", "not in", "is not"),
    "in": ("not in", "=="),
    "not in": ("in", "!="),
    "is": ("is not", "=="),
    "is not": ("is", "!="),
}
_ARITHMETIC = {
    "+": ("-", "*", "/", "|"),
    "-": ("+", "*", "//", "/"),
    "*": ("+", "/", "**", "//", "%"),
    "/": ("//", "*", "%", "+"),
    "//": ("/", "%", "*", "+"),
    "%": ("//", "/", "*"),
    "**": ("*",),
    "@": ("*",),
    "&": ("|", "^", "and"),
    "|": ("&", "^", "or", "+"),
    "^": ("&", "|", "**"),
    "<<": (">>",),
    ">>": ("<<",),
}
_AUGMENTED = {
    "+=": ("-=", "=", "*="),
    "-=": ("+=", "="),
    "*=": ("+=", "/=", "**=", "//="),
    "/=": ("//=", "*=", "%="),
    "//=": ("/=", "*=", "%="),
    "%=": ("//=", "="),
    "|=": ("&=", "^=", "="),
    "&=": ("|=", "^=", "="),
    "^=": ("|=", "&="),
    "<<=": (">>=",),
    ">>=": ("<<=",),
    "**=": ("*=",),
}


_COMPARING = ("<", "<=", ">", ">=", "==", "!=", "in", "not in")
_COMPUTING = ("+", "-", "*", "/", "//", "%", "**")


def _with_rest(near: dict[str, tuple[str, ...]], sign: str, every: tuple[str, ...]) -> tuple[str, ...]:
    """A sign's relatives, then all others that stand in such a place."""
    return tuple(code for code in dict.fromkeys((*near.get(sign, ()), *every)) if code != sign)


@template(cst.Comparison, strategy="operators", prior=0.9, families=(*_VALUES, Family.TYPE, Family.ITERATION))
def comparison_operator(node: cst.Comparison, site: Site) -> Iterator[Edit]:
    """`a < b` → `a <= b`, and the other comparisons; nearest relative first."""
    for target in node.comparisons:
        for code, weight in fading(_with_rest(_COMPARISONS, site.code(target.operator), _COMPARING)):
            yield site.token(target.operator, code, weight=weight, around=node)


@template(cst.BinaryOperation, strategy="operators", prior=0.85, families=(*_VALUES, Family.TYPE))
def arithmetic_operator(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`a + b` → `a - b`, and the other arithmetic and bitwise operators. The text decides the grouping, as in a slip."""
    text = isinstance(node.left, (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString))
    formatting = text and isinstance(node.operator, cst.Modulo)
    for code, weight in fading(_with_rest(_ARITHMETIC, site.code(node.operator), _COMPUTING)):
        if not formatting:
            yield site.token(node.operator, code, weight=weight, around=node)


@template(cst.AugAssign, strategy="operators", prior=0.85, families=(*_VALUES, Family.TYPE))
def augmented_operator(node: cst.AugAssign, site: Site) -> Iterator[Edit]:
    """`a += b` → `a -= b`, `a = b`; the last not where `a` is what the error misses, which would but silence it."""
    constructed = site.function is not None and site.function.signature.name == "__init__"
    missed = isinstance(node.target, cst.Attribute) and node.target.attr.value == site.clues.attribute
    signs = _with_rest(_AUGMENTED, site.code(node.operator), tuple(f"{sign}=" for sign in _COMPUTING))
    for code, weight in fading(sign for sign in signs if sign != "=" or constructed or not missed):
        yield site.token(node.operator, code, weight=weight, around=node)


@template(cst.Assign, strategy="operators", prior=0.4, families=(Family.ASSERTION, Family.VALUE))
def assignment_to_augmented(node: cst.Assign, site: Site) -> Iterator[Edit]:
    """`a = b` → `a += b`, `a -= b`, `a |= b`: an accumulation that forgot what it had."""
    target = node.targets[0].target
    if len(node.targets) == 1 and isinstance(target, (cst.Name, cst.Attribute, cst.Subscript)):
        for sign, weight in fading(("+=", "-=", "*=", "|=")):
            code = f"{site.code(target)} {sign} {site.code(node.value)}"
            yield site.token(node, code, weight=weight)


@template(cst.BinaryOperation, strategy="operators", prior=0.5, families=_VALUES)
def swapped_operands(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`a - b` → `b - a`, for operators whose order matters ("swap operands": TBar 2019)."""
    if site.code(node.operator) in ("-", "/", "//", "%", "**", "<<", ">>", "+", "@"):
        code = f"{site.operand(node.right)} {site.code(node.operator)} {site.operand(node.left)}"
        yield site.replace(node, code, weight=0.4 if site.code(node.operator) == "+" else 1.0)


@template(cst.BinaryOperation, strategy="operators", prior=0.35, families=_VALUES)
def regrouped_operands(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`a * b + c` → `a * (b + c)`: parentheses put in, or left out ("operator precedence": Pan et al. 2009)."""
    operator, left, right = site.code(node.operator), node.left, node.right
    if isinstance(left, cst.BinaryOperation) and left.lpar:
        yield site.token(node, f"{site.code(left)[1:-1]} {operator} {site.code(right)}")
    if isinstance(right, cst.BinaryOperation) and right.lpar:
        yield site.token(node, f"{site.code(left)} {operator} {site.code(right)[1:-1]}")
    if isinstance(left, cst.BinaryOperation) and not left.lpar:
        inner_left, inner_right = site.code(left.left), site.code(left.right)
        regrouped = f"{inner_left} {site.code(left.operator)} ({inner_right} {operator} {site.code(right)})"
        yield site.token(node, regrouped)
    if isinstance(right, cst.BinaryOperation) and not right.lpar:
        inner_left, inner_right = site.code(right.left), site.code(right.right)
        yield site.token(node, f"({site.code(left)} {operator} {inner_left}) {site.code(right.operator)} {inner_right}")


@template(cst.BinaryOperation, strategy="operators", prior=0.4, families=_VALUES)
def dropped_operand(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`a + b` → `a` or `b`: excess arithmetic."""
    constant = isinstance(node.left, cst.BaseNumber)
    yield site.replace(node, site.code(node.left), weight=0.4 if constant else 1.0)
    yield site.replace(node, site.code(node.right), weight=1.0 if constant else 0.8)
