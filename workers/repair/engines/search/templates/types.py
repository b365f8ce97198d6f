"""Values of a type that was not thought of: a check that accepts too little, or that is missing.

Type checks are what most fixes of Python's TypeErrors add or widen (PyTER, Oh and Oh 2022); "mutate data type" of TBar
(Liu et al. 2019); a comparison with a foreign object is a class of its own in every linter (cf. pylint's eq rules).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading, likeness
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import TYPES

_ANY = (Family.TYPE, Family.ATTRIBUTE, Family.ASSERTION, Family.LOOKUP, Family.VALUE)
_COMPARING = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__sub__", "__or__", "__and__")


@template(cst.Call, strategy="guards", prior=0.5, families=_ANY)
def accepted_types(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`isinstance(a, int)` → `isinstance(a, (int, slice))`, `isinstance(a, Key)`; of several types one is dropped."""
    if site.code(node.func) not in ("isinstance", "issubclass") or len(node.args) != 2:
        return
    types = node.args[1].value
    named = [site.code(e.value) for e in types.elements] if isinstance(types, cst.Tuple) else [site.code(types)]
    known = (*TYPES, "slice", *site.module.classes)
    wider = [(*named, name) for name in known if name not in named]
    narrower = [tuple(name for name in named if name != left_out) for left_out in named if len(named) > 1]
    place, around = site.region.outer_span(types), site.region.span(node)
    other = [(name,) for name in (*site.module.classes, *site.module.imported) if [name] != named]
    for kept, weight in (*fading(wider, step=0.15), *fading(narrower, first=0.6), *fading(other, first=0.8)):
        code = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
        yield site.splice(*place, code, weight=weight, around=around)


@template(cst.CSTNode, strategy="guards", prior=0.6, families=(Family.ATTRIBUTE, Family.TYPE))
def foreign_operand(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`__eq__` and its like get `if not isinstance(other, Owner): return False` before all else."""
    function = site.function
    if function is None or function.signature.name not in _COMPARING or not _is_first(node, site):
        return
    for other in function.signature.parameters[:1]:
        for answer, weight in fading(("NotImplemented", "False", "True")):
            guard = f"if not isinstance({other}, {function.owner}):"
            yield from site.insert_before((guard, f"{site.step}return {answer}"), weight=weight)


@template(cst.CSTNode, strategy="guards", prior=0.35, families=_ANY)
def converted_parameter(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`if not isinstance(key, Key): key = Key(key)` before all else, for a class that is called like the parameter."""
    if site.function is None or not _is_first(node, site):
        return
    for name in site.function.signature.parameters:
        classes = [c for c in (*site.module.classes, *site.module.imported) if c[:1].isupper()]
        for kind, weight in fading(sorted(classes, key=lambda c: -likeness(c, name))[:2], step=0.5):
            if likeness(kind, name) >= 0.5:
                lines = (f"if not isinstance({name}, {kind}):", f"{site.step}{name} = {kind}({name})")
                yield from site.insert_before(lines, weight=weight * likeness(kind, name))


def _is_first(node: cst.CSTNode, site: Site) -> bool:
    """Whether a statement is the first of its function, but for the docstring."""
    body = site.definition.body if site.definition is not None else None
    if node is not site.unit.node or not isinstance(body, cst.IndentedBlock):
        return False
    statements = [n for n in body.body if not _is_text(n)]
    return bool(statements) and statements[0] is node


def _is_text(node: cst.CSTNode) -> bool:
    line = node.body[0] if isinstance(node, cst.SimpleStatementLine) else None
    return isinstance(line, cst.Expr) and isinstance(line.value, (cst.SimpleString, cst.ConcatenatedString))
