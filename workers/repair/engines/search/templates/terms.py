"""Arithmetic that lacks a term or a factor, or has one too many.

"Missing term" and "extra term" of the arithmetic fault classes (Kuhn 1999 for conditions; AOIS and AODU of mutation
testing: Offutt et al. 1996, applied backwards). The terms are in-scope values of the same kind, as in component-based
synthesis (Jha et al. 2010; SemFix: Nguyen et al. 2013), one operator deep.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import bound_in_statement
from workers.repair.engines.search.type_inference import NUMBER, SEQUENCE, TEXT, outer

_VALUES = (Family.ASSERTION, Family.VALUE, Family.LOOKUP, Family.TIMEOUT, Family.RECURSION, Family.ARITHMETIC)
_PLACES = (cst.Return, cst.Assign, cst.AugAssign, cst.Arg, cst.Comparison, cst.ComparisonTarget, cst.Index, cst.Slice)
_JOINED = (*_PLACES, cst.Element, cst.BinaryOperation, cst.IfExp, cst.ListComp, cst.GeneratorExp)


def operands(site: Site, kind: str) -> list[str]:
    """In-scope values of a kind: names bound here and lengths, then small numbers and those that examples show."""
    names = [n for n in dict.fromkeys((*bound_in_statement(site), *site.live)) if outer(site.kind(n)) == kind]
    if kind == TEXT:
        return [*names, *(repr(c) for c in site.examples.characters[:6] if not c.isalnum()), "' '"]
    if kind != NUMBER:
        looped = [site.code(n.iter) for n in site.body if isinstance(n, (cst.For, cst.CompFor))]
        return list(dict.fromkeys((*names, *(text for text in looped if not site.kind(text) and text.isidentifier()))))
    sized = [n for n in site.live if outer(site.kind(n)) in (SEQUENCE, TEXT)]
    used = [site.code(n) for n in site.body if isinstance(n, cst.Integer)]
    lengths = [f"len({name})" for name in sized]
    return list(dict.fromkeys((*names[:1], "2", *names[1:], "1", *lengths, *used[:4], *site.examples.numbers[:4])))


@template(cst.BaseExpression, strategy="operators", prior=0.3, families=_VALUES)
def missing_term(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `a + b`, `a - b`, `a * b`, `a // 2`, `a % n`; text and lists are only joined."""
    if not isinstance(
        node, (cst.Name, cst.Call, cst.Attribute, cst.Subscript, cst.BinaryOperation, cst.List, cst.ListComp)
    ):
        return
    parent = site.parent(node)
    if not isinstance(parent, _JOINED) or (isinstance(parent, cst.Arg) and parent.star) or site.definition is None:
        return
    if isinstance(parent, cst.AugAssign) and parent.target is node:
        return
    text, kind = site.code(node), outer(site.kind(site.code(node)))
    for value, weight in fading((v for v in operands(site, kind or NUMBER) if v != text), step=0.2):
        for sign, worth in _signs(kind or NUMBER):
            yield site.replace(node, f"{site.operand(node, 12)} {sign} {value}", weight=weight * worth)
        if kind in (TEXT, SEQUENCE):
            yield site.replace(node, f"{value} + {site.operand(node, 12)}", weight=weight)


def _signs(kind: str) -> tuple[tuple[str, float], ...]:
    if kind == NUMBER:
        return ("+", 1.0), ("-", 1.0), ("*", 0.8), ("//", 0.6), ("%", 0.6), ("/", 0.5), ("**", 0.3)
    return (("+", 1.0),) if kind in (TEXT, SEQUENCE) else ()


@template(cst.BinaryOperation, strategy="operators", prior=0.4, families=_VALUES)
def superfluous_term(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`a ** 2 * b` → `a ** b`: an operand goes with either operator beside it, whatever they bind."""
    if isinstance(site.parent(node), cst.BinaryOperation) and not node.lpar:
        return  # the whole chain is looked at once
    parts = list(_chain(node, site))
    text = [site.region.text(*site.region.outer_span(part)) for part in parts]
    for index in range(2, len(parts) - 2, 2):
        yield site.token(node, " ".join(text[: index + 1]), weight=0.5)
    for index in range(0, len(parts), 2):
        if len(parts) > 3 and index:
            yield site.token(node, " ".join(text[: index - 1] + text[index + 1 :]))
        if len(parts) > 3 and 0 < index < len(parts) - 1:
            yield site.token(node, " ".join(text[:index] + text[index + 2 :]))


def _chain(node: cst.BaseExpression, site: Site) -> Iterator[cst.CSTNode]:
    """Operands and operators from left to right, as written."""
    if isinstance(node, cst.BinaryOperation):
        yield from _chain(node.left, site) if not node.left.lpar else (node.left,)
        yield node.operator
        yield from _chain(node.right, site) if not node.right.lpar else (node.right,)
    else:
        yield node
