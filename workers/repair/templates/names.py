"""A variable used for another.

"Wrong variable identifier" of ManySStuBs4J (Karampatsis and Sutton 2020); variable misuse (Allamanis et al. 2018);
"mutate variable" of TBar (Liu et al. 2019).
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Sequence

import libcst as cst

from memory.model import Family
from workers.repair.site import Edit, Site, fading, likeness
from workers.repair.templates import template

_ANY = (Family.ASSERTION, Family.NAME, Family.TYPE, Family.VALUE, Family.LOOKUP, Family.ATTRIBUTE, Family.RECURSION)


def is_read(node: cst.Name, site: Site) -> bool:
    """Whether a name is an expression of its own here: no attribute's name, keyword, parameter, target or import."""
    parent = site.parent(node)
    match parent:
        case cst.Attribute(attr=attr):
            return attr is not node
        case cst.Arg(keyword=word):
            return word is not node
        case cst.Param(default=default):
            return default is node
        case (
            cst.NamedExpr(target=target)
            | cst.AnnAssign(target=target)
            | cst.For(target=target)
            | cst.CompFor(target=target)
        ):
            return target is not node
    kinds = (cst.AssignTarget, cst.NameItem, cst.ImportAlias, cst.AsName, cst.FunctionDef, cst.ClassDef, cst.Annotation)
    return not isinstance(parent, kinds)


def alike(name: str, options: Sequence[str]) -> list[str]:
    """Other names, the most alike first; among equals, the nearest in scope."""
    others = [option for option in dict.fromkeys(options) if option != name]
    return sorted(others, key=lambda option: -round(likeness(name, option), 1))


def bound_in_statement(site: Site) -> list[str]:
    """Names that comprehensions and lambdas bind around here."""
    found = [n.target for n in site.unit.nodes() if isinstance(n, cst.CompFor)]
    names = [n for target in found for n in (target, *(e.value for e in getattr(target, "elements", ())))]
    parameters = [n.name for n in site.unit.nodes() if isinstance(n, cst.Param)]
    return [n.value for n in (*names, *parameters) if isinstance(n, cst.Name)]


@template(cst.Name, strategy="names", prior=0.7, families=_ANY)
def variable_misuse(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`a` → another variable in scope. When the error names an undefined one, that is the one to replace."""
    if not is_read(node, site) or keyword.iskeyword(node.value) or _is_called(node, site):
        return
    focus = 0.2 if site.clues.undefined and site.clues.undefined != node.value else 1.0
    receiver = site.function.receiver if site.function else ""
    if node.value != receiver:
        options = (*bound_in_statement(site), *site.variables, *((receiver,) if receiver else ()))
        for name, weight in fading(alike(node.value, options)[:25], step=0.12):
            yield site.replace(node, name, weight=weight * focus)


@template(cst.Name, strategy="names", prior=0.6, families=(Family.NAME, Family.ASSERTION, Family.TYPE))
def callable_misuse(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`f(x)` → `g(x)`: another function, class or parameter; a builtin when the name is undefined."""
    if not _is_called(node, site):
        return
    undefined = site.clues.undefined == node.value
    options = [*site.callables, *site.local_variables, *(_BUILTINS if undefined or node.value in _BUILTINS else ())]
    for name, weight in fading(alike(node.value, options)[:15], step=0.2):
        yield site.replace(node, name, weight=weight)


@template(cst.Name, strategy="names", prior=0.4, families=(Family.ASSERTION, Family.NAME, Family.TYPE, Family.TIMEOUT))
def wrong_target(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`a = f()` → `b = f()`: the value went into the wrong variable."""
    parent = site.parent(node)
    assigned = isinstance(parent, cst.AssignTarget) or (isinstance(parent, cst.AugAssign) and parent.target is node)
    looped = isinstance(parent, cst.For) and parent.target is node
    if assigned or looped or isinstance(site.parent(parent), cst.AssignTarget):
        for name, weight in fading(alike(node.value, site.local_variables)[:12]):
            yield site.token(node, name, weight=weight)


@template(cst.Name, strategy="names", prior=0.35, families=_ANY)
def variable_for_attribute(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`a` → `self.a`, `a.b` → `b`-like parts: a value taken from the object around, or from another one in scope."""
    if not is_read(node, site) or _is_called(node, site) or node.value not in site.variables:
        return
    function = site.function
    if function is not None and function.receiver:
        members = alike(node.value, site.module.members(function.owner))[:6]
        same = [node.value] if node.value in site.module.members(function.owner) else []
        for name, weight in fading((*same, *members)):
            yield site.replace(node, f"{function.receiver}.{name}", weight=weight)


@template(cst.CSTNode, strategy="names", prior=0.6, families=(Family.IMPORT, Family.ATTRIBUTE, Family.NAME))
def misnamed_definition(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`def totl` → `def total`, when that is the name that others ask for."""
    wanted = site.clues.imported or site.clues.attribute or site.clues.undefined
    if wanted and isinstance(node, (cst.FunctionDef, cst.ClassDef)) and node.name.value != wanted:
        yield site.token(node.name, wanted, weight=likeness(node.name.value, wanted))
    if wanted and isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Name) and site.function is None:
        yield site.token(node.target, wanted, weight=likeness(node.target.value, wanted))


def _is_called(node: cst.Name, site: Site) -> bool:
    parent = site.parent(node)
    return isinstance(parent, cst.Call) and parent.func is node


_BUILTINS = (
    *(
        "len",
        "sum",
        "min",
        "max",
        "abs",
        "sorted",
        "reversed",
        "enumerate",
        "zip",
        "range",
        "map",
        "filter",
        "any",
        "all",
    ),
    *("int", "float", "str", "bool", "list", "tuple", "dict", "set", "frozenset", "bytes", "round", "divmod", "pow"),
    *(
        "isinstance",
        "issubclass",
        "getattr",
        "hasattr",
        "setattr",
        "iter",
        "next",
        "repr",
        "print",
        "open",
        "type",
        "ord",
        "chr",
    ),
)
