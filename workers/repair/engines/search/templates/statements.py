"""Statements in excess, missing, in the wrong order or block; wrong jumps, missing returns.

"Remove buggy statement", "move statement", "mutate return statement" of TBar (Liu et al. 2019); "insert statement" of PAR
(Kim et al. 2013); SQ-AMO, SQ-RMO, LP-CC of Pan et al. 2009; deletion and swap are the operators of GenProg (Le Goues et al.
2012).
"""

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import permutations

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.option_weights import by_rank, similarity
from workers.repair.engines.search.source_slice import Splice
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.calls import empties
from workers.repair.engines.search.type_inference import MAPPING, NUMBER, SEQUENCE, SET, TEXT, element, outer

_OF_FILES = frozenset({"read", "readline", "readlines", "write", "writelines"})
_LONGEST_RUN = 3
_FLOW = (Family.ASSERTION, Family.TIMEOUT, Family.RECURSION, Family.LOOKUP, Family.ITERATION, Family.NAME, Family.VALUE)


def _position(site: Site) -> tuple[Sequence[cst.CSTNode], int]:
    siblings = site.siblings or ()
    return siblings, next((i for i, node in enumerate(siblings) if node is site.unit.node), -1)


def _is_statement(node: cst.CSTNode, site: Site) -> bool:
    is_unit = node is site.unit.node and site.siblings is not None
    return is_unit and not isinstance(node, (cst.FunctionDef, cst.ClassDef))


def _holds_long_string(node: cst.CSTNode, site: Site) -> bool:
    text = site.code(node)
    return '"""' in text or "'''" in text or "\\\n" in text


@template(cst.CSTNode, strategy="statements", prior=0.4, families=_FLOW)
def deleted_statement(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """A statement is dropped, or becomes `pass` where it is alone."""
    if not _is_statement(node, site):
        return
    siblings, _ = _position(site)
    simple = isinstance(node, cst.SimpleStatementLine)
    lines = () if len(siblings) > 1 else (f"{site.indent}pass",)
    yield site.rewrite(lines, weight=1.0 if simple else 0.5)


@template(cst.CSTNode, strategy="statements", prior=0.35, families=_FLOW)
def deleted_run(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """Two or three statements in a row are dropped: a step too many (the deletions of GenProg and of Kali, Qi et al. 2015)."""
    if not _is_statement(node, site):
        return
    siblings, index = _position(site)
    for length, weight in ((2, 1.0), (3, 0.6)):
        last = index + length - 1
        if last < len(siblings) and length < len(siblings):
            start, end = site.lines_of(node)[0], site.lines_of(siblings[last])[1]
            yield site.splice(start, end, "", weight=weight)


@template(cst.If, strategy="statements", prior=0.35, families=_FLOW)
def unwrapped_block(node: cst.If, site: Site) -> Iterator[Edit]:
    """`if a: b` → `b`: the statements without their condition."""
    if not _is_statement(node, site) or node.orelse or not isinstance(node.body, cst.IndentedBlock):
        return
    if not _holds_long_string(node, site):
        body = site.text_lines()[1:]
        lines = [line.removeprefix(site.step) for line in body]
        if all(line.startswith(site.indent) or not line.strip() for line in lines):
            yield site.rewrite(lines)


@template(cst.CSTNode, strategy="statements", prior=0.55, families=_FLOW)
def outdented_statement(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """The last statements of a block move out, behind it: a `return` that stood inside its loop."""
    siblings, index = _position(site)
    run = siblings[index:]
    if not _is_statement(node, site) or index < 1 or any(_holds_long_string(each, site) for each in run):
        return
    outer = site.parent(site.parent(node))
    if isinstance(outer, (cst.Else, cst.ExceptHandler, cst.Finally)):
        outer = site.parent(outer)
    if not isinstance(outer, (cst.For, cst.While, cst.If, cst.With, cst.Try)):
        return
    yield from _moved_out(site, outer, site.lines_of(outer)[1], run)


@template(cst.CSTNode, strategy="statements", prior=0.5, families=_FLOW)
def indented_statement(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """A statement moves into the block before it, as its last, alone or with those behind it."""
    siblings, index = _position(site)
    if not _is_statement(node, site) or index < 1 or _holds_long_string(node, site):
        return
    before = siblings[index - 1]
    inner = _last_block(before)
    if inner is not None:
        indent = site.text_before(inner.body[0])
        start = site.lines_of(node)[0]
        for last, weight in by_rank(siblings[index : index + _LONGEST_RUN], step=0.5):
            if indent.strip() or _holds_long_string(last, site):
                return
            lines = site.region.text(start, site.lines_of(last)[1]).splitlines()
            moved = [indent + line.removeprefix(site.indent) if line.strip() else line for line in lines]
            yield site.splice(start, site.lines_of(last)[1], "".join(f"{line}\n" for line in moved), weight=weight)


def _last_block(node: cst.CSTNode) -> cst.IndentedBlock | None:
    if isinstance(node, cst.If):
        while isinstance(node.orelse, cst.If):
            node = node.orelse
        body = node.orelse.body if node.orelse else node.body
        return body if isinstance(body, cst.IndentedBlock) else None
    if isinstance(node, (cst.For, cst.While, cst.With)):
        return node.body if isinstance(node.body, cst.IndentedBlock) and not getattr(node, "orelse", None) else None
    return None


def _moved_out(site: Site, outer: cst.CSTNode, at: int, run: Sequence[cst.CSTNode]) -> Iterator[Edit]:
    """Statements in a row at the indentation of one around them, at the offset `at`; the fewer the likelier."""
    indent = site.text_before(outer)
    if indent.strip() or not site.indent.startswith(indent):
        return
    removed = len(site.indent) - len(indent)
    start, end = site.lines_of(run[0])[0], site.lines_of(run[-1])[1]
    text = "".join(f"{line[removed:]}\n" for line in site.region.text(start, end).splitlines())
    weight = 1 / (1 + (len(run) - 1) / 2)
    if at <= start:
        yield site.splice(at, end, text + site.region.text(at, start), weight=weight)
    elif at >= end:
        kept = site.region.text(end, at)
        kept = kept if not kept or kept.endswith("\n") else f"{kept}\n"
        yield site.splice(start, at, kept + text, weight=weight)


@template(cst.CSTNode, strategy="statements", prior=0.35, families=_FLOW)
def hoisted_statement(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """The first statement of a block moves out, before it: an accumulator that was reset in its loop."""
    siblings, index = _position(site)
    outer = site.parent(site.parent(node))
    if not _is_statement(node, site) or index != 0 or len(siblings) < 2 or _holds_long_string(node, site):
        return
    if isinstance(outer, (cst.For, cst.While, cst.If, cst.With)):
        yield from _moved_out(site, outer, site.lines_of(outer)[0], (node,))


@template(cst.CSTNode, strategy="statements", prior=0.27, families=_FLOW)
def missing_statement(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`n += 1`, `n -= 1`, `rows.append(x)`, `a = b`, `rows.sort()` before or behind: the update that is missing."""
    if site.definition is None or node is not site.unit.node or isinstance(node, cst.FunctionDef):
        return
    for text, weight in by_rank(list(_updates(site))[:40], step=0.12):
        if isinstance(node, cst.SimpleStatementLine):
            yield from site.insert_before((text,), weight=weight)
        if not _ends_in_a_jump(node):
            yield from site.insert_after((text,), weight=weight)


def _updates(site: Site) -> Iterator[str]:
    indexes = {site.code(n.value) for n in site.body if isinstance(n, cst.Index)}
    kinds = {name: outer(site.kind(name)) or (NUMBER if name in indexes else "") for name in site.live}
    for name, kind in kinds.items():
        same = [other for other in kinds if other != name and kinds[other] == kind]
        if kind == NUMBER:
            updates = ("+= 1", "-= 1", "+= 2", "//= 2", "/= 2", "= 0", "= 1")
            yield from (f"{name} {update}" for update in updates)
            yield from (f"{name} {sign} {other}" for other in same for sign in ("+=", "-=", "="))
        elif kind == SEQUENCE:
            inner = element(site.kind(name))
            fitting = [other for other in kinds if other != name and (not inner or kinds[other] == outer(inner))]
            yield from (f"{name}.append({other})" for other in fitting)
            alike = [other for other in same if element(site.kind(other)) == inner]
            yield from (f"{name}.append({other}[{index}])" for other in alike for index in ("-1", "0"))
            yield from (f"{name}.sort()", f"{name}.reverse()", f"{name} = []")
        elif kind == TEXT:
            codes = (f"{name}.lower()", f"{name}.strip()", '""', f"{name}[::-1]")
            yield from (f"{name} = {code}" for code in codes)
        elif kind == MAPPING:
            others = [other for other in kinds if other != name][:4]
            yield from (f"{name}[{key}] = {value}" for key, value in permutations(others, 2))
        elif kind == SET:
            yield from (f"{name}.add({other})" for other in kinds if other != name)
        yield from (f"{name} = {other}" for other in same if kind != NUMBER)


@template(cst.SimpleStatementLine, strategy="statements", prior=0.25, families=_FLOW)
def repeated_statement(node: cst.SimpleStatementLine, site: Site) -> Iterator[Edit]:
    """A sibling block's statement that this one lacks: each simple statement of the function, put in before or behind."""
    del node
    small = [n for n in site.body if isinstance(n, cst.SimpleStatementLine) and n is not site.unit.node]
    texts = dict.fromkeys(site.code(n) for n in small if isinstance(n.body[0], (cst.Assign, cst.AugAssign, cst.Expr)))
    for rank, text in enumerate(t for t in texts if "\n" not in t and t[:1] not in "\"'"):
        weight = 1 / (1 + rank / 4)
        yield from site.insert_after((text,), weight=weight)
        yield from site.insert_before((text,), weight=weight * 0.9)


@template(cst.CSTNode, strategy="statements", prior=0.3, families=(*_FLOW, Family.IO, Family.OTHER))
def missing_call(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`f.seek(0)`, `self.flush()`, `rows.append(x)`: a call that the module makes elsewhere, or usual for a file."""
    if site.definition is None or not _is_statement(node, site) or site.siblings is None:
        return
    known = {*site.live, site.receiver, *site.callables, *site.module.modules}
    near = {site.code(n) for n in site.body if isinstance(n, cst.Expr)}
    fitting = [act for act in site.module.statement_calls if act.names <= known and len(act.code) < _LONGEST_CALL]
    fitting.sort(key=lambda act: (not act.names & {*site.live}, act.code in near))
    used = [n.func for n in site.body if isinstance(n, cst.Call) and isinstance(n.func, cst.Attribute)]
    files = dict.fromkeys(site.code(func.value) for func in used if func.attr.value in _OF_FILES)
    usual = [f"{file}.{call}" for file in files for call in ("seek(0)", "close()", "flush()")]
    for code, weight in by_rank(dict.fromkeys((*usual, *(act.code for act in fitting[:16]))), step=0.15):
        if not _ends_in_a_jump(node):
            yield from site.insert_after((code,), weight=weight)
        yield from site.insert_before((code,), weight=weight * 0.9)


@template(cst.FunctionDef, strategy="statements", prior=0.8, families=(Family.NAME,))
def missing_local(node: cst.FunctionDef, site: Site) -> Iterator[Edit]:
    """`rows = []` as a function's first statement, for a local that is not bound, or not always (UnboundLocalError)."""
    name = site.clues.undefined
    used = any(isinstance(n, cst.Name) and n.value == name for n in site.body)
    if site.unit.node is not node or not isinstance(node.body, cst.IndentedBlock) or not used:
        return
    documented = site.function is not None and ast.get_docstring(site.function.node) and len(node.body.body) > 1
    first = node.body.body[1 if documented else 0]
    indent, at = site.text_before(first), site.lines_of(first)[0]
    for value, weight in by_rank(empties(rf"\b{re.escape(name)}\b", site.code(node)), step=0.1):
        yield site.splice(at, at, f"{indent}{name} = {value}\n", weight=weight)


@template(cst.If, strategy="statements", prior=0.55, families=_FLOW)
def exchanged_branches(node: cst.If, site: Site) -> Iterator[Edit]:
    """`if a: b` / `else: c` → `if a: c` / `else: b`; `if a: b` / `elif c: d` → `if c: d` / `elif a: b`."""
    blocks = (node.body, node.orelse.body) if node.orelse else ()
    if blocks and all(isinstance(block, cst.IndentedBlock) for block in blocks):
        one, two = (_lines_within(block, site) for block in blocks)
        if two[0] > one[1]:
            exchanged = [(one, two)]
            if isinstance(node.orelse, cst.If):
                exchanged.append((site.region.outer_span(node.test), site.region.outer_span(node.orelse.test)))
            splices = [Splice(*a, site.region.text(*b)) for pair in exchanged for a, b in (pair, pair[::-1])]
            yield Edit(splices=tuple(splices), around=site.region.span(node))


def _lines_within(block: cst.BaseSuite, site: Site) -> tuple[int, int]:
    """Where the lines of an indented block begin and end, comments before its first statement included."""
    first, last = block.body[0], block.body[-1]
    start = site.lines_of(first)[0]
    for _ in getattr(first, "leading_lines", ()):
        start = site.region.line_start(start - 1)
    return start, site.lines_of(last)[1]


_CONTROL = (Family.ASSERTION, Family.TIMEOUT, Family.RECURSION, Family.LOOKUP, Family.VALUE, Family.ITERATION)


@template(cst.CSTNode, strategy="statements", prior=0.45, families=_CONTROL)
def wrong_branching(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`while` → `if` and back; `if` behind an `if` → `elif`, and `elif` → `if`."""
    if node is not site.unit.node or not isinstance(node, (cst.If, cst.While)):
        return
    start = site.region.span(node)[0]
    word = site.region.text(start, start + 5).partition(" ")[0]
    other = {"while": ("if",), "if": ("while", "elif"), "elif": ("if",)}.get(word, ())
    for code, weight in by_rank(other):
        if not (isinstance(node, cst.If) and node.orelse and code == "while"):
            around = (start, site.region.line_end(start))
            yield site.splice(start, start + len(word), code, weight=weight, around=around)


_ANY = (Family.ASSERTION, Family.TYPE, Family.ATTRIBUTE, Family.VALUE, Family.ITERATION, Family.RECURSION)
_LONGEST_CALL = 80


@template(cst.CSTNode, strategy="returns", prior=0.55, families=_ANY)
def missing_return(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`return total` behind a function's, a branch's or a loop's last statement."""
    siblings, index = _position(site)
    if node is not site.unit.node or site.definition is None or index < len(siblings) - 1 or _ends_in_a_jump(node):
        return
    receiver = (site.receiver,) if site.receiver else ()
    for code, weight in by_rank((*_at_hand(site), "True", "False", "None", *receiver), step=0.15):
        yield from site.insert_after((f"return {code}",), weight=weight)


@template(cst.Return, strategy="returns", prior=0.35, families=_ANY)
def returned_receiver(node: cst.Return, site: Site) -> Iterator[Edit]:
    """`return other`, `return` → `return self`: of an iterator, and of a method whose calls are chained."""
    changed = node.value is None or site.code(node.value) != site.receiver
    return site.tokens(node, [f"return {site.receiver}"] if site.receiver and changed else [])


def _ends_in_a_jump(node: cst.CSTNode) -> bool:
    last = node.body[-1] if isinstance(node, cst.SimpleStatementLine) and node.body else None
    return isinstance(last, (cst.Return, cst.Raise, cst.Continue, cst.Break))


def _at_hand(site: Site) -> list[str]:
    """What a function may give: the names that it assigns or takes, and what it makes of them."""
    return [*dict.fromkeys((*_assigned(site), *reversed(site.local_variables))), *_made(site)]


def _assigned(site: Site) -> list[str]:
    targets = [n.target for n in site.body if isinstance(n, (cst.AugAssign, cst.AssignTarget))]
    return list(dict.fromkeys(t.value for t in reversed(targets) if isinstance(t, cst.Name)))


def _made(site: Site) -> list[str]:
    """What a function may give that assigns nothing: the attribute that it is called like, a call of its parameters."""
    function = site.function
    if function is None or _assigned(site):
        return []
    name, parameters = function.signature.name, set(function.parameters)
    members = [m for m in site.module.members(function.owner) if m != name] if function.receiver else []
    called_like = sorted(members, key=lambda member: -similarity(member, name))[:4]
    calls = [call.code for call in site.module.calls if parameters & call.names and call.names <= site.names]
    return [*(f"{function.receiver}.{m}" for m in called_like), *(c for c in calls[:12] if len(c) < _LONGEST_CALL)]


@template(cst.FunctionDef, strategy="returns", prior=0.55, families=_ANY)
def missing_final_return(node: cst.FunctionDef, site: Site) -> Iterator[Edit]:
    """`return total` at the end of a function that falls off its end."""
    body = node.body.body
    if not isinstance(node.body, cst.IndentedBlock) or site.unit.node is not node or _ends_in_a_jump(body[-1]):
        return
    indent = site.text_before(body[0])
    at = site.lines_of(body[-1])[1]
    newline = "" if site.region.data[at - 1 : at] == b"\n" else "\n"
    receiver = (site.receiver,) if site.receiver else ()
    if not indent.strip():
        for code, weight in by_rank((*_at_hand(site), *receiver, "True", "False"), step=0.15):
            yield site.splice(at, at, f"{newline}{indent}return {code}\n", weight=weight)
