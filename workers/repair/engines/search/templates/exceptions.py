"""Wrong exceptions: the type caught, raised, or a `try` that lacks.

"Change exception type" and TY-ARTC of Pan et al. 2009; "handle exception" patterns of PyTER (Oh and Oh 2022).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.predicates import predicates
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.guards import exits

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
    named = (site.failure.error_type,) if site.failure.error_type in (*_COMMON, *_own(site)) else ()
    options = [name for name in dict.fromkeys((*named, *_own(site), *_COMMON)) if name not in old]
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
