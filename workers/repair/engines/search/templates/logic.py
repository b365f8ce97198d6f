"""Wrong boolean structure: negation, `and` for `or`, grouping, sign.

"Change unary operator", "more/less specific if" of ManySStuBs4J (Karampatsis and Sutton 2020); IF-CC of Pan et al. 2009.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.edit_context import Edit, Site, wrapped
from workers.repair.engines.search.templates import template

_ALL_BUT_NAMES = (
    Family.ASSERTION,
    Family.VALUE,
    Family.LOOKUP,
    Family.TYPE,
    Family.ATTRIBUTE,
    Family.ITERATION,
    Family.RECURSION,
    Family.TIMEOUT,
)


def is_condition(node: cst.CSTNode, site: Site) -> bool:
    """Whether an expression is asked for its truth."""
    match site.parent(node):
        case cst.If(test=test) | cst.While(test=test) | cst.IfExp(test=test) | cst.Assert(test=test):
            return test is node
        case cst.CompIf() | cst.BooleanOperation():
            return True
        case cst.Return():
            return isinstance(node, (cst.Comparison, cst.BooleanOperation, cst.Call, cst.Name, cst.Attribute))
    return False


@template(cst.BaseExpression, strategy="operators", prior=0.75, families=_ALL_BUT_NAMES)
def negation(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`if a:` → `if not a:` and back."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        yield site.replace(node, site.code(node.expression))
    elif is_condition(node, site) and not (isinstance(node, cst.Comparison) and len(node.comparisons) == 1):
        returned = isinstance(site.parent(node), cst.Return) and not isinstance(node, cst.BooleanOperation)
        yield site.replace(node, f"not {wrapped(site.code(node), 5)}", weight=0.4 if returned else 1.0)


@template(cst.BooleanOperation, strategy="operators", prior=0.85, families=_ALL_BUT_NAMES)
def boolean_operator(node: cst.BooleanOperation, site: Site) -> Iterator[Edit]:
    """`a and b` → `a or b` and back."""
    yield site.token(node.operator, "or" if isinstance(node.operator, cst.And) else "and", around=node)


@template(cst.BooleanOperation, strategy="operators", prior=0.5, families=_ALL_BUT_NAMES)
def swapped_sides(node: cst.BooleanOperation, site: Site) -> Iterator[Edit]:
    """`a or b` → `b or a`: which one is preferred, or asked first so that the other need not be."""
    yield site.replace(node, f"{site.operand(node.right, 5)} {site.code(node.operator)} {site.operand(node.left, 5)}")


@template(cst.BooleanOperation, strategy="operators", prior=0.35, families=_ALL_BUT_NAMES)
def boolean_grouping(node: cst.BooleanOperation, site: Site) -> Iterator[Edit]:
    """`a or b and c` → `(a or b) and c`, `not a and b` → `not (a and b)`, and back."""
    left, right, sign = node.left, node.right, site.code(node.operator)
    if isinstance(left, cst.BooleanOperation):
        inner = f"{site.code(left.right)} {sign} {site.code(right)}"
        yield site.token(node, f"{site.code(left.left)} {site.code(left.operator)} ({inner})")
    if isinstance(right, cst.BooleanOperation):
        inner = f"{site.code(left)} {sign} {site.code(right.left)}"
        yield site.token(node, f"({inner}) {site.code(right.operator)} {site.code(right.right)}")
    if isinstance(left, cst.UnaryOperation) and isinstance(left.operator, cst.Not):
        yield site.replace(node, f"not ({site.code(left.expression)} {sign} {site.code(right)})")


@template(cst.UnaryOperation, strategy="operators", prior=0.35, families=_ALL_BUT_NAMES)
def negated_group(node: cst.UnaryOperation, site: Site) -> Iterator[Edit]:
    """`not (a and b)` → `not a and b`, `not a and not b`."""
    inner = node.expression
    if isinstance(node.operator, cst.Not) and isinstance(inner, cst.BooleanOperation):
        left, right = wrapped(site.code(inner.left), 5), wrapped(site.code(inner.right), 5)
        yield site.replace(node, f"not {left} {site.code(inner.operator)} {right}")
        yield site.replace(node, f"not {left} {site.code(inner.operator)} not {right}")


@template(cst.BaseExpression, strategy="operators", prior=0.4, families=(Family.ASSERTION, Family.VALUE, Family.LOOKUP))
def sign(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`-a` → `a` and back; `~a` → `a`."""
    if isinstance(node, cst.UnaryOperation) and not isinstance(node.operator, cst.Not):
        yield site.replace(node, site.code(node.expression))
        if isinstance(node.operator, cst.BitInvert):
            yield site.replace(node, f"not {site.code(node.expression)}", weight=0.6)
    elif isinstance(node, (cst.Name, cst.Integer, cst.Float, cst.Call, cst.Attribute, cst.Subscript)):
        parent = site.parent(node)
        taken = (cst.Return, cst.Arg, cst.Index, cst.Slice, cst.Assign, cst.Tuple, cst.AugAssign)
        if isinstance(parent, taken) and not getattr(parent, "star", ""):
            yield site.replace(node, f"-{site.code(node)}", weight=0.3 if isinstance(node, cst.Name) else 0.5)


@template(cst.Comparison, strategy="operators", prior=0.3, families=_ALL_BUT_NAMES)
def swapped_comparison(node: cst.Comparison, site: Site) -> Iterator[Edit]:
    """`a in b` → `b in a`; `a < b < c` loses a side."""
    if len(node.comparisons) == 1:
        target = node.comparisons[0]
        if isinstance(target.operator, (cst.In, cst.NotIn)):
            code = f"{site.operand(target.comparator)} {site.code(target.operator)} {site.operand(node.left)}"
            yield site.replace(node, code)
        return
    for index, target in enumerate(node.comparisons):
        left = node.left if index == 0 else node.comparisons[index - 1].comparator
        yield site.replace(node, f"{site.code(left)} {site.code(target.operator)} {site.code(target.comparator)}")


@template(cst.Comparison, strategy="operators", prior=0.3, families=_ALL_BUT_NAMES)
def missing_symmetry(node: cst.Comparison, site: Site) -> Iterator[Edit]:
    """`a < b` → `a < b or b < a`; with three names the comparison for each in turn: the other cases were forgotten."""
    text = site.code(node)
    names = [name for name in site.local_variables if re.search(rf"\b{name}\b", text)]
    turned = {2: [{0: 1, 1: 0}], 3: [{0: 1, 1: 2, 2: 0}, {0: 2, 1: 0, 2: 1}]}.get(len(names), [])
    others = [_turned(text, {names[i]: names[j] for i, j in turn.items()}) for turn in turned]
    for word in ("or", "and") if others else ():
        yield site.replace(node, f" {word} ".join([text, *others]))


def _turned(text: str, names: dict[str, str]) -> str:
    return re.sub(r"\b(?:" + "|".join(names) + r")\b", lambda found: names[found.group()], text)
