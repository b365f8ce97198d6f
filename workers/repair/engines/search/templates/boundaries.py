"""Off by one: constants, indexes, slices, ranges, lengths.

"Change numeral" of ManySStuBs4J (Karampatsis and Sutton 2020); the "off-by-one" class of Pan et al. 2009 (IF-CC, AS-CE).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site, precedence
from workers.repair.engines.search.templates import template

_EDGES = (Family.ASSERTION, Family.VALUE, Family.LOOKUP, Family.RECURSION, Family.TIMEOUT, Family.ITERATION)

_SAMENESS = (cst.In, cst.NotIn, cst.Is, cst.IsNot)


def shifted(node: cst.BaseExpression, site: Site) -> Iterator[str]:
    """An expression one more and one less, and without a shift by one that it already has."""
    if isinstance(node, cst.Integer):
        yield from (str(int(node.value, 0) + 1), str(int(node.value, 0) - 1))
        return
    unit = isinstance(node, cst.BinaryOperation) and site.code(node.right) == "1"
    if isinstance(node, cst.BinaryOperation) and unit and isinstance(node.operator, (cst.Add, cst.Subtract)):
        yield site.code(node.left)
        yield f"{site.code(node.left)} {'-' if isinstance(node.operator, cst.Add) else '+'} 1"
        return
    inner = site.code(node) if precedence(site.code(node)) >= 11 else f"({site.code(node)})"
    yield from (f"{inner} + 1", f"{inner} - 1")


@template(cst.Integer, strategy="boundaries", prior=0.7, families=_EDGES)
def integer_by_one(node: cst.Integer, site: Site) -> Iterator[Edit]:
    """`3` → `4`, `2`; `a - 1` → `a` rather than `a - 0`."""
    parent = site.parent(node)
    for code in shifted(node, site):
        if code == "0" and isinstance(parent, cst.BinaryOperation) and _adds(parent, node):
            yield site.replace(parent, site.code(parent.left))
        elif not (isinstance(parent, cst.UnaryOperation) and code.startswith("-")):
            yield site.replace(node, code)


def _adds(sum_: cst.BinaryOperation, node: cst.BaseExpression) -> bool:
    return sum_.right is node and isinstance(sum_.operator, (cst.Add, cst.Subtract))


@template(cst.Subscript, strategy="boundaries", prior=0.7, families=_EDGES)
def index_by_one(node: cst.Subscript, site: Site) -> Iterator[Edit]:
    """`a[i]` → `a[i - 1]`, `a[i + 1]`; `a[0]` → `a[-1]` and back."""
    for element in node.slice:
        if isinstance(element.slice, cst.Index):
            value = element.slice.value
            text = site.code(value)
            if text in ("0", "-1"):
                yield site.replace(value, "-1" if text == "0" else "0", around=node)
            if not isinstance(value, (cst.Integer, cst.SimpleString, cst.UnaryOperation, cst.FormattedString)):
                for code in shifted(value, site):
                    yield site.replace(value, code, around=node, weight=0.8)


@template(cst.Slice, strategy="boundaries", prior=0.7, families=_EDGES)
def slice_bound(node: cst.Slice, site: Site) -> Iterator[Edit]:
    """`a[i:j]` → `a[i + 1:j]`, `a[-i:j]`, `a[i:]`, `a[:j]`, …; `a[:]` gets a bound."""
    lower, upper = (site.code(bound) if bound else "" for bound in (node.lower, node.upper))
    step = f":{site.code(node.step)}" if node.step else ""
    lowers = [*_bounds(node.lower, site), ""] if node.lower else ["1"]
    uppers = [*_bounds(node.upper, site), ""] if node.upper else ["-1"]
    for code in lowers:
        yield site.token(node, f"{code}:{upper}{step}", weight=1.0 if node.lower and code else 0.6)
    for code in uppers:
        yield site.token(node, f"{lower}:{code}{step}", weight=1.0 if node.upper and code else 0.6)
    if node.lower and not node.upper and not node.step:
        yield site.token(node, f":{lower}", weight=0.8)
    if node.upper and not node.lower and not node.step:
        yield site.token(node, f"{upper}:", weight=0.8)
    if not node.step:
        yield site.token(node, f"{lower}:{upper}:-1", weight=0.3)


@template(cst.BaseExpression, strategy="boundaries", prior=0.3, families=(Family.ASSERTION, Family.VALUE, Family.TYPE))
def missing_slice(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`float(text)` → `float(text[:-1])`, `for line in lines` → `for line in lines[1:]`: an end that does not belong."""
    if not isinstance(node, (cst.Name, cst.Attribute)):
        return
    parent = site.parent(node)
    passed = isinstance(parent, cst.Arg) and not parent.star and parent is _first_argument(site.parent(parent))
    looped = isinstance(parent, (cst.For, cst.CompFor)) and parent.iter is node
    if passed or looped:
        for bounds, weight in fading(("1:", ":-1", "1:-1")):
            yield site.replace(node, f"{site.code(node)}[{bounds}]", weight=weight if passed else 0.8 * weight)


def _first_argument(call: cst.CSTNode) -> cst.Arg | None:
    return call.args[0] if isinstance(call, cst.Call) and call.args else None


def _bounds(node: cst.BaseExpression, site: Site) -> Iterator[str]:
    """Other bounds than `node`: one off, or counted from the other end."""
    yield from shifted(node, site)
    if isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Integer)):
        yield f"-{site.code(node)}"
    elif isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        yield site.code(node.expression)


@template(cst.Call, strategy="boundaries", prior=0.8, families=_EDGES)
def range_bound(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`range(n)` → `range(n + 1)`, `range(n - 1)`, `range(1, n)`, `range(1, n + 1)`; likewise for both bounds and step."""
    if site.code(node.func) != "range" or any(arg.star or arg.keyword for arg in node.args):
        return
    values = [arg.value for arg in node.args]
    for value in values[:2]:
        for code in shifted(value, site):
            yield site.replace(value, code, around=node)
    texts = [site.code(value) for value in values]
    if len(texts) == 1:
        for code in (f"range(1, {texts[0]})", f"range(1, {site.operand(values[0], 11)} + 1)"):
            yield site.replace(node, code)
    if len(texts) == 2:
        yield site.replace(node, f"range({texts[1]})", weight=0.6)
        yield site.replace(node, f"range({texts[0]}, {texts[1]}, -1)", weight=0.5)
        yield site.replace(node, f"range({texts[1]}, {texts[0]}, -1)", weight=0.4)
    if len(texts) == 3:
        yield site.replace(node, f"range({texts[0]}, {texts[1]})", weight=0.5)


@template(cst.CSTNode, strategy="boundaries", prior=0.7, families=_EDGES)
def length_or_end(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """A length taken for an end, or an end for a length: `a[i : n]` → `a[i : i + n]`, `range(i, i + n)` → `range(i, n)`."""
    start, end = _start_and_end(node, site)
    if start is None or end is None or site.code(start) == "0":
        return
    texts = site.code(start), site.code(end)
    if isinstance(end, cst.BinaryOperation) and isinstance(end.operator, cst.Add):
        for one, other in ((end.left, end.right), (end.right, end.left)):
            if site.code(one) == texts[0]:
                yield site.replace(end, site.code(other), around=node)
    elif not (isinstance(start, cst.Integer) and isinstance(end, cst.Integer)) and texts[0] not in texts[1]:
        yield site.replace(end, f"{site.operand(start, 11)} + {site.operand(end, 12)}", around=node)


def _start_and_end(node: cst.CSTNode, site: Site) -> tuple[cst.BaseExpression | None, cst.BaseExpression | None]:
    if isinstance(node, cst.Slice):
        return node.lower, node.upper
    if isinstance(node, cst.Call) and site.code(node.func) == "range" and len(node.args) > 1:
        return node.args[0].value, node.args[1].value
    return None, None


@template(cst.BaseExpression, strategy="boundaries", prior=0.45, families=_EDGES)
def expression_by_one(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """A compared, returned, assigned or passed number one more or less: `a < b` → `a < b - 1`, `len(a)` → `len(a) - 1`."""
    if not isinstance(node, (cst.Name, cst.Call, cst.Attribute, cst.BinaryOperation, cst.Subscript)):
        return
    parent = site.parent(node)
    length = isinstance(node, cst.Call) and site.code(node.func) == "len"
    counted = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Subtract))
    compared = _by_amount(parent)
    if not (length or counted or compared or isinstance(parent, (cst.Return, cst.Assign, cst.AugAssign, cst.Arg))):
        return
    if isinstance(parent, cst.Arg) and parent.star:
        return
    weight = 1.0 if length or counted else 0.5 if compared or isinstance(parent, cst.Return) else 0.25
    for code in shifted(node, site):
        yield site.replace(node, code, weight=weight)


def _by_amount(parent: cst.CSTNode) -> bool:
    """Whether something is compared for more or less, rather than as a member or as the same thing."""
    if isinstance(parent, cst.ComparisonTarget):
        return not isinstance(parent.operator, _SAMENESS)
    return isinstance(parent, cst.Comparison) and not isinstance(parent.comparisons[0].operator, _SAMENESS)
