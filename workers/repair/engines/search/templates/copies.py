"""Aliases where copies belong, changes to what is being iterated over, mutable defaults.

Mutable default arguments: pylint W0102, flake8-bugbear B006; modified iterables: bugbear B909; aliasing is the
reference-for-value class of Pan et al. 2009 (AS-CE).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template

_STATE = (Family.ASSERTION, Family.LOOKUP, Family.VALUE, Family.RECURSION, Family.TIMEOUT)
_EMPTY = ("[]", "{}", "set()", "list()", "dict()")


@template(cst.For, strategy="conversions", prior=0.5, families=(*_STATE, Family.OTHER))
def iterated_copy(node: cst.For, site: Site) -> Iterator[Edit]:
    """`for x in a:` → `for x in list(a):`, when the loop changes `a`."""
    text = site.code(node.iter)
    target = text.partition(".")[0] if text.endswith(")") else text
    changes = (
        f"{target}.remove",
        f"{target}.pop",
        f"{target}.append",
        f"del {target}",
        f"{target}[",
        f"{target}.discard",
    )
    changed = any(change in site.code(node.body) for change in changes)
    if isinstance(node.iter, (cst.Name, cst.Attribute, cst.Call)):
        yield site.replace(node.iter, f"list({text})", weight=1.0 if changed else 0.2)


@template(cst.BaseExpression, strategy="conversions", prior=0.4, families=_STATE)
def missing_copy(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`self.a = a` → `self.a = list(a)`, `a.copy()`, `dict(a)`, `copy.deepcopy(a)`; `[[0] * n] * m` → a comprehension."""
    if (
        isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Multiply)
        and isinstance(node.left, cst.List)
    ):
        yield site.replace(node, f"[{site.code(node.left)[1:-1]} for _ in range({site.code(node.right)})]")
    parent = site.parent(node)
    kept = isinstance(parent, (cst.Assign, cst.Return, cst.Arg, cst.DictElement)) and not getattr(parent, "star", "")
    if not kept or not isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
        return
    text = site.code(node)
    for code, weight in fading((f"list({text})", f"{text}.copy()", f"dict({text})", f"set({text})", f"{text}[:]")):
        yield site.replace(node, code, weight=weight * (1.0 if not isinstance(parent, cst.Arg) else 0.6))
    deep, lines = _deepcopy(site)
    edit = site.replace(node, f"{deep}({text})", weight=0.6)
    yield Edit(splices=edit.splices, around=edit.around, weight=edit.weight, imports=lines)


def _deepcopy(site: Site) -> tuple[str, tuple[str, ...]]:
    if "copy" in site.module.modules:
        return "copy.deepcopy", ()
    if "deepcopy" in site.module.imported:
        return "deepcopy", ()
    return "deepcopy", ("from copy import deepcopy",)


@template(cst.Call, strategy="conversions", prior=0.4, families=_STATE)
def superfluous_copy(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`a.copy()` → `a`, `copy.deepcopy(a)`: a copy too many, or too shallow a one."""
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "copy" and not node.args:
        text = site.code(node.func.value)
        yield site.replace(node, text)
        deep, lines = _deepcopy(site)
        edit = site.replace(node, f"{deep}({text})")
        yield Edit(splices=edit.splices, around=edit.around, weight=edit.weight, imports=lines)
    elif site.code(node.func) in ("copy.copy", "copy") and len(node.args) == 1:
        yield site.token(node.func, "copy.deepcopy" if "copy" in site.module.modules else "deepcopy", around=node)


@template(cst.FunctionDef, strategy="statements", prior=0.75, families=_STATE)
def mutable_default(node: cst.FunctionDef, site: Site) -> Iterator[Edit]:
    """`def f(a=[])` → `def f(a=None)` with `if a is None: a = []` as its first statement."""
    if not isinstance(node.body, cst.IndentedBlock) or site.unit.node is not node:
        return
    first = next((s for s in node.body.body if not _is_docstring(s)), node.body.body[0])
    at = site.lines_of(first)[0]
    start = site.region.span(first)[0]
    indent = site.region.text(site.region.line_start(start), start)
    for parameter in (*node.params.params, *node.params.kwonly_params):
        if parameter.default is not None and site.code(parameter.default) in _EMPTY and not indent.strip():
            name, value = parameter.name.value, site.code(parameter.default)
            header = site.token(parameter.default, "None")
            lines = f"{indent}if {name} is None:\n{indent}{site.step}{name} = {value}\n"
            body = site.splice(at, at, lines)
            yield Edit(splices=(*header.splices, *body.splices), around=site.region.span(parameter))


def _is_docstring(statement: cst.CSTNode) -> bool:
    inner = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    return isinstance(inner, cst.Expr) and isinstance(inner.value, (cst.SimpleString, cst.ConcatenatedString))
