"""Wrong and missing returns, `yield` for `return`.

"Missing return" and "change return expression" (TBar: Liu et al. 2019, "mutate return statement"; MD-CHG of Pan et al. 2009).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading, likeness
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template

_ANY = (Family.ASSERTION, Family.TYPE, Family.ATTRIBUTE, Family.VALUE, Family.ITERATION, Family.RECURSION)
_LONGEST_CALL = 80


@template(cst.Expr, strategy="returns", prior=0.75, families=_ANY)
def expression_to_return(node: cst.Expr, site: Site) -> Iterator[Edit]:
    """`a + b` as a statement → `return a + b`; a call whose result is thrown away, too."""
    if site.definition is None or isinstance(node.value, (cst.SimpleString, cst.Yield, cst.Await, cst.Ellipsis)):
        return
    last = _is_last(site)
    yield site.token(node, f"return {site.code(node.value)}", weight=1.0 if last else 0.5)
    if isinstance(node.value, cst.Call) and isinstance(node.value.func, cst.Attribute):
        owner = node.value.func.value
        if isinstance(owner, (cst.Name, cst.Attribute, cst.Subscript)):
            yield site.token(node, f"{site.code(owner)} = {site.code(node.value)}", weight=0.6)


def _is_last(site: Site) -> bool:
    return bool(site.siblings) and site.siblings is not None and site.siblings[-1] is site.unit.node


@template(cst.CSTNode, strategy="returns", prior=0.55, families=_ANY)
def missing_return(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`return total` behind a function's, a branch's or a loop's last statement."""
    if node is not site.unit.node or site.definition is None or not _is_last(site) or _leaves(node):
        return
    names = dict.fromkeys((*_assigned(site), *reversed(site.local_variables)))
    receiver = (site.receiver,) if site.receiver else ()
    for code, weight in fading((*names, *_made(site), "True", "False", "None", *receiver), step=0.15):
        yield from site.insert_after((f"return {code}",), weight=weight)


def _leaves(node: cst.CSTNode) -> bool:
    last = node.body[-1] if isinstance(node, cst.SimpleStatementLine) and node.body else None
    return isinstance(last, (cst.Return, cst.Raise, cst.Continue, cst.Break))


def _assigned(site: Site) -> list[str]:
    targets = [n.target for n in site.body if isinstance(n, (cst.AugAssign, cst.AssignTarget))]
    return list(dict.fromkeys(t.value for t in reversed(targets) if isinstance(t, cst.Name)))


def _made(site: Site) -> list[str]:
    """What a function may give that assigns nothing: the attribute that it is called like, a call of its parameters."""
    function = site.function
    if function is None or _assigned(site):
        return []
    name, parameters = function.signature.name, set(function.parameters)
    members = [m for m in site.module.members(function.owner) if m != name] if function.receiver else []
    called_like = sorted(members, key=lambda member: -likeness(member, name))[:4]
    calls = [call.code for call in site.usage.calls if parameters & call.names and call.names <= site.names]
    return [*(f"{function.receiver}.{m}" for m in called_like), *(c for c in calls[:12] if len(c) < _LONGEST_CALL)]


@template(cst.FunctionDef, strategy="returns", prior=0.55, families=_ANY)
def missing_final_return(node: cst.FunctionDef, site: Site) -> Iterator[Edit]:
    """`return total` at the end of a function that falls off its end."""
    if not isinstance(node.body, cst.IndentedBlock) or site.unit.node is not node or _leaves(node.body.body[-1]):
        return
    first = node.body.body[0]
    start = site.region.span(first)[0]
    indent = site.region.text(site.region.line_start(start), start)
    at = site.lines_of(node.body.body[-1])[1]
    newline = "" if site.region.data[at - 1 : at] == b"\n" else "\n"
    names = dict.fromkeys((*_assigned(site), *reversed(site.local_variables)))
    receiver = (site.receiver,) if site.receiver else ()
    if not indent.strip():
        for code, weight in fading((*names, *_made(site), *receiver, "True", "False"), step=0.15):
            yield site.splice(at, at, f"{newline}{indent}return {code}\n", weight=weight)


@template(cst.Return, strategy="returns", prior=0.5, families=_ANY)
def return_value(node: cst.Return, site: Site) -> Iterator[Edit]:
    """`return a` → `return b`, `return not a`, `return a, b`, a constant."""
    old = site.code(node.value) if node.value else ""
    returned = [site.code(n.value) for n in site.body if isinstance(n, cst.Return) and n.value is not None]
    short = [text for text in returned if len(text) < 40]
    constants = ("None", "True", "False", "[]", "{}", '""', "0", "-1", "1")
    receiver = (site.receiver,) if site.receiver else ()
    options = dict.fromkeys((*_assigned(site), *site.local_variables, *receiver, *short, *constants))
    options.pop(old, None)
    for code, weight in fading(options, step=0.12):
        yield site.token(node, f"return {code}", weight=weight)


@template(cst.Return, strategy="returns", prior=0.35, families=(*_ANY, Family.LOOKUP))
def return_to_other(node: cst.Return, site: Site) -> Iterator[Edit]:
    """`return a` → `yield a`, `yield from a`, `raise a`, `x = a`; `return` → nothing."""
    if node.value is None:
        return
    value = site.code(node.value)
    yield site.token(node, f"yield {value}", weight=1.0)
    yield site.token(node, f"yield from {value}", weight=0.6)
    if isinstance(node.value, cst.Call) or value.endswith(("Error", "Exception")):
        yield site.token(node, f"raise {value}", weight=0.5)
    for name, weight in fading(site.local_variables[:6], first=0.4):
        yield site.token(node, f"{name} = {value}", weight=weight)


@template(cst.Yield, strategy="returns", prior=0.5, families=(*_ANY, Family.LOOKUP))
def yield_to_other(node: cst.Yield, site: Site) -> Iterator[Edit]:
    """`yield a` → `return a`, `yield from a`, and back."""
    if node.value is None or not isinstance(site.parent(node), cst.Expr):
        return
    spread = isinstance(node.value, cst.From)
    value = site.code(node.value.item if isinstance(node.value, cst.From) else node.value)
    yield site.token(node, f"yield {value}" if spread else f"yield from {value}")
    yield site.token(node, f"return {value}", weight=0.8)


@template(cst.Assign, strategy="returns", prior=0.3, families=_ANY)
def assignment_to_return(node: cst.Assign, site: Site) -> Iterator[Edit]:
    """`a = b` → `return b`, where nothing follows."""
    if site.definition is not None and _is_last(site):
        yield site.token(node, f"return {site.code(node.value)}")
