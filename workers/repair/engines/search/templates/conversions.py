"""Wrong types: a conversion missing, in excess, or to the wrong type.

"Mutate data type" of TBar (Liu et al. 2019); type errors are the commonest run-time errors of Python programs
(Oh and Oh 2022, PyTER).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template

_TYPES = (Family.TYPE, Family.ATTRIBUTE, Family.VALUE, Family.ASSERTION)
_CONVERTERS = (
    "int",
    "float",
    "str",
    "list",
    "tuple",
    "set",
    "sorted",
    "round",
    "bool",
    "dict",
    "bytes",
    "abs",
    "len",
    "Decimal",
    "repr",
)
_WRAPPERS = ("str", "int", "list", "float", "tuple", "set", "sorted", "round", "abs", "len", "bool", "dict")


@template(cst.BaseExpression, strategy="conversions", prior=0.55, families=_TYPES)
def missing_conversion(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `str(a)`, `int(a)`, `list(a)`, …"""
    if not _is_value(node, site):
        return
    order = dict.fromkeys((*_told(site.failure.message), *_by_context(node, site), *_WRAPPERS))
    focus = 1.0 if isinstance(node, (cst.Name, cst.Subscript, cst.Attribute, cst.Call)) else 0.6
    for name, weight in fading(order, step=0.15):
        yield site.replace(
            node, f"{name}({site.code(node) if not node.lpar else site.code(node)[1:-1]})", weight=weight * focus
        )


@template(cst.BaseExpression, strategy="conversions", prior=0.3, families=_TYPES)
def list_or_element(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `[a]`, `[]` → `[[]]`, `[a]` → `a`: one level of nesting too few or too many (type misuse of BugsInPy)."""
    if not isinstance(site.parent(node), (cst.Return, cst.Assign, cst.Element, cst.Arg, cst.BinaryOperation)):
        return
    if isinstance(node, cst.List) and len(node.elements) == 1 and isinstance(node.elements[0], cst.Element):
        yield site.replace(node, site.code(node.elements[0].value))
    if isinstance(node, (cst.List, cst.Name, cst.Call, cst.Tuple, cst.Subscript)):
        yield site.replace(node, f"[{site.code(node)}]", weight=1.0 if isinstance(node, cst.List) else 0.6)


def _told(message: str) -> list[str]:
    """The types that a TypeError names; a container met by a number is likely to lack its `len`."""
    named = [name for name in _WRAPPERS if f'"{name}"' in message or f"'{name}'" in message]
    container = any(f"'{name}'" in message for name in ("list", "dict", "set", "tuple", "str"))
    return ["len", *named] if container and "'int'" in message and '"' not in message else named


def _by_context(node: cst.CSTNode, site: Site) -> tuple[str, ...]:
    """What is likely wanted where the value goes: numbers where it is compared or counted, sequences where it is walked."""
    parent = site.parent(node)
    call = site.parent(parent) if isinstance(parent, cst.Arg) else None
    if isinstance(call, cst.Call) and site.code(call.func) in ("range", "min", "max", "abs", "round", "divmod", "pow"):
        return ("len", "int")
    if isinstance(parent, (cst.Comparison, cst.ComparisonTarget)):
        return ("len", "int", "str")
    if isinstance(parent, cst.BinaryOperation):
        return ("str", "len", "int") if isinstance(parent.operator, cst.Add) else ("len", "int", "float")
    if isinstance(parent, cst.AugAssign):
        return ("len", "int", "str", "list")
    if isinstance(parent, (cst.For, cst.CompFor)):
        return ("list", "sorted", "set", "range")
    return ("list", "int", "str", "tuple", "sorted")


def _is_value(node: cst.BaseExpression, site: Site) -> bool:
    parent = site.parent(node)
    kinds = (
        cst.Name,
        cst.Attribute,
        cst.Call,
        cst.Subscript,
        cst.BinaryOperation,
        cst.GeneratorExp,
        cst.ListComp,
        cst.Integer,
        cst.BooleanOperation,
    )
    if not isinstance(node, kinds) or isinstance(
        parent, (cst.AssignTarget, cst.Expr, cst.Decorator, cst.Attribute, cst.Param)
    ):
        return isinstance(node, kinds) and isinstance(parent, cst.Attribute) and parent.value is node
    if isinstance(parent, cst.Call) or (isinstance(parent, cst.Arg) and (parent.star or parent.keyword is node)):
        return False
    targets = (cst.AugAssign, cst.AnnAssign, cst.For, cst.CompFor, cst.NamedExpr)
    return not (isinstance(parent, targets) and parent.target is node)


@template(cst.Call, strategy="conversions", prior=0.6, families=_TYPES)
def wrong_conversion(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`int(a)` → `float(a)`, `round(a)`, `a`."""
    name = site.code(node.func)
    if name not in _CONVERTERS or len(node.args) != 1 or node.args[0].star:
        return
    yield site.replace(node, site.code(node.args[0].value))
    for other, weight in fading((c for c in _CONVERTERS if c != name), step=0.15):
        yield site.token(node.func, other, weight=weight, around=node)


@template(cst.Call, strategy="conversions", prior=0.45, families=(Family.ASSERTION, Family.ARITHMETIC, Family.VALUE))
def rounding(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`round(a)` → `round(a, 2)`, `int(a / b)` → `a // b`, and other precision."""
    name = site.code(node.func)
    if name == "round" and node.args:
        value = site.code(node.args[0].value)
        for digits, weight in fading(("", ", 1", ", 2", ", 3", ", 4")):
            yield site.replace(node, f"round({value}{digits})", weight=weight)
    inner = node.args[0].value if len(node.args) == 1 else None
    if (
        name in ("int", "math.floor", "floor")
        and isinstance(inner, cst.BinaryOperation)
        and isinstance(inner.operator, cst.Divide)
    ):
        yield site.replace(node, f"{site.operand(inner.left)} // {site.operand(inner.right)}")


@template(cst.BinaryOperation, strategy="conversions", prior=0.75, families=(Family.TYPE,))
def text_and_other(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`"n: " + n` → `"n: " + str(n)`; likewise `int(…)` on either side, and list with tuple."""
    if not isinstance(node.operator, (cst.Add, cst.Modulo, cst.Multiply, cst.Subtract)):
        return
    for name, weight in fading(("str", "int", "float", "list", "tuple")):
        for side in (node.right, node.left):
            if not isinstance(side, (cst.SimpleString, cst.FormattedString, cst.Integer)):
                yield site.replace(side, f"{name}({site.code(side)})", around=node, weight=weight)
    if isinstance(node.operator, cst.Add):
        yield site.replace(node.right, f"[{site.code(node.right)}]", around=node, weight=0.7)
        yield site.replace(node.left, f"[{site.code(node.left)}]", around=node, weight=0.5)


@template(cst.BaseExpression, strategy="conversions", prior=0.5, families=(Family.TYPE, Family.ATTRIBUTE))
def text_encoding(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `a.encode()`, `a.decode()`, and back; `"…"` → `b"…"`."""
    if (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in ("encode", "decode")
    ):
        yield site.replace(node, site.code(node.func.value))
        other = "decode" if node.func.attr.value == "encode" else "encode"
        yield site.token(node.func.attr, other, around=node)
    elif isinstance(node, cst.SimpleString) and not isinstance(site.parent(node), (cst.Expr, cst.ConcatenatedString)):
        yield site.token(
            node, node.value.lstrip("bB") if node.prefix.lower().startswith("b") else f"b{node.value}", weight=0.5
        )
    elif isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) and _is_value(node, site):
        named = "bytes" in site.failure.message
        for method in ("encode", "decode"):
            yield site.replace(node, f"{site.code(node)}.{method}()", weight=1.0 if named else 0.25)


@template(cst.BaseExpression, strategy="conversions", prior=0.35, families=_TYPES)
def element_or_whole(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `a[0]`, `a[1]`, `a[-1]`, `[a]`, `(a,)`; `a[0]` → `a`: one of many taken for the many."""
    if isinstance(node, cst.Subscript) and not isinstance(site.parent(node), (cst.AssignTarget, cst.Del)):
        yield site.replace(node, site.code(node.value), weight=0.8)
    if not _is_value(node, site) or not isinstance(node, (cst.Name, cst.Call, cst.Attribute)):
        return
    text = site.code(node)
    for code, weight in fading(
        (f"{text}[0]", f"[{text}]", f"{text}[-1]", f"{text}[1]", f"({text},)", f"{text}[:]", f"{text}[::-1]")
    ):
        yield site.replace(node, code, weight=weight)


@template(cst.Tuple, strategy="conversions", prior=0.3, families=_TYPES)
def single_element(node: cst.Tuple, site: Site) -> Iterator[Edit]:
    """`(a,)` → `a`."""
    if isinstance(site.parent(node), (cst.AssignTarget, cst.For, cst.CompFor, cst.Index, cst.Del)):
        return
    if len(node.elements) == 1:
        yield site.replace(node, site.code(node.elements[0].value))


@template(cst.BaseExpression, strategy="conversions", prior=0.45, families=_TYPES)
def swapped_elements(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`(a, b)` → `(b, a)`, `[a, b]` → `[b, a]`: neighbours of a short tuple, list or key change places."""
    if isinstance(site.parent(node), (cst.AssignTarget, cst.For, cst.CompFor, cst.Del)):
        return
    if isinstance(node, cst.Subscript) and 1 < len(node.slice) <= 6:
        for first, second in pairwise(node.slice):
            yield site.exchange(first.slice, second.slice, around=node)
    if isinstance(node, (cst.Tuple, cst.List)) and 1 < len(node.elements) <= 6:
        for one, other in pairwise(node.elements):
            if not isinstance(one, cst.StarredElement) and not isinstance(other, cst.StarredElement):
                yield site.exchange(one.value, other.value, around=node)
