"""Conditions that ask too much, too little, or for nothing at all.

"More specific if" and "less specific if" of ManySStuBs4J (Karampatsis and Sutton 2020); "mutate conditional expression"
of TBar (Liu et al. 2019); condition synthesis by in-scope atoms after Nopol (Xuan et al. 2017), one atom at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading, likeness
from workers.repair.engines.search.edit_context import Edit, Site, below, wrapped
from workers.repair.engines.search.predicates import preconditions
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.constants import quoted

_LOGIC = (
    Family.ASSERTION,
    Family.VALUE,
    Family.LOOKUP,
    Family.TYPE,
    Family.ATTRIBUTE,
    Family.RECURSION,
    Family.TIMEOUT,
)


_MOST_NEEDED = 8
"""So many conditions that a block's code needs are tried in its test."""


def atoms(site: Site) -> tuple[str, ...]:
    """Short conditions at hand: those used elsewhere in the function, then its parameters and locals, plain and negated."""
    parts = [n for n in site.body if isinstance(n, (cst.Comparison, cst.Call, cst.Attribute)) and _asked(n, site)]
    used = dict.fromkeys(site.code(n) for n in parts if len(site.code(n)) <= 40)
    read = dict.fromkeys(site.code(n) for n in site.body if isinstance(n, cst.Attribute) and not _called(n, site))
    names = (*site.local_variables, *list(read)[:10])
    made = [code for name in names for code in (name, f"not {name}", f"{name} is None", f"{name} is not None")]
    return tuple(dict.fromkeys((*used, *made)))


def _called(node: cst.CSTNode, site: Site) -> bool:
    parent = site.parent(node)
    return isinstance(parent, (cst.Call, cst.AssignTarget)) and not isinstance(parent, cst.Arg)


def _asked(node: cst.CSTNode, site: Site) -> bool:
    return isinstance(
        site.parent(node), (cst.If, cst.While, cst.IfExp, cst.BooleanOperation, cst.UnaryOperation, cst.CompIf)
    )


@template(cst.BooleanOperation, strategy="guards", prior=0.55, families=_LOGIC)
def dropped_condition(node: cst.BooleanOperation, site: Site) -> Iterator[Edit]:
    """`a and b` → `a` or `b`."""
    yield site.replace(node, site.code(node.left))
    yield site.replace(node, site.code(node.right))


@template(cst.CSTNode, strategy="guards", prior=0.35, families=_LOGIC)
def extended_condition(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`if a:` → `if a and b:`, `if a or b:` with a condition at hand."""
    if not isinstance(node, (cst.If, cst.While, cst.IfExp, cst.CompIf)):
        return
    test = node.test
    text = site.code(test)
    for atom, weight in fading((a for a in atoms(site) if a != text), step=0.1):
        yield site.replace(test, f"{wrapped(text, 4)} and {wrapped(atom, 4)}", weight=weight)
        yield site.replace(test, f"{text} or {atom}", weight=weight * 0.9)
        yield site.replace(test, f"{wrapped(atom, 4)} and {wrapped(text, 4)}", weight=weight * 0.8)


@template(cst.CSTNode, strategy="guards", prior=0.4, families=(*_LOGIC, Family.NAME))
def replaced_condition(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`if a:` → `if b is None:`; `if a and b:` → `if a and c:`: a condition at hand, or one that the module asks elsewhere."""
    if isinstance(node, cst.BooleanOperation):
        tests = [test for test in (node.left, node.right) if not isinstance(test, cst.BooleanOperation)]
    elif isinstance(node, (cst.If, cst.While, cst.IfExp, cst.CompIf)):
        tests = [node.test]
    else:
        return
    ruled = {n.value for n in _ruled(node, site) if isinstance(n, cst.Name)} - {site.receiver}
    needed = preconditions(_ruled(node, site), site)[:_MOST_NEEDED]
    options = dict.fromkeys((*needed, *_asked_elsewhere(site), *atoms(site)))
    about = {code: (code in needed) + bool(ruled & set(re.findall(r"\w+", code))) for code in options}
    for test in tests:
        text = site.code(test)
        focus = 1.0 if not site.clues.undefined or site.clues.undefined in text else 0.3
        near = sorted(options, key=lambda code: -likeness(code, text) - about[code])
        for code, weight in fading((code for code in near if code != text), step=0.1):
            yield site.replace(test, code, weight=weight * focus)


def _ruled(node: cst.CSTNode, site: Site) -> Iterable[cst.CSTNode]:
    """The nodes of what a condition decides about; of a part of one, the whole statement."""
    return below(node.body) if isinstance(node, (cst.If, cst.While, cst.IfExp)) else site.unit.nodes()


def _asked_elsewhere(site: Site) -> list[str]:
    """The conditions of the module whose names are all in scope here."""
    return [asked.code for asked in site.usage.conditions if asked.names <= site.names]


@template(cst.Comparison, strategy="guards", prior=0.35, families=_LOGIC)
def another_alternative(node: cst.Comparison, site: Site) -> Iterator[Edit]:
    """`a == "s"` → `a in ("s", "x")`: a case that docstring or tests show and the code forgets."""
    compared = node.comparisons[0]
    if len(node.comparisons) > 1 or not isinstance(compared.comparator, cst.SimpleString):
        return
    word, old = {"==": "in", "!=": "not in"}.get(site.code(compared.operator), ""), site.code(compared.comparator)
    value = compared.comparator.evaluated_value
    shown = site.examples.characters if isinstance(value, str) and len(value) == 1 else site.examples.strings
    for other, weight in fading((s for s in shown if word and s != value), step=0.1):
        yield site.replace(node, f"{site.operand(node.left, 7)} {word} ({old}, {quoted(other, old)})", weight=weight)


@template(cst.CSTNode, strategy="guards", prior=0.25, families=_LOGIC)
def constant_condition(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`if a:` → `if True:`, `if False:`: a guard too many."""
    if isinstance(node, (cst.If, cst.IfExp, cst.CompIf)):
        yield site.replace(node.test, "True")
        yield site.replace(node.test, "False")


@template(cst.IfExp, strategy="guards", prior=0.4, families=_LOGIC)
def conditional_branches(node: cst.IfExp, site: Site) -> Iterator[Edit]:
    """`a if c else b` → `b if c else a`, `a`, `b`."""
    yield site.exchange(node.body, node.orelse, around=node)
    yield site.replace(node, site.code(node.body), weight=0.7)
    yield site.replace(node, site.code(node.orelse), weight=0.7)


@template(cst.If, strategy="guards", prior=0.3, families=_LOGIC)
def none_or_falsy(node: cst.If, site: Site) -> Iterator[Edit]:
    """`if a:` → `if a is not None:` and back: 0 and "" are not None."""
    text = site.code(node.test)
    if isinstance(node.test, (cst.Name, cst.Attribute)):
        yield site.replace(node.test, f"{text} is not None")
    for ending, negated in ((" is not None", ""), (" is None", "not ")):
        if text.endswith(ending):
            yield site.replace(node.test, negated + text.removesuffix(ending))
    if isinstance(node.test, cst.UnaryOperation) and isinstance(node.test.operator, cst.Not):
        yield site.replace(node.test, f"{site.code(node.test.expression)} is None")


@template(cst.CompFor, strategy="guards", prior=0.3, families=_LOGIC)
def comprehension_filter(node: cst.CompFor, site: Site) -> Iterator[Edit]:
    """`[f(x) for x in a]` → `[… if x]`, `[… if x is not None]`; a filter too many is dropped."""
    if node.ifs:
        first, last = site.region.span(node.ifs[0])[0], site.region.span(node.ifs[-1])[1]
        text, start = site.code(node), site.region.span(node)[0]
        if last - start == len(text.encode()):
            yield site.token(node, text.encode()[: first - start].decode().rstrip())
    names = [site.code(n) for n in (node.target, *node.target.children) if isinstance(n, cst.Name)]
    for condition, weight in fading(c for name in names for c in (name, f"{name} is not None", f"not {name}")):
        if not node.ifs and node.inner_for_in is None:
            yield site.token(node, f"{site.code(node)} if {condition}", weight=weight)
