"""Conditions that lack a part, and values that lack a default.

"More specific if" and "less specific if" of ManySStuBs4J (Karampatsis and Sutton 2020), "insert missed null checker" of TBar
(Liu et al. 2019). The part that is missing is often like one that is there, with a literal, a constant or a type that
the failing test shows; or it asks for what the code needs; or it is asked elsewhere already.
"""

import ast
import keyword
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.edit_context import Edit, Site, wrapped
from workers.repair.engines.search.option_weights import by_rank, similarity
from workers.repair.engines.search.predicates import preconditions
from workers.repair.engines.search.source_slice import below
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.conditions import TESTED, atoms, ruled
from workers.repair.engines.search.templates.names import TYPES, is_read, is_target
from workers.repair.engines.search.templates.values import quoted
from workers.repair.engines.search.type_inference import expression

_ANY = (Family.TYPE, Family.ATTRIBUTE, Family.ASSERTION, Family.LOOKUP, Family.VALUE, Family.RECURSION, Family.TIMEOUT)
_TRUTHS = (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation)
_PARTS = (cst.Comparison, cst.Call)

_MOST, _FEW, _LONGEST = 8, 4, 60
"""How many parts of a kind, and how many for one literal or value, and the longest part that is varied."""

Part = tuple[str, str, float]
"""What to add, by which word, and its weight."""


@template(cst.CSTNode, strategy="guards", prior=0.35, families=_ANY)
def extended_condition(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`if a:` → `if a and b:`, `return a` → `return a or b`, `a and b` → `a and (b or c)`; often a part that is like `a`."""
    if isinstance(node, cst.BooleanOperation):
        word = "or" if isinstance(node.operator, cst.And) else "and"
        for side in (node.left, node.right):
            if isinstance(side, _PARTS):
                inner = [(part, weight) for part, by, weight in _likes(side, site) if by == word]
                yield from (site.replace(side, _joined(side, word, part, site), weight=w * 0.7) for part, w in inner)
        return
    test = _truth(node)
    if test is None:
        return
    found: dict[tuple[str, str], float] = {}
    for part, word, weight in _parts(node, test, site):
        found[part, word] = max(weight, found.get((part, word), 0.0))
    text = site.code(test)
    for (part, word), weight in sorted(found.items(), key=lambda item: -item[1]):
        if part != text:
            yield site.replace(test, _joined(test, word, part, site), weight=weight)
            yield site.replace(test, f"{wrapped(part, 4)} {word} {_operand(test, word, site)}", weight=weight * 0.8)


def _truth(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The condition of a node, or the truth value that it returns or assigns."""
    if isinstance(node, TESTED):
        return node.test
    if isinstance(node, cst.Return) and isinstance(node.value, (*_TRUTHS, cst.Call)):
        return node.value
    return node.value if isinstance(node, cst.Assign) and isinstance(node.value, _TRUTHS) else None


def _joined(test: cst.BaseExpression, word: str, part: str, site: Site) -> str:
    return f"{_operand(test, word, site)} {word} {wrapped(part, 4)}"


def _operand(test: cst.BaseExpression, word: str, site: Site) -> str:
    """A condition beside `and` or `or`, in parentheses where it needs them."""
    chained = isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And)
    return site.code(test) if chained else site.operand(test, 3 if word == "or" else 4)


def _parts(node: cst.CSTNode, test: cst.BaseExpression, site: Site) -> Iterator[Part]:
    inside = [n for n in (test, *below(test)) if isinstance(n, _PARTS)]
    for each in inside:
        yield from _likes(each, site)
    others = [n for n in site.body if isinstance(n, cst.Comparison) and n not in inside]
    decided = set(ruled(node, site))
    others.sort(key=lambda n: n not in decided)
    like = islice((code for n in others for code in _siblings(n, site)), _MOST)
    for code, weight in by_rank(like, first=0.7, step=0.1):
        yield from _either(code, weight)
    for code, weight in by_rank(_needed(node, test, site), first=0.9, step=0.15):
        yield code, "and", weight
        yield negated(code), "or", weight * 0.8
    for code, weight in by_rank(_of_types(test, site), first=0.6):
        yield from _either(code, weight)
    for code, weight in by_rank(_same(test, site), first=0.5, step=0.15):
        yield negated(code), "and", weight
        yield code, "or", weight * 0.8
    for code, weight in by_rank(_asked_elsewhere(test, site), first=0.6, step=0.15):
        yield from _either(code, weight, same=True)
    for code, weight in by_rank(atoms(site), step=0.1):
        yield from _either(code, weight, same=True)


def _either(code: str, weight: float, *, same: bool = False) -> Iterator[Part]:
    """A part by either word, and its opposite, unless it is to stay the `same`."""
    yield code, "and", weight
    yield code, "or", weight * 0.9
    if not same:
        yield negated(code), "and", weight * 0.9
        yield negated(code), "or", weight * 0.7


def _likes(part: cst.BaseExpression, site: Site) -> Iterator[Part]:
    """`a == "x"` gives `or a == "y"`, and for an exception `and a != "y"`; `a != "x"` gives `and a != "y"`."""
    first = part.comparisons[0].operator if isinstance(part, cst.Comparison) else None
    denies = isinstance(first, (cst.NotEqual, cst.NotIn, cst.IsNot)) or _is_negated(part, site)
    for code, weight in by_rank(_siblings(part, site), step=0.2):
        written = f"not {code}" if _is_negated(part, site) else code
        yield written, "and" if denies else "or", weight
        yield negated(written), "or" if denies else "and", weight * 0.7


def _is_negated(part: cst.CSTNode, site: Site) -> bool:
    parent = site.parent(part)
    return isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not)


# ── What may be missing


def _siblings(part: cst.BaseExpression, site: Site) -> list[str]:
    """A part with one literal, constant or attribute exchanged for one that the failing test shows."""
    if not site.region.has(part) or len(site.code(part)) > _LONGEST:
        return []
    first, last = site.region.span(part)
    found = []
    for node in below(part):
        if site.region.has(node):
            start, end = site.region.span(node)
            around = site.region.text(first, start), site.region.text(end, last)
            found += [code.join(around) for code in _instead(node, site)]
    return list(dict.fromkeys(found))[:_MOST]


def _instead(node: cst.CSTNode, site: Site) -> list[str]:
    shown = site.evidence
    match node:
        case cst.SimpleString() if isinstance(text := node.evaluated_value, str):
            return [_quoted(each, node.quote) for each in _texts(text, shown.strings)]
        case cst.Integer():
            return [number for number in shown.numbers if number != node.value][:_FEW]
        case cst.Attribute(attr=cst.Name(value=name)):
            near = site.module.parts.get(site.code(node.value), ())
            words = (word for word in sorted(shown.words) if word.isidentifier() and not keyword.iskeyword(word))
            fitting = (word for word in dict.fromkeys((*near, *words)) if _style(word) == _style(name))
            alike = [word for word in fitting if word != name and word in shown.words]
            close = alike if name.isupper() else [word for word in alike if similarity(word, name) >= _ALIKE]
            ranked = sorted(close, key=lambda word: -similarity(word, name))
            return [f"{site.code(node.value)}.{word}" for word in ranked[:_FEW]]
    return []


def _style(word: str) -> tuple[bool, bool]:
    """What tells constants, classes and other names apart."""
    return word.isupper(), word[:1].isupper()


_ALIKE = 0.5
"""How similar two names must be, unless they are constants."""


def _texts(text: str, shown: Iterable[str]) -> list[str]:
    """For a character those of its kind that the failing test shows, the rarest first; for a text the most alike ones."""
    if len(text) == 1:
        counts = Counter(letter for each in shown for letter in each if letter.isalnum() == text.isalnum())
        del counts[text]
        return sorted(counts, key=lambda letter: (letter.isspace() != text.isspace(), counts[letter]))[:_FEW]
    near = (each for each in shown if each != text and len(each) <= _LONGEST)
    return sorted(near, key=lambda each: -similarity(each, text))[:_FEW]


def _quoted(text: str, quote: str) -> str:
    """A text's literal, with these quotation marks where they fit."""
    return quoted(text, quote) if text.isprintable() or quote in text else f"{quote}{repr(text)[1:-1]}{quote}"


def _needed(node: cst.CSTNode, test: cst.BaseExpression, site: Site) -> list[str]:
    """What must hold for the condition and for what it decides about to succeed; and that there is more than one element."""
    needs = preconditions((test, *below(test), *ruled(node, site)), site)
    return [*needs[:_MOST], *(f"len({code}) > 1" for code in _values(test, site)[:_FEW])]


def _of_types(test: cst.BaseExpression, site: Site) -> list[str]:
    """That a value is of a type: those that the failing test names first, then the module's own."""
    words = site.evidence.words
    own = [name for name in dict.fromkeys((*site.module.classes, *site.module.imported)) if name[:1].isupper()]
    named = [name for name in (*TYPES, *own) if name in words]
    named += ["bool"] if words & {"True", "False"} else []
    types = list(dict.fromkeys((*named, *own)))[:_FEW]
    return [f"isinstance({value}, {name})" for value in _values(test, site)[:2] for name in types]


def _same(test: cst.BaseExpression, site: Site) -> list[str]:
    """That a variable which the condition reads is another one."""
    read = [value for value in _values(test, site) if "." not in value]
    return [f"{value} is {other}" for value in read[:2] for other in site.live[:_MOST] if other not in read]


def _values(test: cst.BaseExpression, site: Site) -> list[str]:
    """The variables that a condition reads, and their attributes."""
    known = {*site.live, site.receiver}
    nodes = (test, *below(test))
    read = [n for n in nodes if isinstance(n, cst.Attribute) or (isinstance(n, cst.Name) and is_read(n, site))]
    texts = dict.fromkeys(map(site.code, read))
    return [text for text in texts if text.partition(".")[0] in known and text != site.receiver]


def _asked_elsewhere(test: cst.BaseExpression, site: Site) -> list[str]:
    text = site.code(test)
    asked = [each.code for each in site.module.conditions if each.names <= site.names and each.code != text]
    return sorted(asked, key=lambda code: -similarity(code, text))[:_MOST]


_OPPOSITES: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.Lt: ">=",
    ast.GtE: "<",
    ast.Gt: "<=",
    ast.LtE: ">",
}


def negated(code: str) -> str:
    """The opposite of a condition: `a != b` for `a == b`, `a` for `not a`."""
    match expression(code):
        case ast.UnaryOp(op=ast.Not()) if code.startswith("not "):
            return code.removeprefix("not ")
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if code.isascii():
            ends = [(left.end_col_offset or 0) - 1, right.col_offset - 1]  # it was read in parentheses
            opposite = f"{code[: ends[0]]} {_OPPOSITES[type(sign)]} {code[ends[1] :]}"
            return opposite if expression(opposite) is not None else f"not {wrapped(code, 5)}"
    return f"not {wrapped(code, 5)}"


# ── Defaults

_HOLDERS = (cst.Arg, cst.Assign, cst.Return, cst.BinaryOperation, cst.ComparisonTarget, cst.Attribute, cst.For)
_VALUES = (cst.Call, cst.Attribute, cst.Subscript, cst.Name)
_EMPTY = ('""', "None", "[]", "{}", "0", "()")


@template(cst.BaseExpression, strategy="guards", prior=0.35, families=_ANY)
def value_or_default(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a or b` → `a if a is not None else b`; `a.b` → `a.b or ""`; `f(a)` → `f(a) if a else 0`; `a.split(",")[1]` → `… if "," in a else ""`."""
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.Or):
        left = site.operand(node.left, 7)
        yield site.replace(node, f"{left} if {left} is not None else {site.operand(node.right, 3)}")
    if not isinstance(node, _VALUES) or not isinstance(site.parent(node), _HOLDERS) or is_target(node, site):
        return
    if isinstance(site.parent(node), cst.Attribute) and not isinstance(node, (cst.Call, cst.Subscript)):
        return
    text = site.code(node)
    yield from site.replacements(node, (f"{text} or {empty}" for empty in _EMPTY), weight=0.7, step=0.2)
    if isinstance(node, (cst.Call, cst.Subscript)):
        for asked, worth in by_rank((*_separators(node, site), *_values(node, site)[:2])):
            codes = [f"{text} if {asked} else {empty}" for empty in ("0", "None", '""', "[]")]
            yield from site.replacements(node, codes, weight=worth * 0.7)


def _separators(node: cst.BaseExpression, site: Site) -> list[str]:
    """That a text has the separator without which it has no second part: `"." in a` for `a.split(".")[1]`."""
    subscripts = (n for n in (node, *below(node)) if isinstance(n, cst.Subscript))
    parts = [n for n in subscripts if site.code(n.slice[0]) not in ("0", "-1")]
    calls = [part.value for part in parts if isinstance(part.value, cst.Call) and len(part.value.args) > 0]
    found = [(call.func, call.args[0].value) for call in calls if isinstance(call.func, cst.Attribute)]
    split = [(func, separator) for func, separator in found if func.attr.value in ("split", "rsplit")]
    return [f"{site.code(separator)} in {site.operand(func.value, 7)}" for func, separator in split]
