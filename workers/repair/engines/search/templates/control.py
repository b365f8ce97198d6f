"""Missing or wrong jumps: break, continue, early return; `if` for `while`, `elif` for `if`.

"Insert statement" of PAR (Kim et al. 2013); IF-CC, LP-CC of Pan et al. 2009.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.guards import exits

_FLOW = (Family.ASSERTION, Family.TIMEOUT, Family.RECURSION, Family.LOOKUP, Family.VALUE, Family.ITERATION)


@template(cst.CSTNode, strategy="statements", prior=0.5, families=_FLOW)
def missing_jump(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`break`, `continue` or an early return behind the last statement of a block in a loop or branch."""
    siblings = site.siblings
    if node is not site.unit.node or siblings is None or siblings[-1] is not node:
        return
    outer = site.parent(site.parent(node))
    if isinstance(outer, (cst.If, cst.Else, cst.ExceptHandler, cst.For, cst.While)):
        loop = ("break", "continue") if site.in_loop else ()
        for code, weight in fading(dict.fromkeys((*loop, *exits(site)[:6]))):
            yield from site.insert_after((code,), weight=weight)


@template(cst.BaseSmallStatement, strategy="statements", prior=0.55, families=_FLOW)
def wrong_jump(node: cst.BaseSmallStatement, site: Site) -> Iterator[Edit]:
    """`break` → `continue`, `return`, `pass`, and back."""
    if not isinstance(node, (cst.Break, cst.Continue, cst.Pass)) and not (
        isinstance(node, cst.Return) and not node.value
    ):
        return
    loop = ("break", "continue") if site.in_loop else ()
    options = [code for code in (*loop, *exits(site)[:6], "pass") if code != site.code(node).rstrip(";")]
    for code, weight in fading(dict.fromkeys(options)):
        yield site.token(node, code, weight=weight)


@template(cst.CSTNode, strategy="statements", prior=0.45, families=_FLOW)
def wrong_branching(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`while` → `if` and back; `if` behind an `if` → `elif`, and `elif` → `if`."""
    if node is not site.unit.node or not isinstance(node, (cst.If, cst.While)):
        return
    start = site.region.span(node)[0]
    word = site.region.text(start, start + 5).partition(" ")[0]
    other = {"while": ("if",), "if": ("while", "elif"), "elif": ("if",)}.get(word, ())
    for code, weight in fading(other):
        if not (isinstance(node, cst.If) and node.orelse and code == "while"):
            yield site.splice(
                start, start + len(word), code, weight=weight, around=(start, site.region.line_end(start))
            )


@template(cst.CSTNode, strategy="statements", prior=0.3, families=_FLOW)
def else_for_loop(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`for …: …` followed by `return a` → the same in the loop's `else`, and an `else` that goes."""
    if node is not site.unit.node or not isinstance(node, (cst.For, cst.While, cst.If)) or node.orelse is None:
        return
    orelse = node.orelse
    if isinstance(orelse, cst.Else) and isinstance(orelse.body, cst.IndentedBlock):
        text = site.region.text(*site.region.span(orelse))
        head, _, body = text.partition("\n")
        lines = [line.removeprefix(site.step) for line in body.splitlines()]
        if (
            head.strip().startswith("else:")
            and '"""' not in body
            and all(s.startswith(site.indent) or not s.strip() for s in lines)
        ):
            start, end = site.region.span(orelse)
            yield site.splice(site.region.line_start(start), end, "\n".join(lines))
