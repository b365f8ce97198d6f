"""A part taken for the whole: a slice that is missing.

Off-by-a-slice belongs to the index and range faults of QuixBugs' and CodeFlaws' classes (Lin et al. 2017; Tan et al.
2017); "insert range" of PAR (Kim et al. 2013). Bounds are in-scope numbers and the constants that slices usually have.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import bound_in_statement, is_read
from workers.repair.engines.search.type_inference import NUMBER, SEQUENCE, TEXT, may_be, outer

_VALUES = (Family.ASSERTION, Family.VALUE, Family.TYPE, Family.LOOKUP, Family.TIMEOUT, Family.RECURSION)
_WHOLES = (cst.Name, cst.Attribute, cst.Call, cst.ListComp, cst.Subscript, cst.List, cst.SimpleString)
_PLACES = (cst.Arg, cst.For, cst.CompFor, cst.Return, cst.Assign, cst.BinaryOperation, cst.Comparison)
_MORE = (cst.ComparisonTarget, cst.AugAssign, cst.Element, cst.Attribute, cst.Index)


@template(cst.BaseExpression, strategy="boundaries", prior=0.4, families=_VALUES)
def part_of_whole(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`f(a)` → `f(a[i:])`, `f(a[:n])`; `return [x for …]` → `return [x for …][1:]`; `a` → `a[::-1]`."""
    if not _is_whole(node, site):
        return
    near = [n for n in dict.fromkeys((*bound_in_statement(site), *site.live)) if outer(site.kind(n)) == NUMBER]
    unknown = [n for n in site.live if not site.kind(n)]
    fixed = ["1:", ":-1", "::-1", "1:-1", "2:", "::2", "1::2"]
    named = list(dict.fromkeys(_complements(site)))
    named += [
        f"{name}{rest}" if not before else f":{name}" for name in (*near[:5], *unknown[:2]) for before, rest in _FORMS
    ]
    more = [f"{name} + 1:" for name in near[:3]] + [f":{name} + 1" for name in near[:3]]
    known = 1.0 if outer(site.kind(site.code(node))) in (SEQUENCE, TEXT) else 0.6
    for bounds, weight in fading((*named[:4], *fixed[:4], *named[4:], *fixed[4:], *more), step=0.15):
        yield site.replace(node, f"{site.operand(node, 15)}[{bounds}]", weight=weight * known)


_FORMS = (("", ":"), (":", ""))


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
    if isinstance(node, cst.Name) and not is_read(node, site):
        return False
    if isinstance(parent, (cst.AugAssign, cst.For, cst.CompFor)) and parent.target is node:
        return False
    if isinstance(parent, cst.Attribute) and not isinstance(node, (cst.Name, cst.Subscript)):
        return False
    return may_be(site.kind(site.code(node)), SEQUENCE, TEXT)
