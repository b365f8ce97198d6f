"""Slips around classes and coroutines: `super().__init__()`, `await`, decorators.

PySStuBs (Kamienski et al. 2021) on `self` and initialisers; un-awaited coroutines: ruff RUF006, pylint's not-awaited class.
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


@template(
    cst.FunctionDef,
    strategy="calls",
    prior=0.7,
    families=(Family.ATTRIBUTE, Family.ASSERTION, Family.TYPE, Family.RECURSION),
)
def missing_super_init(node: cst.FunctionDef, site: Site) -> Iterator[Edit]:
    """`def __init__` gets `super().__init__(…)` as its first statement."""
    scope = site.module.classes.get(site.function.owner) if site.function else None
    is_constructor = (
        node.name.value == "__init__" and site.unit.node is node and isinstance(node.body, cst.IndentedBlock)
    )
    if not is_constructor or scope is None or not scope.bases or "super()" in site.code(node.body):
        return
    assert isinstance(node.body, cst.IndentedBlock)
    first = node.body.body[0]
    start = site.region.span(first)[0]
    indent = site.region.text(site.region.line_start(start), start)
    wanted = [
        p
        for f in site.module.functions
        if f.owner in scope.bases and f.signature.name == "__init__"
        for p in f.parameters
    ]
    own = site.function.parameters if site.function else ()
    shared = ", ".join(p for p in wanted if p in own)
    if not indent.strip():
        at = site.lines_of(first)[0]
        for arguments, weight in fading(dict.fromkeys((shared, "", ", ".join(own)))):
            yield site.splice(at, at, f"{indent}super().__init__({arguments})\n", weight=weight)


@template(cst.FunctionDef, strategy="names", prior=0.85, families=(Family.ATTRIBUTE,))
def missing_initialisation(node: cst.FunctionDef, site: Site) -> Iterator[Edit]:
    """`__init__` gets `self.attempts = 0` as its last statement: an attribute used before it is set (cf. pylint W0201).

    Only for the class and attribute that the error names; the value is judged by the attribute's uses.
    """
    attribute, body, function = site.clues.attribute, node.body, site.function
    fits = node.name.value == "__init__" and site.unit.node is node and isinstance(body, cst.IndentedBlock)
    if not (fits and attribute and function and function.owner in _lineage(site.clues.owner, site)):
        return
    assert isinstance(body, cst.IndentedBlock)
    start = site.region.span(body.body[-1])[0]
    last = site.lines_of(body.body[-1])
    indent = site.region.text(site.region.line_start(start), start)
    values = empties(rf"\.{re.escape(attribute)}\b", site.region.module.source)
    given = (attribute,) if attribute in function.parameters else ()
    leaves = site.code(body.body[-1]).startswith(("return", "raise"))
    for value, weight in fading((*given, *values), step=0.1):
        line = f"{indent}{function.receiver}.{attribute} = {value}\n"
        if not indent.strip():
            yield site.splice(*(last[0], last[0]) if leaves else (last[1], last[1]), line, weight=weight)


def _lineage(owner: str, site: Site) -> set[str]:
    """A class and its bases in this module."""
    found, queue = set[str](), [owner.rpartition(".")[2]]
    while queue:
        name = queue.pop()
        if name not in found and (scope := site.module.classes.get(name)):
            queue.extend(scope.bases)
        found.add(name)
    return found


@template(cst.Call, strategy="calls", prior=0.8, families=(Family.TYPE, Family.ATTRIBUTE, Family.ASSERTION))
def missing_await(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`f()` → `await f()` in an async function, and back."""
    parent = site.parent(node)
    if isinstance(parent, cst.Await):
        yield site.replace(parent, site.code(node), weight=0.6)
    elif site.function is not None and site.function.is_async:
        name = site.code(node.func).rpartition(".")[2]
        known = any(f.is_async and f.signature.name == name for f in site.module.functions)
        named = "coroutine" in site.failure.message
        yield site.replace(node, f"await {site.code(node)}", weight=1.0 if known else 0.6 if named else 0.2)


@template(cst.FunctionDef, strategy="statements", prior=0.4, families=(Family.TYPE, Family.ATTRIBUTE, Family.ASSERTION))
def decorator_misuse(node: cst.FunctionDef, site: Site) -> Iterator[Edit]:
    """A method gets or loses `@property`, `@staticmethod`, `@classmethod`."""
    if site.unit.node is not node or site.function is None or not site.function.owner:
        return
    for decorator in node.decorators:
        start, end = site.region.span(decorator)
        yield site.splice(site.region.line_start(start), site.region.line_end(end - 1), "")
    names = [parameter.name.value for parameter in node.params.params]
    options = {"": ("staticmethod",), "self": ("property",), "cls": ("classmethod",)}
    for name, weight in fading(options.get(names[0] if names else "", ("staticmethod",))):
        if not node.decorators and not node.name.value.startswith("__"):
            at = site.lines_of(node)[0]
            yield site.splice(at, at, f"{site.indent}@{name}\n", weight=weight)


@template(cst.FunctionDef, strategy="statements", prior=0.35, families=(Family.TYPE, Family.ATTRIBUTE))
def coroutine_or_function(node: cst.FunctionDef, site: Site) -> Iterator[Edit]:
    """`def f` → `async def f` and back."""
    if site.unit.node is not node:
        return
    start = site.region.span(node)[0]
    line = (start, site.region.line_end(start))
    if node.asynchronous is None:
        yield site.splice(start, start, "async ", around=line)
    else:
        yield site.splice(start, site.region.data.index(b"def", start), "", around=line)
