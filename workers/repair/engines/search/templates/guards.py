"""Missing guards, exceptions, and conditions that were never written.

"Insert missed null checker", "insert range checker", "insert missed condition" of TBar (Liu et al. 2019); IF-APC of Pan et
al. 2009; "change exception type" and TY-ARTC there; "handle exception" of PyTER (Oh and Oh 2022). Condition synthesis:
Nopol (Xuan et al. 2017), DynaMoth (Durieux and Monperrus 2016), ACS (Xiong et al. 2017), with the conditions of
`workers.repair.engines.search.predicates`. Guards and synthesis overfit easily, so their priors are low except for the errors
that they prevent.
"""

import builtins
from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.edit_context import Edit, Site, wrapped
from workers.repair.engines.search.option_weights import by_rank
from workers.repair.engines.search.predicates import predicates
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import bound_in_statement

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
    known = (*site.variables, site.receiver)
    return tuple(n for n in {**found, **later} if n != site.receiver and n.partition(".")[0] in known)


_LITERALS = frozenset({"True", "False", "0", "-1", "1", "[]", "{}", "()", '""', "''", "set()", "0.0"})


def exits(site: Site) -> tuple[str, ...]:
    """Statements that leave early, in the order of what this function does elsewhere."""
    loop = ("continue", "break") if site.in_loop else ()
    if site.definition is None:
        return loop
    returns = [node.value for node in site.body if isinstance(node, cst.Return) and node.value is not None]
    texts = [site.code(value) for value in returns if not isinstance(value, cst.Call)]
    short = dict.fromkeys(f"return {text}" for text in texts if len(text) < 24)
    # What a function returns at its end, where nothing was found, is what it returns for nothing.
    fixed = [code for code in reversed(short) if code.removeprefix("return ") in _LITERALS]
    empty = [f"return {value}" for value in ("[]", "False", "0", '""', "{}", "True")]
    usual = dict.fromkeys((*fixed[:1], "return None", *loop, *short, *empty))
    return tuple("return" if code == "return None" and not returns else code for code in usual)


@template(cst.CSTNode, strategy="guards", prior=0.6, families=_NONE)
def none_guard(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`a.b` gets `if a is None: return` before it."""
    if node is site.unit.node:
        yield from _guarded(site, "if {} is None:")


@template(cst.CSTNode, strategy="guards", prior=0.45, families=(*_LOOKUPS, Family.ARITHMETIC, Family.RECURSION))
def empty_guard(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`a[0]` or `x / a` gets `if not a: return` before it."""
    if node is site.unit.node:
        yield from _guarded(site, "if not {}:")


def _guarded(site: Site, header: str) -> Iterator[Edit]:
    """Each value that the statement uses, asked for in `header`, with each way to leave early."""
    for rank, name in enumerate(used_values(site)[:5]):
        for code, weight in by_rank(exits(site), step=0.15):
            yield from site.insert_before((header.format(name), f"    {code}"), weight=weight / (1 + rank / 3))


@template(cst.SimpleStatementLine, strategy="guards", prior=0.4, families=(*_NONE, *_LOOKUPS, Family.ARITHMETIC))
def guarded_statement(node: cst.SimpleStatementLine, site: Site) -> Iterator[Edit]:
    """`f(a.b)` → `if a is not None: f(a.b)`, `if a:`; `x[k]` → `if k in x:`, `if k not in x:`."""
    del node
    if any("\n" in site.code(n) for n in site.unit.nodes() if isinstance(n, (cst.SimpleString, cst.FormattedString))):
        return  # more indentation would change the string
    values = used_values(site)[:4]
    conditions = [f"{name} is not None" for name in values] + list(values)
    keys = [n for n in site.unit.nodes() if isinstance(n, cst.Subscript) and isinstance(n.slice[0].slice, cst.Index)]
    conditions += [f"{site.code(n.slice[0])} {word} {site.code(n.value)}" for n in keys for word in ("in", "not in")]
    body = [site.step + line for line in site.text_lines()]
    for condition, weight in by_rank(conditions, step=0.15):
        yield site.rewrite((f"{site.indent}if {condition}:", *body), weight=weight)


@template(cst.Subscript, strategy="guards", prior=0.65, families=_LOOKUPS)
def subscript_to_get(node: cst.Subscript, site: Site) -> Iterator[Edit]:
    """`d[k]` → `d.get(k)`, `d.get(k, 0)`, …"""
    parent = site.parent(node)
    changed = isinstance(parent, cst.AugAssign) and parent.target is node
    stored = changed or isinstance(parent, (cst.AssignTarget, cst.Del))
    if not stored and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        key = site.code(node.slice[0])
        defaults = ("", ", 0", ", []", ', ""', ", {}", ", False", f", {key}", ", ()")
        yield from site.replacements(node, (f"{site.operand(node.value, 15)}.get({key}{d})" for d in defaults))


_COMMON = (
    "ValueError", "TypeError", "KeyError", "IndexError", "AttributeError", "RuntimeError", "Exception",
    "NotImplementedError", "OSError", "StopIteration", "ZeroDivisionError", "LookupError",
)  # fmt: skip

_MAX_GUARDS = 120


def _own(site: Site) -> list[str]:
    names = (*site.module.classes, *site.module.imported)
    return [name for name in names if name.endswith(("Error", "Exception", "Warning"))]


@template(cst.CSTNode, strategy="statements", prior=0.6)
def caught_type(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`except A:` → `except B:`, `except (A, B):`; what was really raised comes first."""
    if not isinstance(node, (cst.ExceptHandler, cst.ExceptStarHandler)) or node.type is None:
        return
    old = site.code(node.type).strip("()")
    raised = site.failure.error_type
    named = (raised,) if raised in (*vars(builtins), *_own(site)) else ()
    options = [name for name in dict.fromkeys((*named, *_own(site), *_COMMON)) if name not in old]
    place, around = site.region.outer_span(node.type), site.region.span(node.type)
    for name, weight in by_rank(options):
        both = (name, f"({old}, {name})")
        for code, worth in zip(both[::-1] if name in named else both, (1.0, 0.9), strict=True):
            yield site.splice(*place, code, weight=weight * worth, around=around)


@template(cst.Raise, strategy="statements", prior=0.6)
def raised_type(node: cst.Raise, site: Site) -> Iterator[Edit]:
    """`raise A(…)` → `raise B(…)`."""
    if node.exc is None:
        return
    name = node.exc.func if isinstance(node.exc, cst.Call) else node.exc
    yield from site.replacements(name, (o for o in dict.fromkeys((*_own(site), *_COMMON)) if o != site.code(name)))


@template(cst.CSTNode, strategy="guards", prior=0.5, families=(Family.ASSERTION, Family.OTHER))
def raising_guard(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`if n < 0: raise ValueError` before a statement, where a test waits for that error in vain."""
    wanted = [name for name in (*_own(site), *_COMMON) if name in site.clues.unraised]
    if node is not site.unit.node or site.definition is None or site.definition is node or not wanted:
        return
    raised = [site.code(n) for n in site.body if isinstance(n, cst.Raise) and wanted[0] in site.code(n)]
    own = [code for code in raised if wanted[0] not in _COMMON and "\n" not in code]  # it may need arguments
    error = own[0] if own else f"raise {wanted[0]}"
    for condition, weight in predicates(site, near=site.code(node)[:200])[:_MAX_GUARDS]:
        yield from site.insert_before((f"if {condition}:", f"{site.step}{error}"), weight=weight)


_LOGIC = (Family.ASSERTION, Family.VALUE, Family.LOOKUP, Family.TYPE, Family.TIMEOUT, Family.RECURSION)

_FEW, _EXITS = 80, 5
"""Predicates and exits that are combined with each other."""


@template(cst.SimpleStatementLine, strategy="guards", prior=0.25, families=_LOGIC)
def conditioned_statement(node: cst.SimpleStatementLine, site: Site) -> Iterator[Edit]:
    """`f(a)` → `if a < b: f(a)`: what should not happen always."""
    if site.definition is None or site.siblings is None or isinstance(node.body[0], (cst.Import, cst.ImportFrom)):
        return
    text = site.code(node)
    if '"""' in text or "'''" in text:
        return  # more indentation would change the string
    body = [site.step + line for line in site.text_lines()]
    asked = {site.code(each.test) for each in site.ancestors(node) if isinstance(each, (cst.If, cst.While))}
    for condition, weight in predicates(site, near=text):
        if not {condition, condition.removeprefix("not ")} & asked:  # its answer is known there
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


@template(cst.CSTNode, strategy="guards", prior=0.19, families=_LOGIC)
def synthesised_exit(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`if a < b: return c` (or continue, break) before a statement, and behind the last one of a loop's body."""
    if node is not site.unit.node or site.definition is None or site.definition is node or site.siblings is None:
        return
    conditions = predicates(site, near=site.code(node)[:200])[:_FEW]
    looped = isinstance(site.parent(site.parent(node)), (cst.For, cst.While)) and site.siblings[-1] is node
    for put, share in ((site.insert_before, 1.0), (site.insert_after, 0.9)) if looped else ((site.insert_before, 1.0),):
        for condition, worth in conditions:
            for code, weight in by_rank(_exits(site)):
                yield from put((f"if {condition}:", f"{site.step}{code}"), weight=worth * weight * share)


def _exits(site: Site) -> list[str]:
    """What is left with: as elsewhere in the function, and with what is at hand of the kind that is returned."""
    returned = {site.kind(site.code(n.value)) for n in site.body if isinstance(n, cst.Return) and n.value is not None}
    wanted = next(iter(returned)) if len(returned) == 1 else ""
    names = [f"return {name}" for name in site.live if wanted and site.kind(name) == wanted]
    truths = ["return False", "return True"] if wanted == "truth" else []
    return list(dict.fromkeys((*truths, *exits(site)[:_EXITS], *names)))[: _EXITS + 2]
