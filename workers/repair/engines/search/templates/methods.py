"""A value that was not brought into the form it is compared or collected in: a method or function call is missing.

"Mutate method invocation" of TBar (Liu et al. 2019) and missing-call patterns of BugsInPy's bugs (Widyasari et al.
2020). Both sides of a comparison lack the same call as often as one does, which no single-node edit can mend.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import is_read
from workers.repair.engines.search.type_inference import MAPPING, NUMBER, SEQUENCE, SET, TEXT, element, outer

_VALUES = (Family.ASSERTION, Family.VALUE, Family.TYPE, Family.LOOKUP, Family.ATTRIBUTE)
_METHODS = {
    TEXT: (".lower()", ".upper()", ".strip()", ".split()", "[::-1]", ".replace(' ', '')", ".swapcase()", ".title()"),
    MAPPING: (".items()", ".values()", ".keys()", ".copy()"),
    SEQUENCE: (".copy()", "[::-1]"),
    "": (".lower()", ".strip()", ".split()", ".items()", ".values()", ".keys()", ".upper()", ".copy()"),
}
_WRAPS = {
    NUMBER: ("abs({})", "str({})", "int({})", "round({})"),
    TEXT: ("{}.lower()", "set({})", "sorted({})", "len({})", "{}.strip()", "int({})", "list({})", "{}[::-1]"),
    SEQUENCE: ("sorted({})", "set({})", "len({})", "sum({})", "list({})", "max({})", "min({})", "tuple({})"),
    "": ("str({})", "abs({})", "len({})", "sorted({})", "set({})", "int({})", "{}.lower()", "list({})"),
}


@template(cst.BaseExpression, strategy="calls", prior=0.45, families=_VALUES)
def missing_method(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`set(a)` → `set(a.lower())`; `for x in a` → `for x in a.items()`: by what kind of value it is."""
    parent = site.parent(node)
    if not isinstance(node, (cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.SimpleString)):
        return
    if isinstance(node, cst.Name) and (not is_read(node, site) or (isinstance(parent, cst.Call))):
        return
    targets = (cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr, cst.AnnAssign)
    others = (cst.AssignTarget, cst.Expr, cst.Decorator, cst.Annotation, cst.Param, cst.Call)
    if isinstance(parent, others) or (isinstance(parent, targets) and parent.target is node):
        return
    for ending, weight in fading(_METHODS.get(outer(site.kind(site.code(node))), ())):
        yield site.replace(node, f"{site.operand(node, 15)}{ending}", weight=weight)


@template(cst.Comparison, strategy="calls", prior=0.55, families=_VALUES)
def both_sides(node: cst.Comparison, site: Site) -> Iterator[Edit]:
    """`a == b` → `set(a) == set(b)`, `a.lower() == b.lower()`, `abs(a) < abs(b)`."""
    if len(node.comparisons) == 1 and not isinstance(node.comparisons[0].operator, (cst.Is, cst.IsNot)):
        yield from _wrapped(node, node.left, node.comparisons[0].operator, node.comparisons[0].comparator, site)


@template(cst.Comparison, strategy="calls", prior=0.5, families=_VALUES)
def case_of_literal(node: cst.Comparison, site: Site) -> Iterator[Edit]:
    """`a == "AS"` → `a.upper() == "AS"`, `a in ("x", "y")` → `a.lower() in ("x", "y")`: as the literals are written."""
    target = node.comparisons[0].comparator
    words = "".join(re.findall(r"[A-Za-z]", site.code(target)))
    literal = isinstance(target, cst.SimpleString) or (
        isinstance(target, (cst.Tuple, cst.List, cst.Set))
        and all(isinstance(element.value, cst.SimpleString) for element in target.elements)
    )
    if literal and words and len(node.comparisons) == 1:
        method = "upper" if words.isupper() else "lower"
        yield site.replace(node.left, f"{site.operand(node.left, 15)}.{method}()", around=node)


@template(cst.BinaryOperation, strategy="calls", prior=0.4, families=_VALUES)
def both_operands(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`a - b` → `abs(a) - abs(b)`, `len(a) - len(b)`; `a + b` → `str(a) + str(b)`."""
    yield from _wrapped(node, node.left, node.operator, node.right, site)


def _wrapped(
    node: cst.BaseExpression, left: cst.BaseExpression, sign: cst.CSTNode, right: cst.BaseExpression, site: Site
) -> Iterator[Edit]:
    kind = outer(site.kind(site.code(left))) or outer(site.kind(site.code(right)))
    for form, weight in fading(_WRAPS.get(kind, _WRAPS[""])):
        called = not form.startswith("{}")
        one, other = (site.code(n) if called else site.operand(n, 15) for n in (left, right))
        yield site.replace(node, f"{form.format(one)} {site.code(sign)} {form.format(other)}", weight=weight)


@template(cst.BaseExpression, strategy="calls", prior=0.3, families=_VALUES)
def mapped_elements(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`sum(a)` → `sum(abs(x) for x in a)`, `sum(map(int, a))`, `sum(x for x in a if x > 0)`: each element by itself."""
    parent = site.parent(node)
    if (
        not isinstance(parent, cst.Arg)
        or parent.star
        or parent.keyword
        or not isinstance(node, (cst.Name, cst.Attribute))
    ):
        return
    call = site.parent(parent)
    if not isinstance(call, cst.Call) or site.code(call.func) not in (
        "sum",
        "max",
        "min",
        "set",
        "sorted",
        "list",
        "any",
        "all",
    ):
        return
    kind = site.kind(site.code(node))
    if outer(kind) in ("", SEQUENCE, SET, TEXT):
        text = site.code(node)
        numeric = element(kind) in ("", NUMBER)
        forms = ("abs(x) for x in {}", "x ** 2 for x in {}", "x for x in {} if x > 0", "x for x in {} if x % 2 == 0")
        textual = ("len(x) for x in {}", "int(x) for x in {}", "x.lower() for x in {}", "str(x) for x in {}")
        options = [*(forms if numeric else ()), *(textual if element(kind) in ("", TEXT) else ())]
        for form, weight in fading(options):
            code = form.format(text)
            yield site.token(node, code if len(call.args) == 1 else f"({code})", weight=weight)


@template(cst.BaseExpression, strategy="calls", prior=0.35, families=_VALUES)
def extreme_of_two(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`best = a` → `best = max(best, a)`; `max(rows)` → `max(best, a)`: a running extreme that forgot itself or the new one."""
    parent = site.parent(node)
    call = isinstance(node, cst.Call) and site.code(node.func) in ("min", "max")
    if not isinstance(parent, (cst.Assign, cst.Return, cst.Arg)) or not (
        call or isinstance(node, (cst.Name, cst.BinaryOperation))
    ):
        return
    if isinstance(parent, cst.Arg) and (parent.star or parent.keyword is node):
        return
    names = [n for n in site.live if outer(site.kind(n)) in ("", NUMBER)][:4]
    pairs = list(combinations(names, 2)) if call else [(name, site.code(node)) for name in names]
    both = (site.code(node.func),) if isinstance(node, cst.Call) and call else ("max", "min")
    for (one, other), weight in fading([pair for pair in pairs if pair[0] != pair[1]], step=0.2):
        for name in both:
            yield site.replace(node, f"{name}({one}, {other})", weight=weight)
