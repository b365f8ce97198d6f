"""An attribute or method used for another, or `self.` left out.

"Change identifier used", "wrong function name" of ManySStuBs4J (Karampatsis and Sutton 2020).
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading, likeness
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import alike, is_read

_ANY = (Family.ATTRIBUTE, Family.ASSERTION, Family.TYPE, Family.NAME, Family.VALUE, Family.LOOKUP)

METHOD_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix"),
    ("lower", "upper", "title", "capitalize", "casefold", "swapcase"),
    ("startswith", "endswith"),
    ("find", "rfind", "index", "rindex"),
    ("split", "rsplit", "splitlines", "partition", "rpartition"),
    ("ljust", "rjust", "center", "zfill"),
    ("isdigit", "isnumeric", "isdecimal", "isalpha", "isalnum", "isspace", "isupper", "islower"),
    ("append", "extend", "add", "update", "insert", "appendleft", "push", "put"),
    ("remove", "discard", "pop", "popleft", "popitem", "clear"),
    ("keys", "values", "items"),
    ("get", "pop", "setdefault"),
    ("union", "intersection", "difference", "symmetric_difference"),
    ("issubset", "issuperset", "isdisjoint"),
    ("intersection_update", "difference_update", "symmetric_difference_update", "update"),
    ("sort", "reverse"),
    ("encode", "decode"),
    ("read", "readline", "readlines"),
    ("write", "writelines"),
    ("match", "search", "fullmatch", "findall", "finditer"),
    ("group", "groups", "groupdict", "start", "end", "span"),
    ("year", "month", "day"),
    ("hour", "minute", "second"),
    ("floor", "ceil", "trunc"),
    ("dump", "dumps"),
    ("load", "loads"),
    ("stdin", "stdout", "stderr"),
)
"""Methods that are easily taken for one another."""


def relatives(name: str) -> tuple[str, ...]:
    """The other members of a method's families."""
    return tuple(dict.fromkeys(m for family in METHOD_FAMILIES if name in family for m in family if m != name))


def _members(node: cst.Attribute, site: Site) -> Sequence[str]:
    function = site.function
    if function and function.receiver and site.code(node.value) == function.receiver:
        return site.module.members(function.owner)
    if not isinstance(node.value, cst.Name) or node.value.value in site.local_variables:
        return ()
    name = node.value.value
    own = site.module.members(name) if name in site.module.classes else site.project.definitions(name)
    return *site.usage.parts.get(name, ()), *own


def _beside(node: cst.Attribute, site: Site) -> list[str]:
    """Members of the project's classes that have this attribute, for an object of which no class is known.

    Classes that also have what else this function takes of the object come first; within one, the alike names.
    """
    name = node.attr.value
    base = site.code(node.value)
    taken = (n for n in site.body if isinstance(n, cst.Attribute) and site.code(n.value) == base)
    seen = {n.attr.value for n in taken} | {name}
    if site.clues.attribute == name:
        seen.discard(name)  # that it is not there is what the error says
    found = {id(scope): scope for other in seen for scope in site.project.classes_having(other)}
    ranked = sorted(found.values(), key=lambda scope: -len(seen & {*scope.attributes, *scope.methods}))
    members = (alike(name, (*scope.attributes, *scope.methods)) for scope in ranked)
    return list(dict.fromkeys(m for group in members for m in group if not m.startswith("_")))


@template(cst.Attribute, strategy="names", prior=0.7, families=_ANY)
def attribute_misuse(node: cst.Attribute, site: Site) -> Iterator[Edit]:
    """`self.a` → `self.b`: another of its class or of a class that has it, of the module's objects, or an alike builtin method."""
    name = node.attr.value
    focus = 0.2 if site.clues.attribute and site.clues.attribute != name else 1.0
    read = [n.attr.value for n in site.body if isinstance(n, cst.Attribute)]
    members = alike(name, _members(node, site))[:60] or [*alike(name, read)[:12], *_beside(node, site)[:24]]
    known = (*site.module.attributes, *(m for family in METHOD_FAMILIES for m in family))
    others = [option for option in alike(name, known)[:12] if likeness(name, option) >= 0.45]
    if site.clues.attribute == name:
        others = list(dict.fromkeys((*others, *alike(name, _class_members(site))[:12])))
    options = [option for option in dict.fromkeys((*members, *others)) if not option.startswith("__")]
    options = [*_same_of_base(node, site), *options]
    for option, weight in fading(options, step=0.12):
        yield site.token(node.attr, option, weight=weight * focus, around=node)


def _same_of_base(node: cst.Attribute, site: Site) -> list[str]:
    """`Base.close(self)` → `Base.__init__(self)` within `__init__`: a base's method is called by its own name."""
    call, function = site.parent(node), site.function
    if not isinstance(call, cst.Call) or not call.args or function is None or not function.receiver:
        return []
    name = function.signature.name
    return [name] if site.code(call.args[0]) == function.receiver and name != node.attr.value else []


def _class_members(site: Site) -> tuple[str, ...]:
    owner = site.clues.owner.rpartition(".")[2]
    if owner in site.module.classes:
        return site.module.members(owner)
    if isinstance(builtin := getattr(builtins, owner, None), type):
        return tuple(name for name in dir(builtin) if not name.startswith("_"))
    return tuple(m for scope in site.module.classes.values() for m in (*scope.attributes, *scope.methods))


@template(cst.Attribute, strategy="calls", prior=0.65, families=_ANY)
def method_misuse(node: cst.Attribute, site: Site) -> Iterator[Edit]:
    """`s.lstrip()` → `s.rstrip()`, `a.append(b)` → `a.extend(b)`: methods of one family."""
    for option, weight in fading(relatives(node.attr.value), step=0.15):
        yield site.token(node.attr, option, weight=weight, around=node)


@template(cst.Name, strategy="names", prior=0.7, families=(Family.NAME, Family.ASSERTION))
def missing_self(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`total` → `self.total`, where the class has it."""
    function = site.function
    if function is None or not function.receiver or not is_read(node, site):
        return
    undefined = site.clues.undefined == node.value
    if undefined or node.value in site.module.members(function.owner):
        yield site.replace(node, f"{function.receiver}.{node.value}", weight=1.0 if undefined else 0.6)
        yield site.replace(node, f"{function.owner}.{node.value}", weight=0.3)


@template(cst.AssignTarget, strategy="names", prior=0.5, families=_ANY)
def unset_attribute(node: cst.AssignTarget, site: Site) -> Iterator[Edit]:
    """`total = 0` → `self.total = 0`; `self._a = a` → the attribute that others read."""
    function = site.function
    if function is None or not function.receiver:
        return
    if isinstance(node.target, cst.Name):
        yield site.token(node.target, f"{function.receiver}.{node.target.value}")
    elif isinstance(node.target, cst.Attribute) and site.clues.attribute:
        yield site.token(
            node.target.attr, site.clues.attribute, weight=likeness(node.target.attr.value, site.clues.attribute)
        )


@template(cst.Attribute, strategy="names", prior=0.45, families=_ANY)
def attribute_base(node: cst.Attribute, site: Site) -> Iterator[Edit]:
    """`a.b` → `b`, `a`: an object taken for its part; `self.f` → `f`."""
    if isinstance(node.value, cst.Name) and not isinstance(site.parent(node), (cst.AssignTarget, cst.Decorator)):
        if node.attr.value in site.variables or node.attr.value in site.callables:
            yield site.replace(node, node.attr.value)
        yield site.replace(node, node.value.value, weight=0.4)


@template(cst.Name, strategy="names", prior=0.3, families=(Family.ASSERTION, Family.TYPE, Family.VALUE))
def missing_part(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`a` → `a.b`: a part that this function takes of the same or of an alike object elsewhere."""
    if node.value not in site.local_variables or not is_read(node, site):
        return
    if isinstance(site.parent(node), (cst.Attribute, cst.Call)) and not isinstance(site.parent(node), cst.Arg):
        return
    read = [n for n in site.body if isinstance(n, cst.Attribute) and isinstance(n.value, cst.Name)]
    own = [n.attr.value for n in read if site.code(n.value) == node.value]
    for part, weight in fading(dict.fromkeys((*own, *(n.attr.value for n in read)))):
        yield site.replace(node, f"{node.value}.{part}", weight=weight)
