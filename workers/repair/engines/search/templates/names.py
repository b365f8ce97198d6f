"""A variable used for another.

"Wrong variable identifier" of ManySStuBs4J (Karampatsis and Sutton 2020); variable misuse (Allamanis et al. 2018);
"mutate variable" of TBar (Liu et al. 2019).
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterator, Sequence

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading, likeness
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template

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
    receiver = site.receiver
    if node.value != receiver:
        options = (*bound_in_statement(site), *site.variables, *((receiver,) if receiver else ()))
        for name, weight in fading(alike(node.value, options)[:25], step=0.12):
            yield site.replace(node, name, weight=weight * focus)


@template(cst.Name, strategy="names", prior=0.6, families=(*_ANY, Family.ARITHMETIC))
def callable_misuse(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`f(x)` → `g(x)`: what the module calls with such arguments comes first, then the alike names, then the builtins."""
    call = site.parent(node)
    if not isinstance(call, cst.Call) or not _is_called(node, site):
        return
    given = tuple(site.code(arg) for arg in call.args)
    same = {other.name for other in site.usage.calls if other.arguments == given}
    as_many = {other.name for other in site.usage.calls if len(other.arguments) == len(given)}
    near = {n.value for n in site.body if isinstance(n, cst.Name)}
    fitting = _fitting(call, site)
    called = [name for name in site.variables if name in as_many]
    options = alike(node.value, (*fitting, *site.callables, *site.local_variables, *called, *_BUILTINS))
    evidence = {
        name: (name in same) * 4
        + (name in near) * 2
        + (name in as_many) * 2
        + (name in fitting)
        + (name not in _BUILTINS)
        for name in options
    }
    for name, weight in fading(sorted(options, key=lambda name: -evidence[name]), step=0.1):
        yield site.replace(node, name, weight=weight)


def _fitting(call: cst.Call, site: Site) -> tuple[str, ...]:
    """The builtins whose results are usual where this call's goes."""
    parent = site.parent(call)
    if isinstance(parent, (cst.For, cst.CompFor)):
        return ("enumerate", "zip", "range", "reversed", "sorted", "iter", "map", "filter", "list", "set")
    if isinstance(parent, (cst.If, cst.IfExp, cst.While, cst.BooleanOperation, cst.UnaryOperation, cst.CompIf)):
        return ("isinstance", "hasattr", "callable", "any", "all", "len", "issubclass", "getattr")
    return ("len", "list", "str", "tuple", "int", "sum", "set", "sorted", "next", "iter", "dict", "max", "min", "type")


@template(
    cst.Name, strategy="names", prior=0.4, families=(Family.ASSERTION, Family.TYPE, Family.VALUE, Family.ATTRIBUTE)
)
def type_misuse(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`isinstance(a, dict)` → `isinstance(a, list)`: "mutate data type" of TBar."""
    if node.value in TYPES and is_read(node, site) and not _is_called(node, site):
        for name, weight in fading(name for name in TYPES if name != node.value):
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


TYPES = ("str", "int", "list", "dict", "tuple", "float", "set", "bool", "bytes", "frozenset", "type", "object")
_ASKING = ("breakpoint", "compile", "copyright", "credits", "eval", "exec", "exit", "help", "input", "license", "quit")
_BUILTINS = tuple(
    name for name, value in vars(builtins).items() if callable(value) and name[0].islower() and name not in _ASKING
)
"""Builtin functions and types, but for those that read from a person or run a text."""
