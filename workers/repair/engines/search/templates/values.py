"""Wrong values: constants, conversions, copies, regular expressions, and the same slip at every place.

"Change boolean literal", "change numeral" of ManySStuBs4J (Karampatsis and Sutton 2020); "mutate literal", "mutate data
type" of TBar (Liu et al. 2019); type errors are the commonest run-time errors of Python programs (PyTER, Oh and Oh 2022).
Modified iterables: flake8-bugbear B909. Expressions: the mutation operators of MutRex (Arcaini et al. 2017), turned round;
that `$` matches before a last newline is CWE-777. A quarter of real one-hunk fixes repeat one change (Meng et al. 2011).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading, likeness
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.source_slice import Splice
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import alike, is_read
from workers.repair.engines.search.type_inference import MAPPING, SEQUENCE, SET, TEXT, outer

_VALUES = (Family.ASSERTION, Family.VALUE, Family.LOOKUP, Family.TYPE, Family.ARITHMETIC)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_QUOTED = re.compile(r"""'([^'\n]{0,30})'""")


@template(cst.Name, strategy="boundaries", prior=0.75, families=_VALUES)
def singleton(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`True` → `False`, `None` → a value, and back."""
    options = {
        "True": ("False", "None"),
        "False": ("True", "None"),
        "None": ("False", "True", "0", '""', "[]", "{}", "()"),
    }
    for code, weight in fading(options.get(node.value, ())):
        yield site.replace(node, code, weight=weight)


@template(cst.BaseNumber, strategy="boundaries", prior=0.55, families=_VALUES)
def number(node: cst.BaseNumber, site: Site) -> Iterator[Edit]:
    """A number → 0, 1, -1, 2, its negative, a tenth, another number of the function or of the error's message."""
    text = site.code(node)
    used = [site.code(n) for n in site.body if isinstance(n, cst.BaseNumber)]
    told = _NUMBER.findall(site.failure.message)
    scaled = [f"{text}0", text[:-1]] if text.endswith("0") and len(text) > 1 and "." not in text else []
    shown = site.examples.numbers[:8]
    near = [str(int(text) + 2), str(int(text) - 2), str(int(text) * 2)] if text.isdigit() and int(text) > 2 else []
    options = dict.fromkeys(("0", "1", "-1", "2", *used, *scaled, f"-{text}", *told, *shown, "None", *near))
    options.pop(text, None)
    negated = isinstance(site.parent(node), cst.UnaryOperation)
    fitting = [code for code in options if not (negated and code.startswith("-"))]
    for code, weight in fading(fitting[:24], step=0.15):
        yield site.replace(node, code, weight=weight)


def quoted(value: str, like: str) -> str:
    """A string's literal, with the quotation marks of another one where they fit."""
    quote = like[-1]
    return repr(value) if quote in value or "\\" in value else f"{quote}{value}{quote}"


def _shown(value: str, site: Site) -> list[str]:
    """What docstring and tests show in place of a string: a character for a character, an alike word for a word."""
    if len(value) == 1:
        return [c for c in (*_DELIMITERS.get(value, ""), *site.examples.characters[:10]) if c != value]
    words = dict.fromkeys((*site.examples.strings, *site.examples.words))
    near = [word for word in words if word != value and likeness(value, word) >= 0.6]
    return sorted(near, key=lambda word: -likeness(value, word))[:8]


_DELIMITERS = {
    **dict(zip("()[]{}<>", ("[{<", "]}>", "({<", ")}>", "([<", ")]>", "([{", ")]}"), strict=True)),
    **dict(zip(",;:./-_ |", (";: ", ",:", ";,", ",/", "\\.-", "_ ", "- ", "_,-", ",;"), strict=True)),
}
"""Characters that are taken for one another."""


@template(cst.SimpleString, strategy="boundaries", prior=0.5, families=(*_VALUES, Family.ATTRIBUTE))
def string(node: cst.SimpleString, site: Site) -> Iterator[Edit]:
    """A string → an alike one of the module or of the error's message, the empty one, another case or padding."""
    value = node.evaluated_value
    if not isinstance(value, str) or len(value) > 60 or node.prefix or isinstance(site.parent(node), cst.Expr):
        return
    told = _QUOTED.findall(site.failure.message)
    known = dict.fromkeys((*told, *site.module.strings))
    alike = sorted((s for s in known if s != value), key=lambda s: (s != site.clues.key, -likeness(value, s)))
    forms = dict.fromkeys(
        (value.strip(), f"{value} ", f" {value}", value.lower(), value.upper(), "", " ", f"{value}\\n")
    )
    if value.isalpha() and value.upper() != value.lower():
        forms |= dict.fromkeys((value.capitalize(), value.lower() + value.upper(), value.swapcase()))
    forms.pop(value, None)
    for text, weight in fading(alike[:12], step=0.2):
        yield site.replace(node, quoted(text, node.value), weight=weight)
    for text, weight in fading(_shown(value, site), first=0.7, step=0.2):
        yield site.replace(node, quoted(text, node.value), weight=weight)
    for text, weight in fading(forms, first=0.6):
        quote = node.value[-1]
        yield site.replace(node, f"{quote}{text}{quote}", weight=weight)


@template(cst.BaseExpression, strategy="boundaries", prior=0.3, families=_VALUES)
def empty_container(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`[]` → `{}`, `set()`, `()`, `None`, `""`, `0`, and back: a wrong initial value."""
    text = site.code(node)
    if text not in ("[]", "{}", "()", "set()", '""', "''", "list()", "dict()"):
        return
    for code, weight in fading(c for c in ("[]", "{}", "set()", "()", '""', "None", "0") if c != text):
        yield site.replace(node, code, weight=weight)


@template(cst.BaseExpression, strategy="boundaries", prior=0.3, families=_VALUES)
def constant_for_variable(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """A constant where a variable belongs, or a variable where a constant does."""
    if isinstance(node, (cst.Integer, cst.SimpleString)) or site.code(node) in ("True", "False", "None"):
        if not isinstance(site.parent(node), (cst.Expr, cst.Dict, cst.DictElement, cst.Param)):
            for name, weight in fading(_instead_of(node, site)):
                yield site.replace(node, name, weight=weight)
    elif isinstance(node, cst.Name) and node.value in site.variables:
        taken = (cst.Arg, cst.Assign, cst.Return, cst.Comparison, cst.ComparisonTarget, cst.Index)
        options = ("0", "1", "None", "True", "False", '""') if isinstance(site.parent(node), taken) else ()
        for code, weight in fading(options, first=0.6):
            yield site.replace(node, code, weight=weight)


def _instead_of(node: cst.BaseExpression, site: Site) -> list[str]:
    """Variables for a constant; one that was quoted by mistake first, and lengths for a number."""
    value = node.evaluated_value if isinstance(node, cst.SimpleString) else ""
    meant = [str(value), f"{value!s}.encode()"] if value in site.local_variables else []
    sized = [n for n in site.live if outer(site.kind(n)) in (SEQUENCE, TEXT, MAPPING, SET)]
    lengths = [f"len({name})" for name in sized] if isinstance(node, cst.Integer) else []
    return list(dict.fromkeys((*meant, *site.local_variables, *lengths)))


_TYPES = (Family.TYPE, Family.ATTRIBUTE, Family.VALUE, Family.ASSERTION)
_CONVERTERS = (
    "int",
    "float",
    "str",
    "list",
    "tuple",
    "set",
    "sorted",
    "round",
    "bool",
    "dict",
    "bytes",
    "abs",
    "len",
    "Decimal",
    "repr",
)
_WRAPPERS = ("str", "int", "list", "float", "tuple", "set", "sorted", "round", "abs", "len", "bool", "dict")


@template(cst.BaseExpression, strategy="conversions", prior=0.55, families=_TYPES)
def missing_conversion(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `str(a)`, `int(a)`, `list(a)`, …"""
    if not _is_value(node, site):
        return
    order = dict.fromkeys((*_told(site.failure.message), *_by_context(node, site), *_WRAPPERS))
    focus = 1.0 if isinstance(node, (cst.Name, cst.Subscript, cst.Attribute, cst.Call)) else 0.6
    for name, weight in fading(order, step=0.15):
        yield site.replace(
            node, f"{name}({site.code(node) if not node.lpar else site.code(node)[1:-1]})", weight=weight * focus
        )


@template(cst.BaseExpression, strategy="conversions", prior=0.3, families=_TYPES)
def list_or_element(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `[a]`, `[]` → `[[]]`, `[a]` → `a`: one level of nesting too few or too many (type misuse of BugsInPy)."""
    if not isinstance(site.parent(node), (cst.Return, cst.Assign, cst.Element, cst.Arg, cst.BinaryOperation)):
        return
    if isinstance(node, cst.List) and len(node.elements) == 1 and isinstance(node.elements[0], cst.Element):
        yield site.replace(node, site.code(node.elements[0].value))
    if isinstance(node, (cst.List, cst.Name, cst.Call, cst.Tuple, cst.Subscript)):
        yield site.replace(node, f"[{site.code(node)}]", weight=1.0 if isinstance(node, cst.List) else 0.6)


def _told(message: str) -> list[str]:
    """The types that a TypeError names; a container met by a number is likely to lack its `len`."""
    named = [name for name in _WRAPPERS if f'"{name}"' in message or f"'{name}'" in message]
    container = any(f"'{name}'" in message for name in ("list", "dict", "set", "tuple", "str"))
    return ["len", *named] if container and "'int'" in message and '"' not in message else named


def _by_context(node: cst.CSTNode, site: Site) -> tuple[str, ...]:
    """What is likely wanted where the value goes: numbers where it is compared or counted, sequences where it is walked."""
    parent = site.parent(node)
    call = site.parent(parent) if isinstance(parent, cst.Arg) else None
    if isinstance(call, cst.Call) and site.code(call.func) in ("range", "min", "max", "abs", "round", "divmod", "pow"):
        return ("len", "int")
    if isinstance(parent, (cst.Comparison, cst.ComparisonTarget)):
        return ("len", "int", "str")
    if isinstance(parent, cst.BinaryOperation):
        return ("str", "len", "int") if isinstance(parent.operator, cst.Add) else ("len", "int", "float")
    if isinstance(parent, cst.AugAssign):
        return ("len", "int", "str", "list")
    if isinstance(parent, (cst.For, cst.CompFor)):
        return ("list", "sorted", "set", "range")
    return ("list", "int", "str", "tuple", "sorted")


def _is_value(node: cst.BaseExpression, site: Site) -> bool:
    parent = site.parent(node)
    kinds = (
        cst.Name,
        cst.Attribute,
        cst.Call,
        cst.Subscript,
        cst.BinaryOperation,
        cst.GeneratorExp,
        cst.ListComp,
        cst.Integer,
        cst.BooleanOperation,
    )
    if not isinstance(node, kinds) or isinstance(
        parent, (cst.AssignTarget, cst.Expr, cst.Decorator, cst.Attribute, cst.Param)
    ):
        return isinstance(node, kinds) and isinstance(parent, cst.Attribute) and parent.value is node
    if isinstance(parent, cst.Call) or (isinstance(parent, cst.Arg) and (parent.star or parent.keyword is node)):
        return False
    targets = (cst.AugAssign, cst.AnnAssign, cst.For, cst.CompFor, cst.NamedExpr)
    return not (isinstance(parent, targets) and parent.target is node)


@template(cst.Call, strategy="conversions", prior=0.6, families=_TYPES)
def wrong_conversion(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`int(a)` → `float(a)`, `round(a)`, `a`."""
    name = site.code(node.func)
    if name not in _CONVERTERS or len(node.args) != 1 or node.args[0].star:
        return
    yield site.replace(node, site.code(node.args[0].value))
    for other, weight in fading((c for c in _CONVERTERS if c != name), step=0.15):
        yield site.token(node.func, other, weight=weight, around=node)


@template(cst.Call, strategy="conversions", prior=0.45, families=(Family.ASSERTION, Family.ARITHMETIC, Family.VALUE))
def rounding(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`round(a)` → `round(a, 2)`, `int(a / b)` → `a // b`, and other precision."""
    name = site.code(node.func)
    if name == "round" and node.args:
        value = site.code(node.args[0].value)
        for digits, weight in fading(("", ", 1", ", 2", ", 3", ", 4")):
            yield site.replace(node, f"round({value}{digits})", weight=weight)
    inner = node.args[0].value if len(node.args) == 1 else None
    if (
        name in ("int", "math.floor", "floor")
        and isinstance(inner, cst.BinaryOperation)
        and isinstance(inner.operator, cst.Divide)
    ):
        yield site.replace(node, f"{site.operand(inner.left)} // {site.operand(inner.right)}")


@template(cst.BinaryOperation, strategy="conversions", prior=0.75, families=(Family.TYPE,))
def text_and_other(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`"n: " + n` → `"n: " + str(n)`; likewise `int(…)` on either side, and list with tuple."""
    if not isinstance(node.operator, (cst.Add, cst.Modulo, cst.Multiply, cst.Subtract)):
        return
    for name, weight in fading(("str", "int", "float", "list", "tuple")):
        for side in (node.right, node.left):
            if not isinstance(side, (cst.SimpleString, cst.FormattedString, cst.Integer)):
                yield site.replace(side, f"{name}({site.code(side)})", around=node, weight=weight)
    if isinstance(node.operator, cst.Add):
        yield site.replace(node.right, f"[{site.code(node.right)}]", around=node, weight=0.7)
        yield site.replace(node.left, f"[{site.code(node.left)}]", around=node, weight=0.5)


@template(cst.BaseExpression, strategy="conversions", prior=0.5, families=(Family.TYPE, Family.ATTRIBUTE))
def text_encoding(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `a.encode()`, `a.decode()`, and back; `"…"` → `b"…"`."""
    if (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in ("encode", "decode")
    ):
        yield site.replace(node, site.code(node.func.value))
        other = "decode" if node.func.attr.value == "encode" else "encode"
        yield site.token(node.func.attr, other, around=node)
    elif isinstance(node, cst.SimpleString) and not isinstance(site.parent(node), (cst.Expr, cst.ConcatenatedString)):
        yield site.token(
            node, node.value.lstrip("bB") if node.prefix.lower().startswith("b") else f"b{node.value}", weight=0.5
        )
    elif isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) and _is_value(node, site):
        told = "bytes" in site.failure.message
        for method in ("encode", "decode"):
            yield site.replace(node, f"{site.code(node)}.{method}()", weight=1.0 if told else 0.25)


@template(cst.BaseExpression, strategy="conversions", prior=0.35, families=_TYPES)
def element_or_whole(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `a[0]`, `a[1]`, `a[-1]`, `[a]`, `(a,)`; `a[0]` → `a`: one of many taken for the many."""
    if isinstance(node, cst.Subscript) and not isinstance(site.parent(node), (cst.AssignTarget, cst.Del)):
        yield site.replace(node, site.code(node.value), weight=0.8)
    if not _is_value(node, site) or not isinstance(node, (cst.Name, cst.Call, cst.Attribute)):
        return
    text = site.code(node)
    for code, weight in fading(
        (f"{text}[0]", f"[{text}]", f"{text}[-1]", f"{text}[1]", f"({text},)", f"{text}[:]", f"{text}[::-1]")
    ):
        yield site.replace(node, code, weight=weight)


@template(cst.Tuple, strategy="conversions", prior=0.3, families=_TYPES)
def single_element(node: cst.Tuple, site: Site) -> Iterator[Edit]:
    """`(a,)` → `a`."""
    if isinstance(site.parent(node), (cst.AssignTarget, cst.For, cst.CompFor, cst.Index, cst.Del)):
        return
    if len(node.elements) == 1:
        yield site.replace(node, site.code(node.elements[0].value))


@template(cst.BaseExpression, strategy="conversions", prior=0.45, families=_TYPES)
def swapped_elements(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`(a, b)` → `(b, a)`, `[a, b]` → `[b, a]`: neighbours of a short tuple, list or key change places."""
    if isinstance(site.parent(node), (cst.AssignTarget, cst.For, cst.CompFor, cst.Del)):
        return
    if isinstance(node, cst.Subscript) and 1 < len(node.slice) <= 6:
        for first, second in pairwise(node.slice):
            yield site.exchange(first.slice, second.slice, around=node)
    if isinstance(node, (cst.Tuple, cst.List)) and 1 < len(node.elements) <= 6:
        for one, other in pairwise(node.elements):
            if not isinstance(one, cst.StarredElement) and not isinstance(other, cst.StarredElement):
                yield site.exchange(one.value, other.value, around=node)


_STATE = (Family.ASSERTION, Family.LOOKUP, Family.VALUE, Family.RECURSION, Family.TIMEOUT)
_EMPTY = ("[]", "{}", "set()", "list()", "dict()")


@template(cst.For, strategy="conversions", prior=0.5, families=(*_STATE, Family.OTHER))
def iterated_copy(node: cst.For, site: Site) -> Iterator[Edit]:
    """`for x in a:` → `for x in list(a):`, when the loop changes `a`."""
    text = site.code(node.iter)
    target = text.partition(".")[0] if text.endswith(")") else text
    changes = (
        f"{target}.remove",
        f"{target}.pop",
        f"{target}.append",
        f"del {target}",
        f"{target}[",
        f"{target}.discard",
    )
    changed = any(change in site.code(node.body) for change in changes)
    if isinstance(node.iter, (cst.Name, cst.Attribute, cst.Call)):
        yield site.replace(node.iter, f"list({text})", weight=1.0 if changed else 0.2)


@template(cst.BaseExpression, strategy="conversions", prior=0.4, families=_STATE)
def missing_copy(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`self.a = a` → `self.a = list(a)`, `a.copy()`, `dict(a)`, `copy.deepcopy(a)`; `[[0] * n] * m` → a comprehension."""
    if (
        isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Multiply)
        and isinstance(node.left, cst.List)
    ):
        yield site.replace(node, f"[{site.code(node.left)[1:-1]} for _ in range({site.code(node.right)})]")
    parent = site.parent(node)
    kept = isinstance(parent, (cst.Assign, cst.Return, cst.Arg, cst.DictElement)) and not getattr(parent, "star", "")
    if not kept or not isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
        return
    text = site.code(node)
    for code, weight in fading((f"list({text})", f"{text}.copy()", f"dict({text})", f"set({text})", f"{text}[:]")):
        yield site.replace(node, code, weight=weight * (1.0 if not isinstance(parent, cst.Arg) else 0.6))
    deep, lines = _deepcopy(site)
    edit = site.replace(node, f"{deep}({text})", weight=0.6)
    yield Edit(splices=edit.splices, around=edit.around, weight=edit.weight, imports=lines)


def _deepcopy(site: Site) -> tuple[str, tuple[str, ...]]:
    if "copy" in site.module.modules:
        return "copy.deepcopy", ()
    if "deepcopy" in site.module.imported:
        return "deepcopy", ()
    return "deepcopy", ("from copy import deepcopy",)


@template(cst.Call, strategy="conversions", prior=0.4, families=_STATE)
def superfluous_copy(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`a.copy()` → `a`, `copy.deepcopy(a)`: a copy too many, or too shallow a one."""
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "copy" and not node.args:
        text = site.code(node.func.value)
        yield site.replace(node, text)
        deep, lines = _deepcopy(site)
        edit = site.replace(node, f"{deep}({text})")
        yield Edit(splices=edit.splices, around=edit.around, weight=edit.weight, imports=lines)
    elif site.code(node.func) in ("copy.copy", "copy") and len(node.args) == 1:
        yield site.token(node.func, "copy.deepcopy" if "copy" in site.module.modules else "deepcopy", around=node)


@template(cst.FunctionDef, strategy="statements", prior=0.75, families=_STATE)
def mutable_default(node: cst.FunctionDef, site: Site) -> Iterator[Edit]:
    """`def f(a=[])` → `def f(a=None)` with `if a is None: a = []` as its first statement."""
    if not isinstance(node.body, cst.IndentedBlock) or site.unit.node is not node:
        return
    first = next((s for s in node.body.body if not _is_docstring(s)), node.body.body[0])
    at = site.lines_of(first)[0]
    start = site.region.span(first)[0]
    indent = site.region.text(site.region.line_start(start), start)
    for parameter in (*node.params.params, *node.params.kwonly_params):
        if parameter.default is not None and site.code(parameter.default) in _EMPTY and not indent.strip():
            name, value = parameter.name.value, site.code(parameter.default)
            header = site.token(parameter.default, "None")
            lines = f"{indent}if {name} is None:\n{indent}{site.step}{name} = {value}\n"
            body = site.splice(at, at, lines)
            yield Edit(splices=(*header.splices, *body.splices), around=site.region.span(parameter))


def _is_docstring(statement: cst.CSTNode) -> bool:
    inner = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    return isinstance(inner, cst.Expr) and isinstance(inner.value, (cst.SimpleString, cst.ConcatenatedString))


_MATCHING = (Family.ASSERTION, Family.ATTRIBUTE, Family.VALUE, Family.LOOKUP, Family.TYPE)
_SIGNS = re.compile(r"[*+?|]|\\[dDwWsSbB]|\[\^?[^\]]*\]|\(\?|\(.*\)|\\[.()\[\]]")
_CALLS = ("compile", "match", "search", "fullmatch", "findall", "finditer", "sub", "subn", "split")
_CHANGES = (
    (r"^\^(.*)\$$", r"\\A\1\\Z"),
    (r"\$$", r"\\Z"),
    (r"^\^", r"\\A"),
    (r"^(?!\^|\\A)", "^"),
    (r"(?<!\$)$", "$"),
    (r"^\^", ""),
    (r"\$$", ""),
    (r"(?<!\\)\.(?![*+?])", r"\\."),
    (r"\\\.", "."),
    (r"\*(?!\?)", "+"),
    (r"\+(?!\?)", "*"),
    (r"([*+])(?!\?)", r"\1?"),
    (r"([*+])\?", r"\1"),
    (r"(?<=[\w\])])\?", ""),
    (r"(\\[a-zA-Z]|\]|\))(?![*+?{])", r"\1?"),
    (r"(\\[dwsS]|\])(?![*+?{])", r"\1+"),
    (r"\\d", r"\\w"),
    (r"\\w", r"\\d"),
    (r"\\s", r"\\S"),
    (r"\\([bB])", ""),
    (r"\[\^", "["),
    (r"\[(?!\^)", "[^"),
    (r"\]", r"-]"),
    (r"\]", r"_]"),
    (r"\]", r".]"),
    (r"\(\?:", "("),
    (r"\((?!\?)", "(?:"),
)
"""What is looked for, and what may stand there instead; each place by itself."""

MOST, LONGEST = 60, 400
"""So many edits of an expression, and none of one of more characters."""


@template(cst.SimpleString, strategy="boundaries", prior=0.4, families=_MATCHING)
def regex_detail(node: cst.SimpleString, site: Site) -> Iterator[Edit]:
    """`^a.b*$` → `\\Aa.b*\\Z`, `^a\\.b*$`, `^a.b+$`: one anchor, quantifier, class or escape."""
    quote, prefix = node.quote, node.prefix
    text = node.value[len(prefix) + len(quote) : -len(quote)]
    if len(text) > LONGEST or not _is_expression(node, text, site):
        return
    found = (
        text[: m.start()] + m.expand(new) + text[m.end() :] for old, new in _CHANGES for m in re.finditer(old, text)
    )
    for changed, weight in fading(list(dict.fromkeys(found))[:MOST], step=0.1):
        if changed != text and quote not in changed:
            yield site.token(node, f"{prefix or 'r'}{quote}{changed}{quote}", weight=weight)


def _is_expression(node: cst.SimpleString, text: str, site: Site) -> bool:
    """Whether a string is meant as a regular expression: it is raw and has their signs, or is given to what takes one."""
    call = site.parent(site.parent(node))
    given = isinstance(call, cst.Call) and site.code(call.func).rpartition(".")[2] in _CALLS
    plain = "\\" not in text or "r" in node.prefix
    return (
        plain
        and "b" not in node.prefix
        and (given or "r" in node.prefix)
        and bool(_SIGNS.search(text) or text[:1] == "^")
    )


_TEXT = (Family.ASSERTION, Family.TYPE, Family.VALUE, Family.LOOKUP)
_FIELD = re.compile(r"\{([A-Za-z_][\w.\[\]']*)(?:![rsa])?(?::[^{}]*)?\}")


@template(cst.SimpleString, strategy="conversions", prior=0.8, families=_TEXT)
def missing_f_prefix(node: cst.SimpleString, site: Site) -> Iterator[Edit]:
    """`"{name}"` → `f"{name}"`, where `name` is in scope; `r` and `b` likewise come and go."""
    fields = _FIELD.findall(node.value)
    receiver = site.receiver
    known = {*site.variables, receiver}
    parent = site.parent(node)
    formatted = isinstance(parent, cst.Attribute) and parent.attr.value == "format"
    if fields and not node.prefix and not formatted and any(re.split(r"[.\[]", f)[0] in known for f in fields):
        yield site.token(node, f"f{node.value}")
    if "\\" in node.value and not isinstance(parent, cst.Expr):
        yield site.token(node, node.value[1:] if node.prefix == "r" else f"r{node.value}", weight=0.4)


@template(cst.BinaryOperation, strategy="conversions", prior=0.7, families=_TEXT)
def percent_arguments(node: cst.BinaryOperation, site: Site) -> Iterator[Edit]:
    """`"%s" % a` → `"%s" % (a,)`, `"%s %s" % (a, b)` with `a` and `b` swapped."""
    if not isinstance(node.operator, cst.Modulo) or not isinstance(
        node.left, (cst.SimpleString, cst.ConcatenatedString)
    ):
        return
    if isinstance(node.right, cst.Tuple):
        values = [element.value for element in node.right.elements]
        for one, other in pairwise(values):
            yield site.exchange(one, other, around=node)
        for name, weight in fading(site.local_variables, first=0.6):
            texts = [site.code(value) for value in values]
            yield site.token(node.right, ", ".join([*texts, name]), weight=weight, around=node)
    else:
        yield site.replace(node.right, f"({site.code(node.right)},)", around=node)
        for name, weight in fading(site.local_variables, first=0.6):
            yield site.replace(node.right, f"({site.code(node.right)}, {name})", around=node, weight=weight)


@template(cst.FormattedStringExpression, strategy="conversions", prior=0.4, families=_TEXT)
def format_conversion(node: cst.FormattedStringExpression, site: Site) -> Iterator[Edit]:
    """`{a}` → `{a!r}`, `{a:.2f}`, and back."""
    text = site.code(node.expression)
    plain = "{" + text + "}"
    for code, weight in fading(
        (plain, "{" + text + "!r}", "{" + text + ":.2f}", "{" + text + "!s}", "{" + text + ":.1f}")
    ):
        yield site.token(node, code, weight=weight)


@template(cst.Call, strategy="conversions", prior=0.6, families=_TEXT)
def joined_values(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`",".join(a)` → `",".join(map(str, a))`, `",".join(str(x) for x in a)`, and other separators."""
    if not (isinstance(node.func, cst.Attribute) and node.func.attr.value == "join" and len(node.args) == 1):
        return
    value = node.args[0].value
    yield site.replace(value, f"map(str, {site.code(value)})", around=node)
    yield site.replace(value, f"sorted({site.code(value)})", around=node, weight=0.5)
    if isinstance(node.func.value, cst.SimpleString):
        quote = node.func.value.value[-1]
        for separator, weight in fading(("", " ", ", ", ",", "\\n", "-", "_", "."), first=0.7):
            yield site.replace(node.func.value, f"{quote}{separator}{quote}", around=node, weight=weight)


_TOGETHER = (Family.ASSERTION, Family.VALUE, Family.LOOKUP, Family.TYPE, Family.TIMEOUT, Family.NAME)
_OPPOSITE = {
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "==": ("!=",),
    "!=": ("==",),
    "in": ("not in",),
    "not in": ("in",),
}
_MOST, _FEW = 12, 5


def _edit(site: Site, nodes: Iterable[cst.CSTNode], codes: Iterable[str], weight: float, at: cst.CSTNode) -> Edit:
    splices = tuple(Splice(*site.region.span(n), code) for n, code in zip(nodes, codes, strict=True))
    return Edit(splices=splices, around=site.region.span(at), weight=weight)


def _equals(node: cst.CSTNode, site: Site) -> list[cst.CSTNode]:
    """The nodes of the function that are written alike; none unless there are several."""
    text = site.code(node)
    found = [n for n in site.body if type(n) is type(node) and site.region.has(n) and site.code(n) == text]
    found = [n for n in found if not isinstance(site.parent(n), cst.Expr)]
    return found if 1 < len(found) <= _MOST else []


@template(cst.Name, strategy="boundaries", prior=0.5, families=_TOGETHER)
def flipped_truths(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`True` and `False` change places throughout the function: the answer is the wrong way round."""
    if node.value not in ("True", "False") or site.definition is None:
        return
    truths = [n for n in site.body if isinstance(n, cst.Name) and n.value in ("True", "False")]
    returned = [n for n in truths if isinstance(site.parent(n), cst.Return)]
    for nodes in (returned, truths):
        if 1 < len(nodes) <= _MOST:
            yield _edit(site, nodes, ("False" if n.value == "True" else "True" for n in nodes), 1.0, node)


@template(cst.BaseNumber, strategy="boundaries", prior=0.4, families=_TOGETHER)
def number_everywhere(node: cst.BaseNumber, site: Site) -> Iterator[Edit]:
    """Every `3` of the function → `4`, `2`, or a number that docstring or tests show."""
    nodes = _equals(node, site)
    if nodes and isinstance(node, cst.Integer) and node.value.isdigit():
        near = [str(int(node.value) + 1), str(int(node.value) - 1)]
        options = dict.fromkeys((*near, *site.examples.numbers[:6]))
        others = [n for n in nodes if n is not node] if len(nodes) <= _FEW else []
        for code, weight in fading(option for option in options if option != node.value):
            yield _edit(site, nodes, [code] * len(nodes), weight, node)
            for other in others if len(nodes) > 2 else ():
                yield _edit(site, (node, other), (code, code), weight * 0.6, node)


@template(cst.SimpleString, strategy="boundaries", prior=0.4, families=_TOGETHER)
def string_everywhere(node: cst.SimpleString, site: Site) -> Iterator[Edit]:
    """Every `" "` of the function → `""`, another case, or a string that docstring or tests show."""
    nodes, value = _equals(node, site), node.evaluated_value
    if nodes and isinstance(value, str) and len(value) <= 30:
        shown = site.examples.characters if len(value) == 1 else site.examples.strings[:6]
        options = dict.fromkeys((value.strip(), "", " ", value.lower(), value.upper(), *shown))
        for code, weight in fading(quoted(option, node.value) for option in options if option != value):
            yield _edit(site, nodes, [code] * len(nodes), weight, node)


@template(cst.SimpleString, strategy="boundaries", prior=0.4, families=_TOGETHER)
def cased_strings(node: cst.SimpleString, site: Site) -> Iterator[Edit]:
    """`"yes" if a else "no"` → `"Yes" if a else "No"`: all words of the statement or function in another case."""
    words = [n for n in site.body if isinstance(n, cst.SimpleString) and site.region.has(n) and _is_word(n, site)]
    here = [n for n in site.unit.nodes() if isinstance(n, cst.SimpleString) and _is_word(n, site)]
    if node not in here[:1]:
        return
    for change, weight in ((str.capitalize, 1.0), (str.upper, 0.8), (str.lower, 0.8)):
        for nodes in (here, words):
            if 1 < len(nodes) <= _MOST:
                codes = [quoted(change(str(n.evaluated_value)), n.value) for n in nodes]
                yield _edit(site, nodes, codes, weight, node)


def _is_word(node: cst.SimpleString, site: Site) -> bool:
    value = node.evaluated_value
    return isinstance(value, str) and value.isalpha() and not isinstance(site.parent(node), cst.Expr)


@template(cst.Name, strategy="names", prior=0.4, families=_TOGETHER)
def name_everywhere(node: cst.Name, site: Site) -> Iterator[Edit]:
    """A variable read in the statement, or in the whole function, → another one at each of these places."""
    if not is_read(node, site) or node.value not in site.variables:
        return
    everywhere = [n for n in _equals(node, site) if isinstance(n, cst.Name) and is_read(n, site)]
    here = [n for n in site.unit.nodes() if isinstance(n, cst.Name) and n.value == node.value and is_read(n, site)]
    groups = [nodes for nodes in (here, everywhere) if len(nodes) > 1]
    for name, weight in fading(alike(node.value, site.local_variables)[:8], step=0.2) if groups else ():
        for nodes in groups:
            yield _edit(site, nodes, [name] * len(nodes), weight, node)


@template(cst.BooleanOperation, strategy="operators", prior=0.6, families=_TOGETHER)
def whole_chain(node: cst.BooleanOperation, site: Site) -> Iterator[Edit]:
    """`a and b and c` → `a or b or c` and back, its comparisons all turned round or not (De Morgan's slip)."""
    if isinstance(site.parent(node), cst.BooleanOperation):
        return
    operations = [n for n in (node, *_within(node)) if isinstance(n, cst.BooleanOperation)]
    signs = [n.operator for n in operations]
    flipped = ["or" if isinstance(n, cst.And) else "and" for n in signs]
    if len(signs) > 1:
        yield _edit(site, signs, flipped, 1.0, node)
    compared = _signs(node, site)
    for code in _OPPOSITE.get(site.code(compared[0]), ()) if len(compared) > 1 else ():
        same = [n for n in compared if site.code(n) == site.code(compared[0])]
        yield _edit(site, same, [code] * len(same), 0.7, node)
        yield _edit(site, [*same, *signs], [*[code] * len(same), *flipped], 0.5, node)


@template(cst.Comparison, strategy="operators", prior=0.45, families=_TOGETHER)
def comparison_everywhere(node: cst.Comparison, site: Site) -> Iterator[Edit]:
    """Every `<` of the function → `<=`, `>`; of a chain `a < b < c` both."""
    sign = site.code(node.comparisons[0].operator)
    nodes = [n for n in site.body if isinstance(n, cst.ComparisonTarget) and site.region.has(n)]
    same = [n.operator for n in nodes if site.code(n.operator) == sign]
    chained = [t.operator for t in node.comparisons if site.code(t.operator) == sign]
    for code, weight in fading(_OPPOSITE.get(sign, ())):
        for group in (chained, same):
            if 1 < len(group) <= _MOST:
                yield _edit(site, group, [code] * len(group), weight, node)


@template(cst.AugAssign, strategy="operators", prior=0.35, families=_TOGETHER)
def exchanged_signs(node: cst.AugAssign, site: Site) -> Iterator[Edit]:
    """`a += 1` in one branch and `a -= 1` in another change places."""
    signs = [n.operator for n in site.body if isinstance(n, cst.AugAssign)]
    both = [n for n in signs if isinstance(n, (cst.AddAssign, cst.SubtractAssign))]
    if len({type(n) for n in both}) == 2:
        yield _edit(site, both, ("-=" if isinstance(n, cst.AddAssign) else "+=" for n in both), 1.0, node)


def _signs(node: cst.BooleanOperation, site: Site) -> list[cst.CSTNode]:
    targets = [n for n in _within(node) if isinstance(n, cst.ComparisonTarget)]
    return [target.operator for target in targets if site.region.has(target.operator)]


def _within(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for child in node.children:
        yield child
        if not isinstance(child, cst.Lambda):
            yield from _within(child)
