"""Missing guards, exceptions, and conditions that were never written.

"Insert missed null checker", "insert range checker", "insert missed condition" of TBar (Liu et al. 2019); IF-APC of Pan et
al. 2009; "change exception type" and TY-ARTC there; "handle exception" of PyTER (Oh and Oh 2022). Condition synthesis:
Nopol (Xuan et al. 2017), DynaMoth (Durieux and Monperrus 2016), ACS (Xiong et al. 2017), with the conditions of
`workers.repair.engines.search.predicates`. Guards and synthesis overfit easily, so their priors are low except for the errors
that they prevent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site, wrapped
from workers.repair.engines.search.predicates import predicates
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.calls import empties
from workers.repair.engines.search.templates.names import bound_in_statement
from workers.repair.engines.search.type_inference import outer

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


_UNTOLD = 0.4
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
    return 1.0 if site.failure.error_type.endswith("KeyError") else _UNTOLD


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


_ALL: tuple[Family, ...] = ()
_COMMON = (
    "ValueError",
    "TypeError",
    "KeyError",
    "IndexError",
    "AttributeError",
    "RuntimeError",
    "Exception",
    "NotImplementedError",
    "OSError",
    "StopIteration",
    "ZeroDivisionError",
    "LookupError",
)

_MOST_GUARDS = 120


def _own(site: Site) -> list[str]:
    return [
        name
        for name in (*site.module.classes, *site.module.imported)
        if name.endswith(("Error", "Exception", "Warning"))
    ]


@template(cst.CSTNode, strategy="statements", prior=0.6, families=_ALL)
def caught_type(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`except A:` → `except B:`, `except (A, B):`; what was really raised comes first."""
    if not isinstance(node, (cst.ExceptHandler, cst.ExceptStarHandler)) or node.type is None:
        return
    old = site.code(node.type).strip("()")
    told = (site.failure.error_type,) if site.failure.error_type in (*_COMMON, *_own(site)) else ()
    options = [name for name in dict.fromkeys((*told, *_own(site), *_COMMON)) if name not in old]
    for name, weight in fading(options):
        yield site.replace(node.type, name, weight=weight)
        yield site.replace(node.type, f"({old}, {name})", weight=weight * 0.9)


@template(cst.Raise, strategy="statements", prior=0.6, families=_ALL)
def raised_type(node: cst.Raise, site: Site) -> Iterator[Edit]:
    """`raise A(…)` → `raise B(…)`."""
    if node.exc is None:
        return
    name = node.exc.func if isinstance(node.exc, cst.Call) else node.exc
    options = [other for other in dict.fromkeys((*_own(site), *_COMMON)) if other != site.code(name)]
    for other, weight in fading(options):
        yield site.replace(name, other, weight=weight)


@template(
    cst.SimpleStatementLine,
    strategy="statements",
    prior=0.35,
    families=(
        Family.LOOKUP,
        Family.VALUE,
        Family.TYPE,
        Family.ATTRIBUTE,
        Family.ARITHMETIC,
        Family.IO,
        Family.ITERATION,
    ),
)
def handled_error(node: cst.SimpleStatementLine, site: Site) -> Iterator[Edit]:
    """`f()` → `try: f()` / `except E: return None`, for the error that was raised."""
    error = site.failure.error_type
    if error not in _COMMON or site.definition is None or "\n" in site.code(node):
        return
    body = [site.step + line for line in site.text_lines()]
    for code, weight in fading((*exits(site)[:6], "pass")):
        lines = (f"{site.indent}try:", *body, f"{site.indent}except {error}:", f"{site.indent}{site.step}{code}")
        yield site.rewrite(lines, weight=weight)


@template(cst.Expr, strategy="statements", prior=0.5, families=(Family.ASSERTION,))
def missing_raise(node: cst.Expr, site: Site) -> Iterator[Edit]:
    """`ValueError("…")` as a statement → `raise ValueError("…")`."""
    if isinstance(node.value, cst.Call) and site.code(node.value.func).endswith(("Error", "Exception")):
        yield site.token(node, f"raise {site.code(node.value)}")


@template(cst.CSTNode, strategy="guards", prior=0.5, families=(Family.ASSERTION, Family.OTHER))
def raising_guard(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`if n < 0: raise ValueError` before a statement, where a test waits for that error in vain."""
    wanted = [name for name in (*_own(site), *_COMMON) if name in site.clues.unraised]
    if node is not site.unit.node or site.definition is None or site.definition is node or not wanted:
        return
    raised = [site.code(n) for n in site.body if isinstance(n, cst.Raise) and wanted[0] in site.code(n)]
    own = [code for code in raised if wanted[0] not in _COMMON and "\n" not in code]  # it may need arguments
    error = own[0] if own else f"raise {wanted[0]}"
    for condition, weight in predicates(site, near=site.code(node)[:200])[:_MOST_GUARDS]:
        yield from site.insert_before((f"if {condition}:", f"{site.step}{error}"), weight=weight)


@template(cst.SimpleStatementLine, strategy="statements", prior=0.3, families=(Family.ASSERTION,))
def return_to_raise(node: cst.SimpleStatementLine, site: Site) -> Iterator[Edit]:
    """A `return` or `pass` where an error was expected → `raise E`."""
    wanted = [name for name in (*_own(site), *_COMMON) if name in site.failure.message]
    if wanted and isinstance(node.body[-1], (cst.Return, cst.Pass, cst.Continue)):
        yield site.token(node.body[-1], f"raise {wanted[0]}")


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
