"""Missing guards: None, emptiness, membership, zero.

"Insert missed null checker" and "insert range checker" of TBar (Liu et al. 2019); IF-APC, "addition of precondition
check", of Pan et al. 2009. Guards overfit easily, so their priors are low except for the errors that they prevent.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site, wrapped
from workers.repair.engines.search.templates import template

_NONE = (Family.ATTRIBUTE, Family.TYPE)
_LOOKUPS = (Family.LOOKUP, Family.ITERATION, Family.VALUE)


def used_values(site: Site) -> tuple[str, ...]:
    """Names and simple attributes that a statement reads a part of, calls upon, iterates over or passes on."""
    found: dict[str, None] = {}
    later: dict[str, None] = {}
    for node in site.unit.nodes():
        if isinstance(node, (cst.Attribute, cst.Subscript)) and isinstance(node.value, (cst.Name, cst.Attribute)):
            found[site.code(node.value)] = None
        elif isinstance(node, (cst.For, cst.CompFor)) and isinstance(node.iter, (cst.Name, cst.Attribute)):
            found[site.code(node.iter)] = None
        elif isinstance(node, (cst.BinaryOperation, cst.Comparison)) and isinstance(node.left, cst.Name):
            found[node.left.value] = None
        elif isinstance(node, cst.Arg) and isinstance(node.value, (cst.Name, cst.Attribute)):
            later[site.code(node.value)] = None
    receiver = site.receiver
    names = dict.fromkeys((*found, *later))
    known = (*site.variables, receiver)
    return tuple(name for name in names if name != receiver and name.partition(".")[0] in known)


_LITERALS = frozenset({"True", "False", "0", "-1", "1", "[]", "{}", "()", '""', "''", "set()", "0.0"})


def exits(site: Site) -> tuple[str, ...]:
    """Statements that leave early, in the order of what this function does elsewhere."""
    loop = ("continue", "break") if site.in_loop else ()
    if site.definition is None:
        return loop
    returns = [node.value for node in site.body if isinstance(node, cst.Return) and node.value is not None]
    short = dict.fromkeys(
        f"return {site.code(v)}" for v in returns if not isinstance(v, cst.Call) and len(site.code(v)) < 24
    )
    # What a function returns at its end, where nothing was found, is what it returns for nothing.
    fixed = [code for code in reversed(short) if code.removeprefix("return ") in _LITERALS]
    usual = dict.fromkeys(
        (
            *fixed[:1],
            "return None",
            *loop,
            *short,
            "return []",
            "return False",
            "return 0",
            'return ""',
            "return {}",
            "return True",
        )
    )
    return tuple("return" if code == "return None" and not returns else code for code in usual)


@template(cst.CSTNode, strategy="guards", prior=0.6, families=_NONE)
def none_guard(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`a.b` gets `if a is None: return` before it."""
    if node is site.unit.node:
        for rank, name in enumerate(used_values(site)[:5]):
            for code, weight in fading(exits(site), step=0.15):
                yield from site.insert_before((f"if {name} is None:", f"    {code}"), weight=weight / (1 + rank / 3))


@template(cst.CSTNode, strategy="guards", prior=0.45, families=(*_LOOKUPS, Family.ARITHMETIC, Family.RECURSION))
def empty_guard(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`a[0]` or `x / a` gets `if not a: return` before it."""
    if node is site.unit.node:
        for rank, name in enumerate(used_values(site)[:5]):
            for code, weight in fading(exits(site), step=0.15):
                yield from site.insert_before((f"if not {name}:", f"    {code}"), weight=weight / (1 + rank / 3))


@template(cst.CSTNode, strategy="guards", prior=0.45, families=(*_NONE, Family.VALUE))
def default_before(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`if a is None: a = []` before the first use."""
    if node is site.unit.node:
        for name in used_values(site)[:4]:
            for code, weight in fading(("[]", "{}", '""', "0", "set()")):
                yield from site.insert_before((f"if {name} is None:", f"    {name} = {code}"), weight=weight)


@template(cst.SimpleStatementLine, strategy="guards", prior=0.4, families=(*_NONE, *_LOOKUPS, Family.ARITHMETIC))
def guarded_statement(node: cst.SimpleStatementLine, site: Site) -> Iterator[Edit]:
    """`f(a.b)` → `if a is not None: f(a.b)`, `if a:`; `x[k]` → `if k in x:`, `if k not in x:`."""
    if any("\n" in site.code(n) for n in site.unit.nodes() if isinstance(n, (cst.SimpleString, cst.FormattedString))):
        return  # more indentation would change the string
    values = used_values(site)[:4]
    conditions = [f"{name} is not None" for name in values] + list(values)
    keys = [n for n in site.unit.nodes() if isinstance(n, cst.Subscript) and isinstance(n.slice[0].slice, cst.Index)]
    conditions += [f"{site.code(n.slice[0])} {word} {site.code(n.value)}" for n in keys for word in ("in", "not in")]
    body = [site.step + line for line in site.text_lines(node)]
    for condition, weight in fading(conditions, step=0.15):
        yield site.rewrite((f"{site.indent}if {condition}:", *body), weight=weight)


@template(cst.BaseExpression, strategy="guards", prior=0.5, families=_NONE)
def conditional_expression(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a.b` → `a.b if a is not None else None`; `a / b` → `a / b if b else 0`; `a[0]` → `a[0] if a else None`."""
    if isinstance(site.parent(node), (cst.Attribute, cst.Call, cst.AssignTarget, cst.Expr, cst.Decorator)):
        return
    base: cst.CSTNode = node
    while isinstance(base, (cst.Attribute, cst.Call, cst.Subscript)):
        base = base.func if isinstance(base, cst.Call) else base.value
        if isinstance(base, (cst.Name, cst.Attribute)) and site.code(base) in used_values(site):
            for default, weight in fading(("None", '""', "0", "[]", "False")):
                yield site.replace(
                    node, f"{site.code(node)} if {site.code(base)} is not None else {default}", weight=weight
                )
                yield site.replace(node, f"{site.code(node)} if {site.code(base)} else {default}", weight=weight * 0.8)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Divide, cst.FloorDivide, cst.Modulo)):
        for default, weight in fading(("0", "0.0", "None")):
            yield site.replace(
                node, f"{site.code(node)} if {wrapped(site.code(node.right), 3)} else {default}", weight=weight
            )


@template(cst.BaseExpression, strategy="guards", prior=0.5, families=(*_NONE, Family.VALUE, Family.ITERATION))
def default_value(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`for x in a:` → `for x in a or []:`; `f(a)` → `f(a or "")`."""
    if not isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)):
        return
    parent = site.parent(node)
    iterated = isinstance(parent, (cst.For, cst.CompFor)) and parent.iter is node
    read = isinstance(parent, (cst.Attribute, cst.Subscript)) and parent.value is node
    passed = isinstance(parent, (cst.Arg, cst.Return, cst.Assign)) and not getattr(parent, "star", "")
    if iterated or read or passed:
        defaults = ("[]", "{}", "()") if iterated else ('""', "{}", "[]", "0")
        for default, weight in fading(defaults, first=1.0 if iterated else 0.6):
            yield site.replace(node, f"{site.code(node)} or {default}", weight=weight)


@template(cst.Subscript, strategy="guards", prior=0.65, families=_LOOKUPS)
def subscript_to_get(node: cst.Subscript, site: Site) -> Iterator[Edit]:
    """`d[k]` → `d.get(k)`, `d.get(k, 0)`, …"""
    parent = site.parent(node)
    stored = isinstance(parent, (cst.AssignTarget, cst.Del)) or (
        isinstance(parent, cst.AugAssign) and parent.target is node
    )
    if not stored and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        key = site.code(node.slice[0])
        for default, weight in fading(("", ", 0", ", []", ', ""', ", {}", ", False", f", {key}", ", ()")):
            yield site.replace(node, f"{site.operand(node.value, 15)}.get({key}{default})", weight=weight)


@template(cst.AugAssign, strategy="guards", prior=0.75, families=_LOOKUPS)
def missing_first_value(node: cst.AugAssign, site: Site) -> Iterator[Edit]:
    """`d[k] += x` → `d[k] = d.get(k, 0) + x`, for the first time that a key is seen."""
    target = node.target
    if isinstance(target, cst.Subscript) and isinstance(target.slice[0].slice, cst.Index):
        key, sign = site.code(target.slice[0]), site.code(node.operator).removesuffix("=")
        for default, weight in fading(dict.fromkeys((_first_of(node.value), "0", "[]", '""', "1"))):
            got = f"{site.code(target.value)}.get({key}, {default})"
            yield site.token(node, f"{site.code(target)} = {got} {sign} {site.operand(node.value)}", weight=weight)


def _first_of(value: cst.BaseExpression) -> str:
    """What a value of this look is first added to."""
    if isinstance(value, (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)):
        return '""'
    return "[]" if isinstance(value, (cst.List, cst.ListComp)) else "0"


@template(cst.Call, strategy="guards", prior=0.55, families=(*_LOOKUPS, Family.ATTRIBUTE, Family.TYPE))
def call_default(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`d.pop(k)`, `next(i)`, `getattr(o, n)`, `d.get(k)`, `max(a)` get a default; `d.get(k)` → `d[k]`."""
    text = site.code(node.func)
    method = text.rpartition(".")[2]
    arguments = [site.code(arg) for arg in node.args]
    wanted = {"pop": 1, "next": 1, "getattr": 2, "get": 1}
    if method in wanted and len(arguments) == wanted[method]:
        for default, weight in fading(("None", "0", '""', "[]", "{}", "False")):
            yield site.replace(node, f"{text}({', '.join(arguments)}, {default})", weight=weight)
    if method in ("max", "min") and arguments and not any("default=" in a.replace(" ", "") for a in arguments):
        for default, weight in fading(("0", "None")):
            yield site.replace(node, f"{text}({', '.join(arguments)}, default={default})", weight=weight)
    if isinstance(node.func, cst.Attribute) and method == "get" and arguments:
        yield site.replace(node, f"{site.code(node.func.value)}[{arguments[0]}]", weight=0.6)
