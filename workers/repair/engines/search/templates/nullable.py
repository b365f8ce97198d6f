"""Conditions on a value that may be None: an optional limit, a missing part.

"Insert missed null checker" of TBar (Liu et al. 2019) inside an expression, where no statement can be put before:
filters of comprehensions, sides of `and` and `or`, returned comparisons. Guards overfit, so they are likely only when
the error speaks of NoneType.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site, wrapped
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import bound_in_statement

_UNNAMED = 0.35
"""What an edit is worth when the message does not speak of NoneType."""

_PLACES = (
    (r"and 'NoneType'|'NoneType' is not iterable", "right"),
    (r"'NoneType' and", "left"),
    (r"has no attribute|not subscriptable", "base"),
    (r"has no len|must be|argument", "argument"),
)
"""Where the value stood, by the interpreter's words."""


@template(cst.BaseExpression, strategy="guards", prior=0.8, families=(Family.ATTRIBUTE, Family.TYPE))
def unguarded_condition(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a <= limit` → `limit is None or a <= limit`, `limit is not None and a <= limit`; likewise `k in d`, `x.ready`."""
    if not _is_clause(node, site):
        return
    weighed = 1.0 if "NoneType" in site.failure.message else _UNNAMED
    text = site.code(node)
    for name, weight in fading(_nullable(node, site)[:4], step=0.3):
        yield _put(node, f"{name} is not None and {wrapped(text, 4)}", cst.And, site, weight * weighed)
        yield _put(node, f"{name} is None or {wrapped(text, 3)}", cst.Or, site, weight * weighed)


def _put(node: cst.BaseExpression, code: str, operator: type[cst.BaseBooleanOp], site: Site, weight: float) -> Edit:
    parent = site.parent(node)
    chained = isinstance(parent, cst.BooleanOperation) and isinstance(parent.operator, operator)
    if chained or isinstance(parent, (cst.CompIf, cst.IfExp)):
        return site.token(node, code, weight=weight)  # reads the same without parentheses
    return site.replace(node, code, weight=weight)


def _is_clause(node: cst.BaseExpression, site: Site) -> bool:
    """Whether a node is a truth value: a comparison, or what a condition or a part of one consists of."""
    parent = site.parent(node)
    if isinstance(parent, cst.BooleanOperation):
        return not isinstance(node, cst.BooleanOperation)
    if isinstance(parent, cst.UnaryOperation):
        return isinstance(parent.operator, cst.Not)
    if isinstance(parent, (cst.If, cst.While, cst.CompIf, cst.IfExp, cst.Assert)):
        return parent.test is node
    return isinstance(node, cst.Comparison)


def _nullable(node: cst.BaseExpression, site: Site) -> list[str]:
    """Names and attributes that the clause needs not to be None, the likeliest first."""
    place = next((place for words, place in _PLACES if re.search(words, site.failure.message)), "")
    known = {*site.variables, *bound_in_statement(site)}
    receiver = site.receiver
    optional = _optional(site)
    ranks: dict[str, tuple[bool, bool]] = {}
    for where, operand in _operands(node):
        text = site.code(operand)
        if isinstance(operand, (cst.Name, cst.Attribute)) and text != receiver:
            base = text.partition(".")[0]
            if (base in known or base == receiver) and not text.endswith(")"):
                rank = (text not in optional, where != place)
                ranks[text] = min(rank, ranks.get(text, rank))
    return sorted(ranks, key=lambda text: ranks[text])


def _operands(node: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression]]:
    """Expressions below that raise when they are None, and where they stand; equality and identity never raise."""
    match node:
        case cst.Comparison():
            for target in node.comparisons:
                if not isinstance(target.operator, (cst.Equal, cst.NotEqual, cst.Is, cst.IsNot)):
                    yield "right", target.comparator
                    if not isinstance(target.operator, (cst.In, cst.NotIn)):
                        yield "left", node.left
        case cst.BinaryOperation():
            yield from (("right", node.right), ("left", node.left))
        case cst.Attribute() | cst.Subscript():
            yield "base", node.value
        case cst.Arg():
            yield "argument", node.value
        case cst.Lambda() | cst.CompFor():
            return
    for child in node.children:
        yield from _operands(child)


def _optional(site: Site) -> set[str]:
    """Parameters of this function whose default is None."""
    if site.definition is None:
        return set()
    params = site.definition.params
    both = (*params.params, *params.kwonly_params)
    return {p.name.value for p in both if isinstance(p.default, cst.Name) and p.default.value == "None"}
