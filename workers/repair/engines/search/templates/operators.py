"""Wrong operators, missing terms, and what is off by one.

"Change binary operator", "change numeral" of ManySStuBs4J (Karampatsis and Sutton 2020); the mutation operators ROR, AOR,
LOR and COR of Just et al. 2011, AOIS and AODU of Offutt et al. 1996, applied backwards; "off-by-one" of Pan et al. 2009.
Terms are in-scope values of the same kind, as in component-based synthesis (Jha et al. 2010; SemFix: Nguyen et al. 2013),
one operator deep.
"""

from collections.abc import Iterator
from typing import TypeGuard

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.edit_context import Edit, Site, precedence
from workers.repair.engines.search.option_weights import by_rank
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import bound_in_statement, is_target
from workers.repair.engines.search.type_inference import NUMBER, SEQUENCE, TEXT, comparable, outer

_VALUES = (Family.ASSERTION, Family.VALUE, Family.LOOKUP, Family.ARITHMETIC, Family.RECURSION, Family.TIMEOUT)

_COMPARISONS = {
    "<": ("<=", ">", ">=", "!=", "=="),
    "<=": ("<", ">=", ">", "==", "!="),
    ">": (">=", "<", "<=", "!=", "=="),
    ">=": (">", "<=", "<", "==", "!="),
    "==": ("!=", "<=", ">=", "in", "<", ">", "is"),
    "!=": ("==", "<", ">", "not in", "is not"),
    "in": ("not in", "=="),
    "not in": ("in", "!="),
    "is": ("is not", "=="),
    "is not": ("is", "!="),
}
_ARITHMETIC = {
    "+": ("-", "*", "/", "|"),
    "-": ("+", "*", "//", "/"),
    "*": ("+", "/", "**", "//", "%"),
    "/": ("//", "*", "%", "+"),
    "//": ("/", "%", "*", "+"),
    "%": ("//", "/", "*"),
    "**": ("*",),
    "@": ("*",),
    "&": ("|", "^", "and"),
    "|": ("&", "^", "or", "+"),
    "^": ("&", "|", "**"),
    "<<": (">>",),
    ">>": ("<<",),
}
_ORDERS = ("<", "<=", ">", ">=")
_TEXTS = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)
_COMPARING = (*_ORDERS, "==", "!=", "in", "not in")
_COMPUTING = ("+", "-", "*", "/", "//", "%", "**")


def _with_rest(near: dict[str, tuple[str, ...]], sign: str, every: tuple[str, ...]) -> tuple[str, ...]:
    """A sign's relatives, then all others that stand in such a place."""
    return tuple(code for code in dict.fromkeys((*near.get(sign, ()), *every)) if code != sign)


@template(cst.Comparison, strategy="operators", prior=0.9, families=(*_VALUES, Family.TYPE, Family.ITERATION))
def comparison_operator(node: cst.Comparison, site: Site) -> Iterator[Edit]:
    """`a < b` → `a <= b`, and the other comparisons; nearest relative first, an order of a named constant or a text last."""
    for target in node.comparisons:
        sign = site.code(target.operator)
        sides = (node.left, target.comparator)
        named = any(isinstance(side, _TEXTS) or site.code(side).rpartition(".")[2].isupper() for side in sides)
        signs = _with_rest(_COMPARISONS, sign, _COMPARING)
        last = _ORDERS if named and sign in ("==", "!=") else ()
        yield from site.tokens(target.operator, sorted(signs, key=last.__contains__), around=node)


_IDLE = {"0": ("+", "-", "|", "^", "<<", ">>"), "1": ("*", "/", "//", "**")}
"""Operators that make nothing of this right operand."""


@template(cst.BinaryOperation, strategy="operators", prior=0.7, families=(*_VALUES, Family.TYPE))
def arithmetic_operator(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`a + b` → `a - b`, and the other arithmetic and bitwise operators. The text decides the grouping, as in a slip.

    Never `a * 1`, which is `a`: other templates drop the operand.
    """
    text = isinstance(node.left, _TEXTS)
    formatting = text and isinstance(node.operator, cst.Modulo)
    idle = _IDLE.get(site.code(node.right), ())
    signs = (sign for sign in _with_rest(_ARITHMETIC, site.code(node.operator), _COMPUTING) if sign not in idle)
    return site.tokens(node.operator, () if formatting else signs, around=node)


@template(cst.AugAssign, strategy="operators", prior=0.85, families=(*_VALUES, Family.TYPE))
def augmented_operator(node: cst.AugAssign, site: Site) -> Iterator[Edit]:
    """`a += b` → `a -= b`, `a = b`; the last not where `a` is what the error misses, which would but silence it."""
    constructed = site.function is not None and site.function.signature.name == "__init__"
    missed = isinstance(node.target, cst.Attribute) and node.target.attr.value == site.clues.attribute
    first, *rest = (f"{sign}=" for sign in _with_rest(_ARITHMETIC, site.code(node.operator)[:-1], _COMPUTING))
    signs = [first, *([] if missed and not constructed else ["="]), *rest]
    return site.tokens(node.operator, (sign for sign in signs if sign not in ("and=", "or=")), around=node)


@template(cst.Assign, strategy="operators", prior=0.4, families=(Family.ASSERTION, Family.VALUE))
def assignment_to_augmented(node: cst.Assign, site: Site) -> Iterator[Edit]:
    """`a = b` → `a += b`, `a -= b`, `a |= b`: an accumulation that forgot what it had."""
    target = node.targets[0].target
    if len(node.targets) == 1 and isinstance(target, (cst.Name, cst.Attribute, cst.Subscript)):
        for sign, weight in by_rank(("+=", "-=", "*=", "|=")):
            code = f"{site.code(target)} {sign} {site.code(node.value)}"
            yield site.token(node, code, weight=weight)


@template(cst.BinaryOperation, strategy="operators", prior=0.6, families=_VALUES)
def swapped_operands(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`a - b` → `b - a`, for operators whose order matters ("swap operands": TBar 2019)."""
    if site.code(node.operator) in ("-", "/", "//", "%", "**", "<<", ">>", "+", "@"):
        code = f"{site.operand(node.right)} {site.code(node.operator)} {site.operand(node.left)}"
        yield site.replace(node, code, weight=0.4 if site.code(node.operator) == "+" else 1.0)


@template(cst.BinaryOperation, strategy="operators", prior=0.35, families=_VALUES)
def regrouped_operands(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`a * b + c` → `a * (b + c)`: parentheses put in, or left out ("operator precedence": Pan et al. 2009)."""
    operator, left, right = site.code(node.operator), node.left, node.right
    if isinstance(left, cst.BinaryOperation) and left.lpar:
        yield site.token(node, f"{site.code(left)[1:-1]} {operator} {site.code(right)}")
    if isinstance(right, cst.BinaryOperation) and right.lpar:
        yield site.token(node, f"{site.code(left)} {operator} {site.code(right)[1:-1]}")
    if isinstance(left, cst.BinaryOperation) and not left.lpar:
        inner_left, inner_right = site.code(left.left), site.code(left.right)
        regrouped = f"{inner_left} {site.code(left.operator)} ({inner_right} {operator} {site.code(right)})"
        yield site.token(node, regrouped)
    if isinstance(right, cst.BinaryOperation) and not right.lpar:
        inner_left, inner_right = site.code(right.left), site.code(right.right)
        yield site.token(node, f"({site.code(left)} {operator} {inner_left}) {site.code(right.operator)} {inner_right}")


@template(cst.BinaryOperation, strategy="operators", prior=0.5, families=_VALUES)
def dropped_operand(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`a + b` → `a` or `b`: excess arithmetic."""
    constant = isinstance(node.left, cst.BaseNumber)
    yield site.replace(node, site.code(node.left), weight=0.4 if constant else 1.0)
    yield site.replace(node, site.code(node.right), weight=1.0 if constant else 0.8)


@template(cst.Comparison, strategy="operators", prior=0.3, families=_VALUES)
def comparison_and_operand(node: cst.Comparison, site: Site) -> Iterator[Edit]:
    """`a < b` → `a <= c`, `a > b - 1`: a comparison with two wrong tokens."""
    target = node.comparisons[0]
    signs = _COMPARISONS.get(site.code(target.operator), ())[:5]
    if len(node.comparisons) > 1 or site.code(target.comparator) == "None":
        return
    for sign, worth in by_rank(signs):
        for side, other in ((target.comparator, node.left), (node.left, target.comparator)):
            text, kind, rest = site.code(side), site.kind(site.code(side)), site.code(other)
            same = [n for n in site.live if comparable(kind, site.kind(n)) and n not in (text, rest)]
            number = outer(kind) in ("", NUMBER) and not isinstance(side, cst.SimpleString)
            near = list(shifted(side, site)) if number else []
            for code, weight in by_rank((*near, *same[:6]), step=0.2):
                pair = (rest, code) if side is target.comparator else (code, rest)
                yield site.replace(node, f"{pair[0]} {sign} {pair[1]}", weight=worth * weight)


_PLACES = (cst.Return, cst.Assign, cst.AugAssign, cst.Arg, cst.Comparison, cst.ComparisonTarget, cst.Index, cst.Slice)
_TERMS = (cst.Name, cst.Call, cst.Attribute, cst.Subscript, cst.BinaryOperation, cst.List, cst.ListComp)
_JOINED = (*_PLACES, cst.Element, cst.BinaryOperation, cst.IfExp, cst.ListComp, cst.GeneratorExp)

_JOINING = {
    NUMBER: {"+": 1.0, "-": 1.0, "*": 0.8, "//": 0.6, "%": 0.6, "/": 0.5, "**": 0.3},
    TEXT: {"+": 1.0},
    SEQUENCE: {"+": 1.0},
}


def operands(site: Site, kind: str) -> list[str]:
    """In-scope values of a kind: names bound here and lengths, then small numbers and those that examples show."""
    names = [n for n in dict.fromkeys((*bound_in_statement(site), *site.live)) if outer(site.kind(n)) == kind]
    if kind == TEXT:
        return [*names, *(repr(c) for c in site.examples.characters[:6] if not c.isalnum()), "' '"]
    if kind != NUMBER:
        looped = [site.code(n.iter) for n in site.body if isinstance(n, (cst.For, cst.CompFor))]
        return list(dict.fromkeys((*names, *(text for text in looped if not site.kind(text) and text.isidentifier()))))
    sized = [n for n in site.live if outer(site.kind(n)) in (SEQUENCE, TEXT)]
    used = [site.code(n) for n in site.body if isinstance(n, cst.Integer)]
    lengths = [f"len({name})" for name in sized]
    return list(dict.fromkeys((*names[:1], "2", *names[1:], "1", *lengths, *used[:4], *site.examples.numbers[:4])))


@template(cst.BaseExpression, strategy="operators", prior=0.27, families=_VALUES)
def missing_term(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `a + b`, `a - b`, `a * b`, `a // 2`, `a % n`; text and lists are only joined."""
    parent = site.parent(node)
    if not isinstance(node, _TERMS) or not isinstance(parent, _JOINED) or site.definition is None:
        return
    if is_target(node, site) or (isinstance(parent, cst.Arg) and parent.star):
        return
    text, kind = site.code(node), outer(site.kind(site.code(node)))
    for value, weight in by_rank((v for v in operands(site, kind or NUMBER) if v != text), step=0.2):
        for sign, worth in _JOINING.get(kind or NUMBER, {}).items():
            yield site.replace(node, f"{site.operand(node, 12)} {sign} {value}", weight=weight * worth)
        if kind in (TEXT, SEQUENCE):
            yield site.replace(node, f"{value} + {site.operand(node, 12)}", weight=weight)


@template(cst.BinaryOperation, strategy="operators", prior=0.4, families=_VALUES)
def superfluous_term(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`a ** 2 * b` → `a ** b`: an operand goes with either operator beside it, whatever they bind."""
    if isinstance(site.parent(node), cst.BinaryOperation) and not node.lpar:
        return  # the whole chain is looked at once
    parts = list(_chain(node, site))
    text = [site.region.text(*site.region.outer_span(part)) for part in parts]
    for index in range(2, len(parts) - 2, 2):
        yield site.token(node, " ".join(text[: index + 1]), weight=0.5)
    for index in range(0, len(parts), 2):
        if len(parts) > 3 and index:
            yield site.token(node, " ".join(text[: index - 1] + text[index + 1 :]))
        if len(parts) > 3 and 0 < index < len(parts) - 1:
            yield site.token(node, " ".join(text[:index] + text[index + 2 :]))


def _chain(node: cst.BaseExpression, site: Site) -> Iterator[cst.CSTNode]:
    """Operands and operators from left to right, as written."""
    if isinstance(node, cst.BinaryOperation):
        yield from _chain(node.left, site) if not node.left.lpar else (node.left,)
        yield node.operator
        yield from _chain(node.right, site) if not node.right.lpar else (node.right,)
    else:
        yield node


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
        if code == "0" and adds(parent) and parent.right is node:
            yield site.replace(parent, site.code(parent.left))
        elif not (isinstance(parent, cst.UnaryOperation) and code.startswith("-")):
            yield site.replace(node, code)


def adds(node: cst.CSTNode | None) -> TypeGuard[cst.BinaryOperation]:
    """Whether it is a sum or a difference."""
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Subtract))


@template(cst.Subscript, strategy="boundaries", prior=0.7, families=_EDGES)
def index_by_one(node: cst.Subscript, site: Site) -> Iterator[Edit]:
    """`a[i]` → `a[i - 1]`, `a[i + 1]`; `a[0]` → `a[-1]` and back; `a[:-1]` → `a[1:]`, `a[i:j]` → `a[i:]`."""
    for element in node.slice:
        if isinstance(element.slice, cst.Slice) and element.slice.step is None:
            lower, upper = (site.code(end) if end else "" for end in (element.slice.lower, element.slice.upper))
            other = (f"{upper}:{lower}", f"{upper.removeprefix('-')}:{lower.removeprefix('-')}")
            codes = (f"{lower}:", f":{upper}") if lower and upper else dict.fromkeys(c for c in other if c != ":")
            yield from site.tokens(element.slice, codes, around=node)
        if isinstance(element.slice, cst.Index):
            value = element.slice.value
            text = site.code(value)
            if text in ("0", "-1"):
                yield site.replace(value, "-1" if text == "0" else "0", around=node)
            if not isinstance(value, (cst.Integer, cst.SimpleString, cst.UnaryOperation, cst.FormattedString)):
                for code in shifted(value, site):
                    yield site.replace(value, code, around=node, weight=0.8)


@template(cst.Call, strategy="boundaries", prior=0.9, families=_EDGES)
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


@template(cst.BaseExpression, strategy="boundaries", prior=0.45, families=_EDGES)
def expression_by_one(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """A compared, returned, assigned or passed number one more or less: `a < b` → `a < b - 1`, `len(a)` → `len(a) - 1`."""
    if not isinstance(node, (cst.Name, cst.Call, cst.Attribute, cst.BinaryOperation, cst.Subscript)):
        return
    parent = site.parent(node)
    length = isinstance(node, cst.Call) and site.code(node.func) == "len"
    counted, compared = adds(node), _by_amount(parent)
    given = isinstance(parent, (cst.Return, cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Arg))
    if not (length or counted or compared or given):
        return
    weight = 1.0 if length or counted else 0.5 if compared or isinstance(parent, cst.Return) else 0.25
    for code in () if isinstance(parent, cst.Arg) and parent.star else shifted(node, site):
        yield site.replace(node, code, weight=weight)


def _by_amount(parent: cst.CSTNode) -> bool:
    """Whether something is compared for more or less, rather than as a member or as the same thing."""
    if isinstance(parent, cst.ComparisonTarget):
        return not isinstance(parent.operator, _SAMENESS)
    return isinstance(parent, cst.Comparison) and not isinstance(parent.comparisons[0].operator, _SAMENESS)
