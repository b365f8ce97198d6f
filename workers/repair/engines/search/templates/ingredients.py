"""Expressions from elsewhere in the function.

The redundancy assumption: most fixes consist of code that is already there (Martinez et al. 2014; the "plastic surgery
hypothesis" of Barr et al. 2014), and the nearer the likelier. "Mutate expression" of TBar (Liu et al. 2019).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading, likeness
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import bound_in_statement, is_read
from workers.repair.engines.search.type_inference import NUMBER, SEQUENCE, TEXT, comparable, element, outer

_ANY = (Family.ASSERTION, Family.TYPE, Family.VALUE, Family.LOOKUP, Family.TIMEOUT, Family.RECURSION, Family.ARITHMETIC)
_LONGEST, _MOST = 40, 16


@template(cst.BaseExpression, strategy="names", prior=0.35, families=_ANY)
def reused_expression(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `len(b)`, `a[i]` → `a[j]`, `f(a)` → `b.c`: another expression of the function, of a like kind and place."""
    if site.definition is None or not _is_replaceable(node, site):
        return
    text, kind = site.code(node), site.kind(site.code(node))
    stock = [(code, place) for code, place in _stock(site) if code != text and code not in text]
    fitting = [item for item in stock if comparable(kind, site.kind(item[0]))]
    place = _place(node, site)
    ordered = sorted(fitting, key=lambda item: (item[1] != place, -round(likeness(text, item[0]), 1)))
    for code, weight in fading(dict.fromkeys(code for code, _ in ordered[:_MOST]), step=0.15):
        yield site.replace(node, code, weight=weight)


@template(cst.BaseExpression, strategy="names", prior=0.35, families=_ANY)
def variable_for_expression(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`f(a)` → `b`, `a[i]` → `b`: what is computed again, or wrongly, is at hand as a variable."""
    if isinstance(node, (cst.Name, cst.Integer, cst.SimpleString)) or not _is_replaceable(node, site):
        return
    kind, text = site.kind(site.code(node)), site.code(node)
    names = [n for n in dict.fromkeys((*bound_in_statement(site), *site.live)) if comparable(kind, site.kind(n))]
    inside = [n for n in names if n in text]
    for name, weight in fading([n for n in names if n not in inside] + inside, step=0.2):
        yield site.replace(node, name, weight=weight)


@template(cst.AssignTarget, strategy="names", prior=0.35, families=_ANY)
def reused_target(node: cst.AssignTarget, site: Site) -> Iterator[Edit]:
    """`a[i, j] = b[j] + c` → `b[j] = b[j] + c`: the value belongs where the statement reads it from."""
    target, statement = site.code(node.target), site.parent(node)
    read = [n for n in site.body if isinstance(n, (cst.Subscript, cst.Attribute, cst.Name)) and n is not node.target]
    inner = [n for n in read if statement in site.ancestors(n) and is_read_place(n, site)]
    texts = dict.fromkeys(site.code(n) for n in inner)
    for code, weight in fading([t for t in texts if t != target], step=0.3):
        yield site.token(node.target, code, weight=weight)


def is_read_place(node: cst.CSTNode, site: Site) -> bool:
    """Whether what is read here could be assigned to: no method, function, target, or part of such a place."""
    parent = site.parent(node)
    if isinstance(parent, (cst.AssignTarget, cst.Attribute, cst.Subscript, cst.Annotation)):
        return False
    return not (isinstance(parent, cst.Call) and parent.func is node)


def _is_replaceable(node: cst.BaseExpression, site: Site) -> bool:
    parent = site.parent(node)
    if isinstance(node, cst.Name) and (not is_read(node, site) or isinstance(parent, cst.Call)):
        return False
    if isinstance(parent, (cst.AssignTarget, cst.Expr, cst.Decorator, cst.Annotation, cst.Param)):
        return False
    targets = (cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr, cst.AnnAssign)
    kinds = (cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.BinaryOperation, cst.Integer, cst.SimpleString)
    return isinstance(node, kinds) and not (isinstance(parent, targets) and parent.target is node)


def _stock(site: Site) -> list[tuple[str, str]]:
    """The function's expressions beyond plain names, and the place of each."""
    found: dict[str, str] = {}
    for node in site.body:
        if isinstance(
            node, (cst.Attribute, cst.Subscript, cst.Call, cst.BinaryOperation, cst.SimpleString, cst.Integer)
        ):
            if isinstance(site.parent(node), (cst.AssignTarget, cst.Expr, cst.ConcatenatedString)):
                continue
            text = site.code(node)
            if len(text) <= _LONGEST and "\n" not in text:
                found.setdefault(text, _place(node, site))
    return list(found.items())


def _place(node: cst.CSTNode, site: Site) -> str:
    """What the node is a part of: the operator or function around it."""
    parent = site.parent(node)
    if isinstance(parent, cst.Arg):
        call = site.parent(parent)
        return f"argument of {site.code(call.func)}" if isinstance(call, cst.Call) else "argument"
    return type(parent).__name__


@template(cst.BaseExpression, strategy="calls", prior=0.3, families=_ANY)
def called_on_other(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `bin(x)`, `str(x)`, `len(b)`: a builtin of a value in scope, where its result is of the kind wanted."""
    if not isinstance(node, cst.Name) or not is_read(node, site) or site.definition is None:
        return
    if isinstance(site.parent(node), cst.Call):
        return
    names = [n for n in dict.fromkeys((*bound_in_statement(site), *site.live)) if n != node.value]
    for name, worth in fading(names[:6], step=0.4):
        for function, weight in fading(_functions(site.kind(name))):
            yield site.replace(node, f"{function}({name})", weight=worth * weight)


def _functions(kind: str) -> tuple[str, ...]:
    if outer(kind) == "number":
        return "str", "abs", "bin", "int", "range", "chr"
    if outer(kind) == "text":
        return "len", "int", "set", "sorted", "list", "ord"
    if not kind:
        return "str", "len", "abs", "bin", "int", "sum", "set"
    numeric = ("sum", "min", "max") if element(kind) in ("", "number") else ("min", "max")
    return "len", *numeric, "set", "sorted", "str"


@template(cst.Subscript, strategy="calls", prior=0.35, families=_ANY)
def element_for_aggregate(node: cst.Subscript, site: Site) -> Iterator[Edit]:
    """`a[-1]` → `sum(a)`, `max(a)`, `min(a)`, `len(a)`: one element taken where all of them count."""
    if isinstance(site.parent(node), (cst.AssignTarget, cst.Del)) or not isinstance(node.slice[0].slice, cst.Index):
        return
    text = site.code(node.value)
    for name, weight in fading(("sum", "max", "min", "len", "any", "all")):
        yield site.replace(node, f"{name}({text})", weight=weight)


@template(cst.Name, strategy="names", prior=0.3, families=_ANY)
def whole_for_element(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`a` → `rows[i]`, `rows[-1]`: the element of a sequence in scope, in place of a variable of another meaning."""
    if not is_read(node, site) or isinstance(site.parent(node), (cst.Call, cst.Subscript, cst.Attribute)):
        return
    kind = site.kind(node.value)
    rows = [n for n in site.live if outer(site.kind(n)) in (SEQUENCE, TEXT)]
    fitting = [n for n in rows if n != node.value and comparable(kind, element(site.kind(n)))]
    indexes = [n for n in site.live if outer(site.kind(n)) == NUMBER and n != node.value]
    for name, worth in fading(fitting[:3]):
        for index, weight in fading((*indexes[:3], "0", "-1")):
            yield site.replace(node, f"{name}[{index}]", weight=worth * weight)
