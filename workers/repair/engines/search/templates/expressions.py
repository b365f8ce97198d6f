"""An expression for another: one from elsewhere in the function, a method or call that is missing, a slice, an aggregate.

The redundancy assumption: most fixes consist of code that is already there (Martinez et al. 2014; the "plastic surgery
hypothesis" of Barr et al. 2014), and the nearer the likelier. "Mutate expression", "mutate method invocation" of TBar (Liu
et al. 2019); missing calls of BugsInPy (Widyasari et al. 2020); "insert range" of PAR (Kim et al. 2013). Both sides of a
comparison lack the same call as often as one does, which no single-node edit can mend.
"""

from collections.abc import Iterator
from itertools import combinations

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.option_weights import by_rank, similarity
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import bound_in_statement, is_read, is_target
from workers.repair.engines.search.type_inference import (
    MAPPING,
    NUMBER,
    SEQUENCE,
    TEXT,
    comparable,
    element,
    may_be,
    outer,
)

_ANY = (Family.ASSERTION, Family.TYPE, Family.VALUE, Family.LOOKUP, Family.TIMEOUT, Family.RECURSION, Family.ARITHMETIC)
_LONGEST, _MOST = 40, 16
_COMPOSED = (cst.Attribute, cst.Subscript, cst.Call, cst.BinaryOperation, cst.Integer, cst.SimpleString)


@template(cst.BaseExpression, strategy="names", prior=0.3, families=_ANY)
def reused_expression(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `len(b)`, `a[i]` → `a[j]`, `f(a)` → `b.c`: another expression of the function, of a like kind and place."""
    if site.definition is None or not _is_replaceable(node, site):
        return
    text, kind = site.code(node), site.kind(site.code(node))
    stock = [(code, place) for code, place in _stock(site) if code != text and code not in text]
    fitting = [item for item in stock if comparable(kind, site.kind(item[0]))]
    place = _place(node, site)
    ordered = sorted(fitting, key=lambda item: (item[1] != place, -round(similarity(text, item[0]), 1)))
    yield from site.replacements(node, dict.fromkeys(code for code, _ in ordered[:_MOST]), step=0.15)


@template(cst.BaseExpression, strategy="names", prior=0.35, families=_ANY)
def variable_for_expression(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`f(a)` → `b`, `a[i]` → `b`: what is computed again, or wrongly, is at hand as a variable."""
    if isinstance(node, (cst.Name, cst.Integer, cst.SimpleString)) or not _is_replaceable(node, site):
        return
    kind, text = site.kind(site.code(node)), site.code(node)
    names = [n for n in dict.fromkeys((*bound_in_statement(site), *site.live)) if comparable(kind, site.kind(n))]
    inside = [n for n in names if n in text]
    yield from site.replacements(node, [n for n in names if n not in inside] + inside, step=0.2)


@template(cst.AssignTarget, strategy="names", prior=0.35, families=_ANY)
def reused_target(node: cst.AssignTarget, site: Site) -> Iterator[Edit]:
    """`a[i, j] = b[j] + c` → `b[j] = b[j] + c`: the value belongs where the statement reads it from."""
    target, statement = site.code(node.target), site.parent(node)
    read = [n for n in site.body if isinstance(n, (cst.Subscript, cst.Attribute, cst.Name)) and n is not node.target]
    inner = [n for n in read if statement in site.ancestors(n) and is_read_place(n, site)]
    texts = dict.fromkeys(site.code(n) for n in inner)
    return site.tokens(node.target, [text for text in texts if text != target], step=0.3)


@template(cst.Name, strategy="names", prior=0.3, families=_ANY)
def whole_for_element(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`a` → `rows[i]`, `rows[-1]`: the element of a sequence in scope, in place of a variable of another meaning."""
    if not is_read(node, site) or isinstance(site.parent(node), (cst.Call, cst.Subscript, cst.Attribute)):
        return
    kind = site.kind(node.value)
    rows = [n for n in site.live if outer(site.kind(n)) in (SEQUENCE, TEXT)]
    fitting = [n for n in rows if n != node.value and comparable(kind, element(site.kind(n)))]
    indexes = [n for n in site.live if outer(site.kind(n)) == NUMBER and n != node.value]
    for name, worth in by_rank(fitting[:3]):
        for index, weight in by_rank((*indexes[:3], "0", "-1")):
            yield site.replace(node, f"{name}[{index}]", weight=worth * weight)


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
    return isinstance(node, (cst.Name, *_COMPOSED)) and not is_target(node, site)


def _stock(site: Site) -> list[tuple[str, str]]:
    """The function's expressions beyond plain names, and the place of each."""
    found: dict[str, str] = {}
    for node in site.body:
        if isinstance(node, _COMPOSED):
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


@template(cst.BaseExpression, strategy="calls", prior=0.33, families=_VALUES)
def missing_method(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`set(a)` → `set(a.lower())`; `for x in a` → `for x in a.items()`: by what kind of value it is."""
    if isinstance(node, (cst.BinaryOperation, cst.Integer)) or isinstance(site.parent(node), cst.Call):
        return
    if not _is_replaceable(node, site):
        return
    endings = _METHODS.get(outer(site.kind(site.code(node))), ())
    yield from site.replacements(node, (f"{site.operand(node, 15)}{ending}" for ending in endings))


@template(cst.Comparison, strategy="calls", prior=0.55, families=_VALUES)
def both_sides(node: cst.Comparison, site: Site) -> Iterator[Edit]:
    """`a == b` → `set(a) == set(b)`, `a.lower() == b.lower()`, `abs(a) < abs(b)`; `a == "AS"` → `a.upper() == "AS"`; `a in b` →
    `a.lower() in b.lower()`, `str(a) in map(str, b)`.
    """
    sign, sides = node.comparisons[0].operator, (node.left, node.comparisons[0].comparator)
    if len(node.comparisons) > 1 or isinstance(sign, (cst.Is, cst.IsNot)):
        return
    kinds = [outer(site.kind(site.code(side))) for side in sides]
    if isinstance(sign, (cst.In, cst.NotIn)):
        yield from _each_side(node, kinds[1], site)
        return
    for form, weight in by_rank(_WRAPS.get(kinds[0] or kinds[1], _WRAPS[""])):
        upper = form == "{}.lower()" and any(isinstance(n, cst.SimpleString) and n.raw_value.isupper() for n in sides)
        one, other = (_wrapped(n, "{}.upper()" if upper else form, site) for n in sides)
        yield site.replace(node, f"{one} {site.code(sign)} {other}", weight=weight)


def _each_side(node: cst.Comparison, container: str, site: Site) -> Iterator[Edit]:
    """A membership with both sides converted: a text as a whole, or else each element."""
    left, sign, right = node.left, site.code(node.comparisons[0].operator), node.comparisons[0].comparator
    if may_be(container, TEXT):
        wholes = ((_wrapped(left, form, site), _wrapped(right, form, site)) for form in ("{}.lower()", "{}.strip()"))
        yield from site.replacements(node, (f"{one} {sign} {other}" for one, other in wholes))
    if container != TEXT:
        each = (f"{to}({site.code(left)}) {sign} map({to}, {site.code(right)})" for to in ("str", "int"))
        yield from site.replacements(node, each)


def _wrapped(node: cst.BaseExpression, form: str, site: Site) -> str:
    """An expression in a form; a text as what its method makes of it, `"a"` for `"A".lower()`."""
    method = form.removeprefix("{}.").removesuffix("()")
    if isinstance(node, cst.SimpleString) and method in ("lower", "upper", "strip") and "\\" not in node.value:
        return f"{node.prefix}{node.quote}{getattr(node.raw_value, method)()}{node.quote}"
    return form.format(site.operand(node, 15) if form.startswith("{}") else site.code(node))


_MEASURED = (cst.Name, cst.BinaryOperation, cst.Attribute, cst.Call)


@template(cst.BaseExpression, strategy="calls", prior=0.35, families=_VALUES)
def extreme_of_two(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`best = a` → `best = max(best, a)`; `max(rows)` → `max(best, a)`: a running extreme that forgot itself or the new one."""
    parent = site.parent(node)
    called = site.code(node.func) if isinstance(node, cst.Call) else ""
    call = called in ("min", "max")
    if isinstance(node, cst.BinaryOperation) and isinstance(parent, cst.BinaryOperation) and node.lpar:
        code = f"max({site.code(node)[1:-1]}, 0)"
        yield site.splice(*site.region.outer_span(node), code, around=site.region.span(parent))
    if not isinstance(parent, (cst.Assign, cst.Return, cst.Arg)) or not isinstance(node, _MEASURED):
        return
    if not may_be(site.kind(site.code(node)), NUMBER):
        return
    if isinstance(parent, cst.Arg) and (parent.star or parent.keyword is node):
        return
    if not call:
        bounded = (f"{name}({site.code(node)}, {bound})" for name, bound in (("max", 0), ("max", 1), ("min", 1)))
        yield from site.replacements(node, bounded, weight=0.5)
    names = [n for n in site.live if may_be(site.kind(n), NUMBER)][:4]
    pairs = list(combinations(names, 2)) if call else [(name, site.code(node)) for name in names]
    both = (called,) if call else ("max", "min")
    for (one, other), weight in by_rank([pair for pair in pairs if pair[0] != pair[1]], step=0.2):
        for name in both:
            yield site.replace(node, f"{name}({one}, {other})", weight=weight)


_SLICES = (Family.ASSERTION, Family.VALUE, Family.TYPE, Family.LOOKUP, Family.TIMEOUT, Family.RECURSION)
_WHOLES = (cst.Name, cst.Attribute, cst.Call, cst.ListComp, cst.Subscript, cst.List, cst.SimpleString)
_PLACES = (cst.Arg, cst.For, cst.CompFor, cst.Return, cst.Assign, cst.BinaryOperation, cst.Comparison)
_MORE = (cst.ComparisonTarget, cst.AugAssign, cst.Element, cst.Attribute, cst.Index)


@template(cst.BaseExpression, strategy="boundaries", prior=0.4, families=_SLICES)
def part_of_whole(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`f(a)` → `f(a[i:])`, `f(a[:n])`; `return [x for …]` → `return [x for …][1:]`; `a` → `a[::-1]`."""
    if not _is_whole(node, site):
        return
    near = [n for n in dict.fromkeys((*bound_in_statement(site), *site.live)) if outer(site.kind(n)) == NUMBER]
    unknown = [n for n in site.live if not site.kind(n)]
    fixed = ["1:", ":-1", "::-1", "1:-1", "2:", "::2", "1::2"]
    named = list(dict.fromkeys(_complements(site)))
    named += [bounds for name in (*near[:5], *unknown[:2]) for bounds in (f"{name}:", f":{name}")]
    more = [f"{name} + 1:" for name in near[:3]] + [f":{name} + 1" for name in near[:3]]
    known = 1.0 if outer(site.kind(site.code(node))) in (SEQUENCE, TEXT) else 0.6
    every = (*named[:4], *fixed[:4], *named[4:], *fixed[4:], *more)
    yield from site.replacements(node, (f"{site.operand(node, 15)}[{b}]" for b in every), weight=known, step=0.15)


def _complements(site: Site) -> Iterator[str]:
    """The other side of where the function cuts already: beside `a[:k]` there is often `a[k:]`."""
    for node in site.body:
        if isinstance(node, cst.Slice) and (node.lower is None) != (node.upper is None):
            bound = node.upper or node.lower
            assert bound is not None, "one of them is there"
            yield from (f"{site.code(bound)}:", f":{site.code(bound)}")


def _is_whole(node: cst.BaseExpression, site: Site) -> bool:
    parent = site.parent(node)
    if not isinstance(node, _WHOLES) or not isinstance(parent, (*_PLACES, *_MORE)) or getattr(parent, "star", None):
        return False
    if is_target(node, site) or (isinstance(node, cst.Name) and not is_read(node, site)):
        return False
    if isinstance(parent, cst.Attribute) and not isinstance(node, (cst.Name, cst.Subscript)):
        return False
    return may_be(site.kind(site.code(node)), SEQUENCE, TEXT)


_ORDERING = (Family.ASSERTION, Family.TYPE, Family.VALUE)
_COUNTERPARTS = (
    ("min", "max"), ("any", "all"), ("sum", "len"), ("sum", "max"), ("sorted", "reversed"), ("sorted", "list"),
    ("list", "set"), ("list", "tuple"), ("enumerate", "range"), ("isinstance", "issubclass"),
    ("map", "filter"), ("floor", "ceil"), ("hasattr", "getattr"), ("str", "repr"), ("ord", "chr"),
    ("union", "intersection"),
)  # fmt: skip


@template(cst.Name, strategy="calls", prior=0.6, families=(*_ORDERING, Family.LOOKUP))
def counterpart(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`min` → `max`, `any` → `all`, `sum` → `len`, and back."""
    others = [b if node.value == a else a for a, b in _COUNTERPARTS if node.value in (a, b)]
    parent = site.parent(node)
    return site.tokens(node, others, around=parent if isinstance(parent, cst.Attribute) else None)
