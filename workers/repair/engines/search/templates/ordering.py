"""Wrong order and aggregates: `key=`, `reverse=`, `min` for `max`.

Excess and missing keyword arguments, a sub-class of "same function more/less args" (Karampatsis and Sutton 2020).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.type_inference import MAPPING, NUMBER, SEQUENCE, SET, TEXT, element, may_be, outer

_VALUES = (Family.ASSERTION, Family.TYPE, Family.VALUE)
_ORDERED = ("sorted", "sort", "min", "max", "nlargest", "nsmallest")
_COUNTERPARTS = (
    ("min", "max"),
    ("any", "all"),
    ("sum", "len"),
    ("sum", "max"),
    ("sorted", "reversed"),
    ("sorted", "list"),
    ("list", "set"),
    ("list", "tuple"),
    ("enumerate", "range"),
    ("isinstance", "issubclass"),
    ("map", "filter"),
    ("floor", "ceil"),
    ("hasattr", "getattr"),
    ("str", "repr"),
    ("ord", "chr"),
    ("union", "intersection"),
)
_KEYS = ("len", "str", "abs", "str.lower", "lambda x: x[0]", "lambda x: x[1]", "lambda x: -x", "lambda x: x[-1]")


@template(cst.Call, strategy="calls", prior=0.5, families=_VALUES)
def sort_key(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`sorted(a)` → `sorted(a, key=…)` and back; a function or attribute in scope serves as key."""
    name = site.code(node.func).rpartition(".")[2]
    if name not in _ORDERED:
        return
    keyed = [arg for arg in node.args if arg.keyword and arg.keyword.value == "key"]
    others = [site.code(arg) for arg in node.args if arg not in keyed]
    func = site.code(node.func)
    if keyed:
        yield site.replace(node, f"{func}({', '.join(others)})")
    read = dict.fromkeys(f"lambda x: x.{a}" for a in site.module.attributes[:6])
    methods = (
        [f"{site.function.receiver}.{m}" for m in _methods(site)] if site.function and site.function.receiver else []
    )
    options = (*site.callables[:6], *methods, *_KEYS, *read, *site.local_variables[:4])
    for key, weight in fading(options, first=0.8, step=0.15):
        yield site.replace(node, f"{func}({', '.join([*others, f'key={key}'])})", weight=weight)


def _methods(site: Site) -> tuple[str, ...]:
    scope = site.module.classes.get(site.function.owner) if site.function else None
    return tuple(m for m in scope.methods if not m.startswith("__"))[:6] if scope else ()


@template(cst.Call, strategy="calls", prior=0.55, families=_VALUES)
def sort_direction(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`sorted(a)` → `sorted(a, reverse=True)` and back."""
    name = site.code(node.func).rpartition(".")[2]
    if name not in ("sorted", "sort"):
        return
    func = site.code(node.func)
    kept = [site.code(arg) for arg in node.args if not (arg.keyword and arg.keyword.value == "reverse")]
    if len(kept) < len(node.args):
        yield site.replace(node, f"{func}({', '.join(kept)})")
    else:
        yield site.replace(node, f"{func}({', '.join([*kept, 'reverse=True'])})")


@template(cst.Name, strategy="calls", prior=0.6, families=(*_VALUES, Family.LOOKUP))
def counterpart(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`min` → `max`, `any` → `all`, `sum` → `len`, and back."""
    others = [b if node.value == a else a for a, b in _COUNTERPARTS if node.value in (a, b)]
    for name, weight in fading(others):
        parent = site.parent(node)
        yield site.token(node, name, weight=weight, around=parent if isinstance(parent, cst.Attribute) else None)


@template(cst.BaseExpression, strategy="calls", prior=0.3, families=_VALUES)
def reordered(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `sorted(a)`, `reversed(a)`, `enumerate(a)`, `a.items()`: what a loop runs over."""
    parent = site.parent(node)
    if (
        isinstance(parent, (cst.For, cst.CompFor))
        and parent.iter is node
        and isinstance(node, (cst.Name, cst.Attribute, cst.Call))
    ):
        text = site.code(node)
        for code, weight in fading(
            (
                f"sorted({text})",
                f"reversed({text})",
                f"{text}.items()",
                f"{text}.values()",
                f"enumerate({text})",
                f"set({text})",
            )
        ):
            yield site.replace(node, code, weight=weight)


@template(cst.BaseExpression, strategy="calls", prior=0.35, families=_VALUES)
def sorted_by(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `sorted(a, key=len)`, `sorted(a, key=lambda x: d[x])`; ties by the value itself, and the greatest first."""
    parent = site.parent(node)
    taken = (
        isinstance(parent, (cst.Return, cst.Assign, cst.For, cst.CompFor, cst.Subscript))
        and getattr(parent, "target", None) is not node
    )
    passed = isinstance(parent, cst.Arg) and not parent.star and not parent.keyword
    if not isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.ListComp)) or not (taken or passed):
        return
    kind = site.kind(site.code(node))
    if not may_be(kind, SEQUENCE, SET, MAPPING, TEXT):
        return
    called = isinstance(node, cst.Call) and site.code(node.func) == "sorted" and len(node.args) == 1
    text = site.code(node.args[0].value) if isinstance(node, cst.Call) and called else site.code(node)
    for key, weight in fading(_keys(site, element(kind)), step=0.2):
        yield site.replace(node, f"sorted({text}, {key})", weight=weight)


def _keys(site: Site, kind: str) -> list[str]:
    tables = [f"key=lambda x: {name}[x]" for name in site.live if outer(site.kind(name)) == MAPPING]
    lengths = ["key=len", "key=lambda x: (len(x), x)", "key=lambda x: (-len(x), x)", "key=lambda x: (-len(set(x)), x)"]
    numbers = ["key=abs", "reverse=True", "key=lambda x: -x", "key=lambda x: (abs(x), x)"]
    parts = ["key=lambda x: x[1]", "key=lambda x: x[0]", "key=lambda x: (x[1], x[0])", "key=lambda x: (-x[1], x[0])"]
    groups = {NUMBER: (*tables, *numbers), TEXT: (*tables, *lengths, "key=str.lower", "reverse=True")}
    return list(groups.get(outer(kind), (*tables, *lengths[:3], *numbers[:2], *parts)))
