"""A dictionary without the entry that is asked for: the first of its key was never put in.

The usual KeyError of code that groups or counts: the first use of a key updates what is not there. Its fixes are the
library's own (`setdefault`, `get` with a default, `defaultdict`). Reads have `subscript_to_get` among the guards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.empties import empties

_UNNAMED = 0.4
"""What an edit is worth when the error is not a KeyError."""

_FIRST = {
    **dict.fromkeys(("append", "extend", "insert"), ("[]",)),
    **dict.fromkeys(("add", "discard"), ("set()",)),
    "update": ("{}", "set()"),
    "setdefault": ("{}",),
}
"""What a method that changes an entry needs the entry to be at first."""

_FACTORIES = {"[]": "list", "set()": "set", "{}": "dict", "0": "int", '""': "str"}


def _told(site: Site) -> float:
    return 1.0 if site.failure.error_type.endswith("KeyError") else _UNNAMED


@template(cst.Subscript, strategy="guards", prior=0.8, families=(Family.LOOKUP,))
def missing_entry(node: cst.Subscript, site: Site) -> Iterator[Edit]:
    """`d[k].append(x)` → `d.setdefault(k, []).append(x)`; `d[k][j] = x` → `d.setdefault(k, {})[j] = x`."""
    if len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        key = site.code(node.slice[0])
        for value, weight in fading(_first_values(node, site)):
            code = f"{site.operand(node.value, 15)}.setdefault({key}, {value})"
            yield site.replace(node, code, weight=weight * _told(site), around=site.parent(node))


def _first_values(node: cst.Subscript, site: Site) -> tuple[str, ...]:
    parent = site.parent(node)
    above = site.parent(parent)
    if isinstance(parent, cst.Attribute) and isinstance(above, cst.Call) and above.func is parent:
        return _FIRST.get(parent.attr.value, ())
    stored = isinstance(above, cst.AssignTarget) or (isinstance(above, cst.AugAssign) and above.target is parent)
    return ("{}",) if isinstance(parent, cst.Subscript) and parent.value is node and stored else ()


@template(cst.BaseExpression, strategy="guards", prior=0.7, families=(Family.LOOKUP,))
def plain_dictionary(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`groups = {}` → `groups = defaultdict(list)`, in a module that has it imported."""
    parent = site.parent(node)
    maker = "defaultdict" if "defaultdict" in site.module.imported else "collections.defaultdict"
    known = maker in site.module.imported or "collections" in site.module.modules
    if known and isinstance(parent, (cst.Assign, cst.AnnAssign)) and site.code(node) in ("{}", "dict()"):
        target = site.code(parent.targets[0].target if isinstance(parent, cst.Assign) else parent.target)
        source = site.region.module.source if "." in target else site.region.data.decode()
        values = empties(rf"\b{re.escape(target)}\[[^\]]*\]", source)
        for factory, weight in fading(_FACTORIES[value] for value in values if value in _FACTORIES):
            yield site.replace(node, f"{maker}({factory})", weight=weight * _told(site))
