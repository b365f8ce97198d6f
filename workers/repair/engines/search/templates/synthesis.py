"""Missing logic: a new condition, put where a statement, a test or a filter lacks it.

Condition synthesis: Nopol (Xuan et al. 2017), DynaMoth (Durieux and Monperrus 2016), ACS (Xiong et al. 2017); "insert
missed condition" of TBar (Liu et al. 2019). The conditions are those of `workers.repair.engines.search.predicates`. The space is
large and overfits, so every prior is low: these come when what is written has been tried.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site, wrapped
from workers.repair.engines.search.predicates import predicates
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.guards import exits
from workers.repair.engines.search.templates.names import bound_in_statement
from workers.repair.engines.search.type_inference import outer

_LOGIC = (Family.ASSERTION, Family.VALUE, Family.LOOKUP, Family.TYPE, Family.TIMEOUT, Family.RECURSION)

_FEW, _EXITS = 80, 5
"""Predicates and exits that are combined with each other."""


@template(cst.SimpleStatementLine, strategy="guards", prior=0.3, families=_LOGIC)
def conditioned_statement(node: cst.SimpleStatementLine, site: Site) -> Iterator[Edit]:
    """`f(a)` → `if a < b: f(a)`: what should not happen always."""
    if site.definition is None or site.siblings is None or isinstance(node.body[0], (cst.Import, cst.ImportFrom)):
        return
    text = site.code(node)
    if '"""' in text or "'''" in text:
        return  # more indentation would change the string
    body = [site.step + line for line in site.text_lines(node)]
    for condition, weight in predicates(site, near=text):
        yield site.rewrite((f"{site.indent}if {condition}:", *body), weight=weight)


@template(cst.CSTNode, strategy="guards", prior=0.3, families=_LOGIC)
def synthesised_condition(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`if a:` → `if a and b < c:`, `if a or b < c:`, `if b < c:`."""
    if not isinstance(node, (cst.If, cst.While, cst.IfExp, cst.CompIf)) or site.definition is None:
        return
    text = site.code(node.test)
    near = text if not isinstance(node, (cst.If, cst.While)) else f"{text} {site.code(node.body)[:200]}"
    for condition, weight in predicates(site, extra=bound_in_statement(site), near=near):
        if condition != text:
            yield site.replace(node.test, f"{wrapped(text, 4)} and {condition}", weight=weight)
            yield site.replace(node.test, f"{text} or {condition}", weight=weight * 0.9)
            yield site.replace(node.test, condition, weight=weight * 0.6)


@template(cst.CSTNode, strategy="guards", prior=0.22, families=_LOGIC)
def synthesised_exit(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`if a < b: return c` (or continue, break) before a statement, and behind the last one of a loop's body."""
    if node is not site.unit.node or site.definition is None or site.definition is node or site.siblings is None:
        return
    for condition, worth in predicates(site, near=site.code(node)[:200])[:_FEW]:
        for code, weight in fading(_exits(site)):
            yield from site.insert_before((f"if {condition}:", f"{site.step}{code}"), weight=worth * weight)
    looped = isinstance(site.parent(site.parent(node)), (cst.For, cst.While)) and site.siblings[-1] is node
    for condition, worth in predicates(site, near=site.code(node)[:200])[:_FEW] if looped else ():
        for code, weight in fading(_exits(site)):
            yield from site.insert_after((f"if {condition}:", f"{site.step}{code}"), weight=worth * weight * 0.9)


def _exits(site: Site) -> list[str]:
    """What is left with: as elsewhere in the function, and with what is at hand of the kind that is returned."""
    returned = {site.kind(site.code(n.value)) for n in site.body if isinstance(n, cst.Return) and n.value is not None}
    wanted = next(iter(returned)) if len(returned) == 1 else ""
    names = [f"return {name}" for name in site.live if wanted and site.kind(name) == wanted]
    truths = ["return False", "return True"] if wanted == "truth" else []
    return list(dict.fromkeys((*truths, *exits(site)[:_EXITS], *names)))[: _EXITS + 2]


@template(cst.CompFor, strategy="guards", prior=0.35, families=_LOGIC)
def synthesised_filter(node: cst.CompFor, site: Site) -> Iterator[Edit]:
    """`[x for x in a]` → `[x for x in a if x > b]`; `… if c` → `… if c and x > b`."""
    bound = [n.value for n in (node.target, *node.target.children) if isinstance(n, cst.Name)]
    bound += [
        n.value.value for n in node.target.children if isinstance(n, cst.Element) and isinstance(n.value, cst.Name)
    ]
    if node.inner_for_in is not None or site.definition is None:
        return
    for condition, weight in predicates(site, extra=bound, near=" ".join(bound)):
        if not node.ifs and any(name in condition for name in bound):
            yield site.token(node, f"{site.code(node)} if {condition}", weight=weight)


@template(cst.If, strategy="guards", prior=0.25, families=_LOGIC)
def missing_branch(node: cst.If, site: Site) -> Iterator[Edit]:
    """`if a: b` → `if a: b` `elif c: d`, where `d` is what another branch or a neighbour does, or its like."""
    if node.orelse is not None or site.siblings is None or not isinstance(node.body, cst.IndentedBlock):
        return
    bodies = dict.fromkeys(_simple_bodies(node, site))
    at = site.lines_of(node)[1]
    newline = "" if site.region.data[at - 1 : at] == b"\n" else "\n"
    for body, worth in fading(list(bodies)[:7]):
        text = f"{newline}{site.indent}else:\n{site.indent}{site.step}{body}\n"
        yield site.splice(at, at, text, weight=worth)
        for condition, weight in predicates(site, near=f"{site.code(node.test)} {body}")[:_FEW]:
            text = f"{newline}{site.indent}elif {condition}:\n{site.indent}{site.step}{body}\n"
            yield site.splice(at, at, text, weight=worth * weight)


def _simple_bodies(node: cst.If, site: Site) -> Iterator[str]:
    lines = [n for n in site.body if isinstance(n, cst.SimpleStatementLine) and site.region.has(n)]
    inside = [n for n in node.body.body if isinstance(n, cst.SimpleStatementLine)]
    for line in (*inside, *lines):
        text = site.code(line)
        if "\n" not in text and not isinstance(line.body[0], (cst.Import, cst.ImportFrom)) and text[:1] not in "\"'":
            yield text
            yield from _renamed(line.body[0], text, site)
            for one, other in ((" += ", " -= "), (" -= ", " += "), ("True", "False"), ("False", "True")):
                if one in text:
                    yield text.replace(one, other, 1)
    yield from (code for code in exits(site)[:4])


def _renamed(statement: cst.CSTNode, text: str, site: Site) -> Iterator[str]:
    """The statement done to another variable of the same kind: what the other branch counts or collects."""
    match statement:
        case cst.AugAssign(target=cst.Name(value=name)):
            pass
        case cst.Expr(value=cst.Call(func=cst.Attribute(value=cst.Name(value=name)))):
            pass
        case _:
            return
    same = [other for other in site.live if other != name and outer(site.kind(other)) == outer(site.kind(name))]
    yield from (other + text.removeprefix(name) for other in same[:3])
