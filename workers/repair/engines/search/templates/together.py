"""The same slip at every place: equal constants, names and operators replaced together, as one edit.

A quarter of real one-hunk fixes repeat one change (the "systematic edits" of Meng et al. 2011; repeated fixes in
ManySStuBs4J, Karampatsis and Sutton 2020): a wrong constant is copied, a wrong name is used throughout, a chain has
one operator. Within a function the replacements count as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.source_slice import Splice
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.constants import quoted
from workers.repair.engines.search.templates.names import alike, is_read

_VALUES = (Family.ASSERTION, Family.VALUE, Family.LOOKUP, Family.TYPE, Family.TIMEOUT, Family.NAME)
_OPPOSITE = {
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "==": ("!=",),
    "!=": ("==",),
    "in": ("not in",),
    "not in": ("in",),
}
_MOST, _FEW = 12, 5


def _edit(site: Site, nodes: Iterable[cst.CSTNode], codes: Iterable[str], weight: float, at: cst.CSTNode) -> Edit:
    splices = tuple(Splice(*site.region.span(n), code) for n, code in zip(nodes, codes, strict=True))
    return Edit(splices=splices, around=site.region.span(at), weight=weight)


def _equals(node: cst.CSTNode, site: Site) -> list[cst.CSTNode]:
    """The nodes of the function that are written alike; none unless there are several."""
    text = site.code(node)
    found = [n for n in site.body if type(n) is type(node) and site.region.has(n) and site.code(n) == text]
    found = [n for n in found if not isinstance(site.parent(n), cst.Expr)]
    return found if 1 < len(found) <= _MOST else []


@template(cst.Name, strategy="boundaries", prior=0.5, families=_VALUES)
def flipped_truths(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`True` and `False` change places throughout the function: the answer is the wrong way round."""
    if node.value not in ("True", "False") or site.definition is None:
        return
    truths = [n for n in site.body if isinstance(n, cst.Name) and n.value in ("True", "False")]
    returned = [n for n in truths if isinstance(site.parent(n), cst.Return)]
    for nodes in (returned, truths):
        if 1 < len(nodes) <= _MOST:
            yield _edit(site, nodes, ("False" if n.value == "True" else "True" for n in nodes), 1.0, node)


@template(cst.BaseNumber, strategy="boundaries", prior=0.4, families=_VALUES)
def number_everywhere(node: cst.BaseNumber, site: Site) -> Iterator[Edit]:
    """Every `3` of the function → `4`, `2`, or a number that docstring or tests show."""
    nodes = _equals(node, site)
    if nodes and isinstance(node, cst.Integer) and node.value.isdigit():
        near = [str(int(node.value) + 1), str(int(node.value) - 1)]
        options = dict.fromkeys((*near, *site.examples.numbers[:6]))
        others = [n for n in nodes if n is not node] if len(nodes) <= _FEW else []
        for code, weight in fading(option for option in options if option != node.value):
            yield _edit(site, nodes, [code] * len(nodes), weight, node)
            for other in others if len(nodes) > 2 else ():
                yield _edit(site, (node, other), (code, code), weight * 0.6, node)


@template(cst.SimpleString, strategy="boundaries", prior=0.4, families=_VALUES)
def string_everywhere(node: cst.SimpleString, site: Site) -> Iterator[Edit]:
    """Every `" "` of the function → `""`, another case, or a string that docstring or tests show."""
    nodes, value = _equals(node, site), node.evaluated_value
    if nodes and isinstance(value, str) and len(value) <= 30:
        shown = site.examples.characters if len(value) == 1 else site.examples.strings[:6]
        options = dict.fromkeys((value.strip(), "", " ", value.lower(), value.upper(), *shown))
        for code, weight in fading(quoted(option, node.value) for option in options if option != value):
            yield _edit(site, nodes, [code] * len(nodes), weight, node)


@template(cst.SimpleString, strategy="boundaries", prior=0.4, families=_VALUES)
def cased_strings(node: cst.SimpleString, site: Site) -> Iterator[Edit]:
    """`"yes" if a else "no"` → `"Yes" if a else "No"`: all words of the statement or function in another case."""
    words = [n for n in site.body if isinstance(n, cst.SimpleString) and site.region.has(n) and _is_word(n, site)]
    here = [n for n in site.unit.nodes() if isinstance(n, cst.SimpleString) and _is_word(n, site)]
    if node not in here[:1]:
        return
    for change, weight in ((str.capitalize, 1.0), (str.upper, 0.8), (str.lower, 0.8)):
        for nodes in (here, words):
            if 1 < len(nodes) <= _MOST:
                codes = [quoted(change(str(n.evaluated_value)), n.value) for n in nodes]
                yield _edit(site, nodes, codes, weight, node)


def _is_word(node: cst.SimpleString, site: Site) -> bool:
    value = node.evaluated_value
    return isinstance(value, str) and value.isalpha() and not isinstance(site.parent(node), cst.Expr)


@template(cst.Name, strategy="names", prior=0.4, families=_VALUES)
def name_everywhere(node: cst.Name, site: Site) -> Iterator[Edit]:
    """A variable read in the statement, or in the whole function, → another one at each of these places."""
    if not is_read(node, site) or node.value not in site.variables:
        return
    everywhere = [n for n in _equals(node, site) if isinstance(n, cst.Name) and is_read(n, site)]
    here = [n for n in site.unit.nodes() if isinstance(n, cst.Name) and n.value == node.value and is_read(n, site)]
    groups = [nodes for nodes in (here, everywhere) if len(nodes) > 1]
    for name, weight in fading(alike(node.value, site.local_variables)[:8], step=0.2) if groups else ():
        for nodes in groups:
            yield _edit(site, nodes, [name] * len(nodes), weight, node)


@template(cst.BooleanOperation, strategy="operators", prior=0.6, families=_VALUES)
def whole_chain(node: cst.BooleanOperation, site: Site) -> Iterator[Edit]:
    """`a and b and c` → `a or b or c` and back, its comparisons all turned round or not (De Morgan's slip)."""
    if isinstance(site.parent(node), cst.BooleanOperation):
        return
    operations = [n for n in (node, *_within(node)) if isinstance(n, cst.BooleanOperation)]
    signs = [n.operator for n in operations]
    flipped = ["or" if isinstance(n, cst.And) else "and" for n in signs]
    if len(signs) > 1:
        yield _edit(site, signs, flipped, 1.0, node)
    compared = _signs(node, site)
    for code in _OPPOSITE.get(site.code(compared[0]), ()) if len(compared) > 1 else ():
        same = [n for n in compared if site.code(n) == site.code(compared[0])]
        yield _edit(site, same, [code] * len(same), 0.7, node)
        yield _edit(site, [*same, *signs], [*[code] * len(same), *flipped], 0.5, node)


@template(cst.Comparison, strategy="operators", prior=0.45, families=_VALUES)
def comparison_everywhere(node: cst.Comparison, site: Site) -> Iterator[Edit]:
    """Every `<` of the function → `<=`, `>`; of a chain `a < b < c` both."""
    sign = site.code(node.comparisons[0].operator)
    nodes = [n for n in site.body if isinstance(n, cst.ComparisonTarget) and site.region.has(n)]
    same = [n.operator for n in nodes if site.code(n.operator) == sign]
    chained = [t.operator for t in node.comparisons if site.code(t.operator) == sign]
    for code, weight in fading(_OPPOSITE.get(sign, ())):
        for group in (chained, same):
            if 1 < len(group) <= _MOST:
                yield _edit(site, group, [code] * len(group), weight, node)


@template(cst.AugAssign, strategy="operators", prior=0.35, families=_VALUES)
def exchanged_signs(node: cst.AugAssign, site: Site) -> Iterator[Edit]:
    """`a += 1` in one branch and `a -= 1` in another change places."""
    signs = [n.operator for n in site.body if isinstance(n, cst.AugAssign)]
    both = [n for n in signs if isinstance(n, (cst.AddAssign, cst.SubtractAssign))]
    if len({type(n) for n in both}) == 2:
        yield _edit(site, both, ("-=" if isinstance(n, cst.AddAssign) else "+=" for n in both), 1.0, node)


def _signs(node: cst.BooleanOperation, site: Site) -> list[cst.CSTNode]:
    targets = [n for n in _within(node) if isinstance(n, cst.ComparisonTarget)]
    return [target.operator for target in targets if site.region.has(target.operator)]


def _within(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for child in node.children:
        yield child
        if not isinstance(child, cst.Lambda):
            yield from _within(child)
