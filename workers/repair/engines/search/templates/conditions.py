"""Conditions that ask too much, too little, or for nothing at all; that forget None or a type.

"More specific if", "less specific if", "change unary operator" of ManySStuBs4J (Karampatsis and Sutton 2020); IF-CC of Pan
et al. 2009; "mutate conditional expression", "insert missed null checker" of TBar (Liu et al. 2019); condition synthesis
by in-scope atoms after Nopol (Xuan et al. 2017). Type checks are what most fixes of TypeErrors add or widen (PyTER, Oh and
Oh 2022). Guards overfit, so those against None are likely only when the error speaks of NoneType.
"""

import ast
import re
from collections.abc import Iterable, Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.edit_context import Edit, Site, wrapped
from workers.repair.engines.search.option_weights import by_rank, similarity
from workers.repair.engines.search.predicates import preconditions
from workers.repair.engines.search.source_slice import below
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import TYPES, bound_in_statement, members

_ANY = (Family.TYPE, Family.ATTRIBUTE, Family.ASSERTION, Family.LOOKUP, Family.VALUE)
_LOGIC = (*_ANY, Family.RECURSION, Family.TIMEOUT)

TESTED = (cst.If, cst.While, cst.IfExp, cst.CompIf)
_MAX_NEEDED = 8
"""How many conditions that a block's code needs are tried in its test."""


def atoms(site: Site) -> tuple[str, ...]:
    """Short conditions at hand: those used elsewhere in the function, then its parameters and locals, plain and negated."""
    asking = (*TESTED, cst.BooleanOperation, cst.UnaryOperation)
    parts = [n for n in site.body if isinstance(n, (cst.Comparison, cst.Call, cst.Attribute))]
    used = dict.fromkeys(site.code(n) for n in parts if isinstance(site.parent(n), asking) and len(site.code(n)) <= 40)
    attributes = [n for n in parts if isinstance(n, cst.Attribute)]
    values = [n for n in attributes if not isinstance(site.parent(n), (cst.Call, cst.AssignTarget))]
    read = dict.fromkeys(map(site.code, values))
    names = (*site.local_variables, *list(read)[:10])
    made = [code for name in names for code in (name, f"not {name}", f"{name} is None", f"{name} is not None")]
    return tuple(dict.fromkeys((*used, *made)))


@template(cst.BooleanOperation, strategy="guards", prior=0.55, families=_LOGIC)
def dropped_condition(node: cst.BooleanOperation, site: Site) -> Iterator[Edit]:
    """`a and b` → `a` or `b`."""
    yield site.replace(node, site.code(node.left))
    yield site.replace(node, site.code(node.right))


@template(cst.CSTNode, strategy="guards", prior=0.5, families=(*_LOGIC, Family.NAME))
def replaced_condition(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`if a:` → `if b is None:`; `if a and b:` → `if a and c:`: a condition at hand, or one that the module asks elsewhere."""
    if isinstance(node, cst.BooleanOperation):
        tests = [test for test in (node.left, node.right) if not isinstance(test, cst.BooleanOperation)]
    elif isinstance(node, TESTED):
        tests = [node.test]
    else:
        return
    decided = {n.value for n in ruled(node, site) if isinstance(n, cst.Name)} - {site.receiver}
    needed = preconditions(ruled(node, site), site)[:_MAX_NEEDED]
    elsewhere = [asked.code for asked in site.module.conditions if asked.names <= site.names]
    options = dict.fromkeys((*needed, *elsewhere, *atoms(site)))
    about = {code: (code in needed) + bool(decided & set(re.findall(r"\w+", code))) for code in options}
    for test in tests:
        text = site.code(test)
        focus = 1.0 if not site.clues.undefined or site.clues.undefined in text else 0.3
        near = sorted(options, key=lambda code: -similarity(code, text) - about[code])
        yield from site.replacements(test, (code for code in near if code != text), weight=focus, step=0.1)


def ruled(node: cst.CSTNode, site: Site) -> Iterable[cst.CSTNode]:
    """The nodes of what a condition decides about; of a part of one, the whole statement."""
    return below(node.body) if isinstance(node, (cst.If, cst.While, cst.IfExp)) else site.unit.nodes()


@template(cst.IfExp, strategy="guards", prior=0.4, families=_LOGIC)
def conditional_branches(node: cst.IfExp, site: Site) -> Iterator[Edit]:
    """`a if c else b` → `b if c else a`, `a`, `b`."""
    yield site.exchange(node.body, node.orelse, around=node)
    yield site.replace(node, site.code(node.body), weight=0.7)
    yield site.replace(node, site.code(node.orelse), weight=0.7)


_ALL_BUT_NAMES = (*_LOGIC, Family.ITERATION)


def is_condition(node: cst.CSTNode, site: Site) -> bool:
    """Whether an expression is asked for its truth."""
    match site.parent(node):
        case cst.If(test=test) | cst.While(test=test) | cst.IfExp(test=test) | cst.Assert(test=test):
            return test is node
        case cst.CompIf() | cst.BooleanOperation():
            return True
        case cst.Return():
            return isinstance(node, (cst.Comparison, cst.BooleanOperation, cst.Call, cst.Name, cst.Attribute))
    return False


@template(cst.BaseExpression, strategy="operators", prior=0.75, families=_ALL_BUT_NAMES)
def negation(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`if a:` → `if not a:` and back."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        yield site.replace(node, site.code(node.expression))
    elif is_condition(node, site) and not (isinstance(node, cst.Comparison) and len(node.comparisons) == 1):
        returned = isinstance(site.parent(node), cst.Return) and not isinstance(node, cst.BooleanOperation)
        yield site.replace(node, f"not {wrapped(site.code(node), 5)}", weight=0.4 if returned else 1.0)


@template(cst.BooleanOperation, strategy="operators", prior=0.85, families=_ALL_BUT_NAMES)
def boolean_operator(node: cst.BooleanOperation, site: Site) -> Iterator[Edit]:
    """`a and b` → `a or b` and back."""
    yield site.token(node.operator, "or" if isinstance(node.operator, cst.And) else "and", around=node)


@template(cst.BooleanOperation, strategy="operators", prior=0.5, families=_ALL_BUT_NAMES)
def swapped_sides(node: cst.BooleanOperation, site: Site) -> Iterator[Edit]:
    """`a or b` → `b or a`: which one is preferred, or asked first so that the other need not be."""
    yield site.replace(node, f"{site.operand(node.right, 5)} {site.code(node.operator)} {site.operand(node.left, 5)}")


@template(cst.Comparison, strategy="operators", prior=0.3, families=_ALL_BUT_NAMES)
def swapped_comparison(node: cst.Comparison, site: Site) -> Iterator[Edit]:
    """`a in b` → `b in a`; `a < b < c` loses a side."""
    if len(node.comparisons) == 1:
        target = node.comparisons[0]
        if isinstance(target.operator, (cst.In, cst.NotIn)):
            code = f"{site.operand(target.comparator)} {site.code(target.operator)} {site.operand(node.left)}"
            yield site.replace(node, code)
        return
    for index, target in enumerate(node.comparisons):
        left = node.left if index == 0 else node.comparisons[index - 1].comparator
        yield site.replace(node, f"{site.code(left)} {site.code(target.operator)} {site.code(target.comparator)}")


@template(cst.BaseExpression, strategy="guards", prior=0.55, families=_LOGIC)
def truth_or_none(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`if a:` → `if a is not None:`, `not a` → `a is None`, and back: empty or zero taken for absent."""
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        target = node.comparisons[0]
        sign = {"is": "not ", "is not": "", "==": "not ", "!=": ""}.get(site.code(target.operator))
        if sign is not None and site.code(target.comparator) in ("None", "''", '""', "[]", "0"):
            yield site.replace(node, f"{sign}{site.operand(node.left, 7)}")
    elif isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        yield site.replace(node, f"{site.operand(node.expression, 7)} is None")
    elif isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) and is_condition(node, site):
        returned = isinstance(site.parent(node), cst.Return)
        yield site.replace(node, f"{site.code(node)} is not None", weight=0.5 if returned else 1.0)


_UNNAMED = 0.35
"""What an edit is worth when the message does not speak of NoneType."""

_PLACES = (
    (r"and 'NoneType'|'NoneType' is not iterable", "right"),
    (r"'NoneType' and", "left"),
    (r"has no attribute|not subscriptable", "base"),
    (r"has no len|must be|argument", "argument"),
)
"""Where the value stood, by the interpreter's words."""


@template(cst.BaseExpression, strategy="guards", prior=0.8, families=(Family.ATTRIBUTE, Family.TYPE))
def unguarded_condition(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a <= limit` → `limit is None or a <= limit`, `limit is not None and a <= limit`; likewise `k in d`, `x.ready`."""
    if not _is_clause(node, site):
        return
    weighed = 1.0 if "NoneType" in site.failure.message else _UNNAMED
    text = site.code(node)
    for name, weight in by_rank(_nullable(node, site)[:4], step=0.3):
        yield _put(node, f"{name} is not None and {wrapped(text, 4)}", cst.And, site, weight * weighed)
        yield _put(node, f"{name} is None or {wrapped(text, 3)}", cst.Or, site, weight * weighed)


@template(cst.BaseExpression, strategy="guards", prior=0.8, families=(Family.LOOKUP,))
def unasked_element(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a[0] == b` → `a and a[0] == b`, `not a or a[0] == b`; likewise `i < len(a)`, `k in d`: an element that may be missing."""
    by_key = site.failure.error_type.endswith("KeyError")
    alone = _is_clause(node, site) and not isinstance(node, cst.BooleanOperation)
    for part in (node, *below(node)) if alone else ():
        match part:
            case cst.Subscript(value=owner, slice=[cst.SubscriptElement(slice=cst.Index(value=index))]):
                there, missing = _conditions(site.code(owner), site.code(index), by_key=by_key)
                yield _put(node, f"{there} and {wrapped(site.code(node), 4)}", cst.And, site, 1.0)
                yield _put(node, f"{missing} or {wrapped(site.code(node), 3)}", cst.Or, site, 0.8)


def _conditions(owner: str, index: str, *, by_key: bool) -> tuple[str, str]:
    """Under which conditions an element is there, and is not."""
    if by_key:
        return f"{index} in {owner}", f"{index} not in {owner}"
    return (owner, f"not {owner}") if index in ("0", "-1") else (f"{index} < len({owner})", f"{index} >= len({owner})")


def _put(node: cst.BaseExpression, code: str, operator: type[cst.BaseBooleanOp], site: Site, weight: float) -> Edit:
    parent = site.parent(node)
    chained = isinstance(parent, cst.BooleanOperation) and isinstance(parent.operator, operator)
    if chained or isinstance(parent, (cst.CompIf, cst.IfExp)):
        return site.token(node, code, weight=weight)  # reads the same without parentheses
    return site.replace(node, code, weight=weight)


def _is_clause(node: cst.BaseExpression, site: Site) -> bool:
    """Whether a node is a truth value: a comparison, or what a condition or a part of one consists of."""
    parent = site.parent(node)
    if isinstance(parent, cst.BooleanOperation):
        return not isinstance(node, cst.BooleanOperation)
    if isinstance(parent, cst.UnaryOperation):
        return isinstance(parent.operator, cst.Not)
    if isinstance(parent, (cst.If, cst.While, cst.CompIf, cst.IfExp, cst.Assert)):
        return parent.test is node
    return isinstance(node, cst.Comparison)


def _nullable(node: cst.BaseExpression, site: Site) -> list[str]:
    """Names and attributes that the clause needs not to be None, the likeliest first."""
    place = next((place for words, place in _PLACES if re.search(words, site.failure.message)), "")
    known = {*site.variables, *bound_in_statement(site)}
    receiver = site.receiver
    optional = _optional(site)
    ranks: dict[str, tuple[bool, bool]] = {}
    for where, operand in _operands(node):
        text = site.code(operand)
        if isinstance(operand, (cst.Name, cst.Attribute)) and text != receiver:
            base = text.partition(".")[0]
            if (base in known or base == receiver) and not text.endswith(")"):
                rank = (text not in optional, where != place)
                ranks[text] = min(rank, ranks.get(text, rank))
    return sorted(ranks, key=lambda text: ranks[text])


def _operands(node: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression]]:
    """Expressions below that raise when they are None, and where they stand; equality and identity never raise."""
    match node:
        case cst.Comparison():
            for target in node.comparisons:
                if not isinstance(target.operator, (cst.Equal, cst.NotEqual, cst.Is, cst.IsNot)):
                    yield "right", target.comparator
                    if not isinstance(target.operator, (cst.In, cst.NotIn)):
                        yield "left", node.left
        case cst.BinaryOperation():
            yield from (("right", node.right), ("left", node.left))
        case cst.Attribute() | cst.Subscript():
            yield "base", node.value
        case cst.Arg():
            yield "argument", node.value
        case cst.Lambda() | cst.CompFor():
            return
    for child in node.children:
        yield from _operands(child)


def _optional(site: Site) -> set[str]:
    """Parameters of this function whose default is None."""
    if site.definition is None:
        return set()
    params = site.definition.params
    both = (*params.params, *params.kwonly_params)
    return {p.name.value for p in both if isinstance(p.default, cst.Name) and p.default.value == "None"}


@template(cst.Call, strategy="guards", prior=0.5, families=_ANY)
def accepted_types(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`isinstance(a, int)` → `isinstance(a, (int, slice))`, `isinstance(a, Key)`; of several types one is dropped.

    The type that is missing is one of the same module, `ast.Bytes` beside `ast.Str`, a builtin one, or one that is known here:
    those first that the failing test mentions.
    """
    if site.code(node.func) not in ("isinstance", "issubclass") or len(node.args) != 2:
        return
    types = node.args[1].value
    nodes = [e.value for e in types.elements] if isinstance(types, cst.Tuple) else [types]
    named, shown = [site.code(each) for each in nodes], {word.lower() for word in site.evidence.words}
    beside = [name for each in nodes for name in _classes_beside(each, site)]
    imported = [name for name in site.module.imported if name[:1].isupper()]
    known = dict.fromkeys((*beside, *TYPES, "slice", "bytearray", "memoryview", *site.module.classes, *imported))
    shown_first = sorted(known, key=lambda name: name.rpartition(".")[2].lower() not in shown)
    wider = [(*named, name) for name in shown_first if name not in named]
    narrower = [tuple(name for name in named if name != left_out) for left_out in named if len(named) > 1]
    place, around = site.region.outer_span(types), site.region.span(node)
    other = [(name,) for name in (*site.module.classes, *site.module.imported) if [name] != named]
    for kept, weight in (*by_rank(wider, step=0.15), *by_rank(narrower, first=0.6), *by_rank(other, first=0.8)):
        code = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
        yield site.splice(*place, code, weight=weight, around=around)


def _classes_beside(node: cst.BaseExpression, site: Site) -> list[str]:
    """Classes of the module that a dotted class is of: a module of the project, or `ast`."""
    if not isinstance(node, cst.Attribute):
        return []
    base = site.code(node.value)
    nodes = vars(ast) if base == "ast" else ()
    return [f"{base}.{name}" for name in (*members(node, site), *nodes) if name[:1].isupper()]
