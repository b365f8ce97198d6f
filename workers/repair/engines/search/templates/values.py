"""Wrong values: constants, conversions, regular expressions, and the same slip at every place.

"Change boolean literal", "change numeral" of ManySStuBs4J (Karampatsis and Sutton 2020); "mutate literal", "mutate data
type" of TBar (Liu et al. 2019); type errors are the commonest run-time errors of Python programs (PyTER, Oh and Oh 2022).
Expressions: the mutation operators of MutRex (Arcaini et al. 2017), turned round;
that `$` matches before a last newline is CWE-777. A quarter of real one-hunk fixes repeat one change (Meng et al. 2011).
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.option_weights import by_rank, similarity
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.calls import signatures
from workers.repair.engines.search.templates.names import is_target
from workers.repair.engines.search.templates.operators import adds
from workers.repair.engines.search.type_inference import MAPPING, SEQUENCE, SET, TEXT, outer

_VALUES = (Family.ASSERTION, Family.VALUE, Family.LOOKUP, Family.TYPE, Family.ARITHMETIC)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
LONGEST_TEXT, _SHORT = 200, 20
_QUOTED = re.compile(r"""'([^'\n]{0,30})'""")


@template(cst.Name, strategy="boundaries", prior=0.75, families=_VALUES)
def singleton(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`True` → `False`, `None` → a value, and back."""
    options = {
        "True": ("False", "None"),
        "False": ("True", "None"),
        "None": ("False", "True", "0", '""', "[]", "{}", "()"),
    }
    return site.replacements(node, options.get(node.value, ()))


@template(cst.BaseNumber, strategy="boundaries", prior=0.47, families=_VALUES)
def number(node: cst.BaseNumber, site: Site) -> Iterator[Edit]:
    """A number → 0, 1, -1, 2, its negative, a tenth, another number of the function or of the error's message.

    Never `a - 0`: other templates drop the operand.
    """
    text = site.code(node)
    used = [site.code(n) for n in site.body if isinstance(n, cst.BaseNumber)]
    named = _NUMBER.findall(site.failure.message)
    scaled = [f"{text}0", text[:-1]] if text.endswith("0") and len(text) > 1 and "." not in text else []
    shown = (*site.evidence.numbers[:8], *site.examples.numbers[:6])
    near = [str(int(text) + 2), str(int(text) - 2), str(int(text) * 2)] if text.isdigit() and int(text) > 2 else []
    options = dict.fromkeys(("0", "1", "-1", "2", *used, *scaled, f"-{text}", *named, *shown, "None", *near))
    options.pop(text, None)
    parent = site.parent(node)
    negated = isinstance(parent, cst.UnaryOperation)
    added = adds(parent) and parent.right is node
    fitting = [code for code in options if not (negated and code.startswith("-")) and not (added and code == "0")]
    return site.replacements(node, fitting[:24], step=0.15)


def quoted(value: str, quote: str) -> str:
    """A string's literal, with these quotation marks where they fit."""
    return repr(value) if quote in value or "\\" in value else f"{quote}{value}{quote}"


def _shown(value: str, site: Site) -> list[str]:
    """What docstring and tests show in place of a string: a character for a character, an alike word for a word."""
    if len(value) == 1:
        return [c for c in (*_DELIMITERS.get(value, ""), *site.examples.characters[:10]) if c != value]
    words = dict.fromkeys((*site.examples.strings, *site.examples.words))
    near = [word for word in (*site.evidence.strings, *words) if word != value and similarity(value, word) >= 0.6]
    return sorted(near, key=lambda word: -similarity(value, word))[:8]


_DELIMITERS = {
    **dict(zip("()[]{}<>", ("[{<", "]}>", "({<", ")}>", "([<", ")]>", "([{", ")]}"), strict=True)),
    **dict(zip(",;:./-_ |", (";: ", ",:", ";,", ",/", "\\.-", "_ ", "- ", "_,-", ",;"), strict=True)),
}
"""Characters that are taken for one another."""


@template(cst.SimpleString, strategy="boundaries", prior=0.5, families=(*_VALUES, Family.ATTRIBUTE))
def string(node: cst.SimpleString, site: Site) -> Iterator[Edit]:
    """A string → one of the module or of the error's message, for a key those of the function first; another case or padding."""
    value = node.evaluated_value
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        return
    if node.prefix or isinstance(site.parent(node), cst.Expr):
        return
    named = _QUOTED.findall(site.failure.message)
    texts = [n for n in site.body if isinstance(n, cst.SimpleString)] if _is_key(node, site) else []
    fitting = [*(n.evaluated_value for n in texts if _is_key(n, site)), *(site.evidence.strings if texts else ())]
    known = dict.fromkeys((*named, *site.module.strings, *(text for text in fitting if isinstance(text, str))))
    order = {text: (text != site.clues.key, -fitting.count(text), -similarity(value, text)) for text in known}
    alike = sorted((text for text in known if text != value), key=lambda text: order[text])
    forms = dict.fromkeys(
        (value.strip(), f"{value} ", f" {value}", value.lower(), value.upper(), "", " ", f"{value}\\n")
    )
    if value.isalpha() and value.upper() != value.lower():
        forms |= dict.fromkeys((value.capitalize(), value.lower() + value.upper(), value.swapcase()))
    forms.pop(value, None)
    quote = node.value[-1]
    yield from site.replacements(node, (quoted(text, quote) for text in alike[:12]), step=0.2)
    for text, weight in by_rank(_shown(value, site), first=0.7, step=0.2):
        yield site.replace(node, quoted(text, quote), weight=weight)
    for text, weight in by_rank(forms, first=0.6):
        yield site.replace(node, f"{quote}{text}{quote}", weight=weight)


def _is_key(node: cst.SimpleString, site: Site) -> bool:
    """Whether a string is a subscript's, or given to `get`."""
    call = site.parent(site.parent(node))
    asked = isinstance(call, cst.Call) and site.code(call.func).endswith(".get")
    return asked or isinstance(site.parent(node), cst.Index)


@template(cst.BaseExpression, strategy="boundaries", prior=0.3, families=_VALUES)
def constant_for_variable(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """A constant where a variable belongs, or a variable where a constant does."""
    if isinstance(node, (cst.Integer, cst.SimpleString)) or site.code(node) in ("True", "False", "None"):
        if isinstance(site.parent(node), cst.Param):
            yield from site.replacements(node, (c for c in ("None", *_literals(site)) if c != site.code(node)))
        elif not isinstance(site.parent(node), (cst.Expr, cst.Dict, cst.DictElement)):
            shown = _literals(site) if site.code(node) == "None" else ()
            yield from site.replacements(node, dict.fromkeys((*shown, *_instead_of(node, site))))
    elif isinstance(node, cst.Name) and node.value in site.variables:
        taken = (cst.Arg, cst.Assign, cst.Return, cst.Comparison, cst.ComparisonTarget, cst.Index)
        options = ("0", "1", "None", "True", "False", '""', *_literals(site))
        for code, weight in by_rank(options if isinstance(site.parent(node), taken) else (), first=0.6):
            yield site.replace(node, code, weight=weight)


def _literals(site: Site) -> tuple[str, ...]:
    """Short texts and numbers that the failing test shows."""
    short = [text for text in site.evidence.strings if len(text) <= _SHORT]
    return *(quoted(text, '"') for text in short[:6]), *site.evidence.numbers[:6]


def _instead_of(node: cst.BaseExpression, site: Site) -> list[str]:
    """Variables for a constant; one that was quoted by mistake first, and lengths for a number."""
    value = node.evaluated_value if isinstance(node, cst.SimpleString) else ""
    meant = [str(value), f"{value!s}.encode()"] if value in site.local_variables else []
    sized = [n for n in site.live if outer(site.kind(n)) in (SEQUENCE, TEXT, MAPPING, SET)]
    lengths = [f"len({name})" for name in sized] if isinstance(node, cst.Integer) else []
    return list(dict.fromkeys((*meant, *site.local_variables, *site.live, *lengths)))


_TYPES = (Family.TYPE, Family.ATTRIBUTE, Family.VALUE, Family.ASSERTION)
_MAX_CONVERSIONS = 8
_SEARCHED = frozenset({"list", "tuple", "set", "sorted", "dict"})
_WRAPPERS = ("str", "int", "list", "float", "tuple", "set", "sorted", "round", "abs", "len", "bool", "dict")


@template(cst.BaseExpression, strategy="conversions", prior=0.35, families=_TYPES)
def missing_conversion(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `str(a)`, `int(a)`, `list(a)`, …; not of a number that is written there: `bool(2)` is no text that people write."""
    if isinstance(node, cst.BaseNumber) or not _is_value(node, site):
        return
    difference = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Subtract)
    likely = ("abs",) if difference else _by_context(node, site)
    order = dict.fromkeys((*_named_types(site.failure.message), *likely, *_WRAPPERS))
    parent = site.parent(node)
    if isinstance(parent, cst.ComparisonTarget) and isinstance(parent.operator, (cst.In, cst.NotIn)):
        # What was searched without a TypeError is no number, and its text is not what was meant.
        order = dict.fromkeys(n for n in order if n in _SEARCHED or (n == "str" and site.failure.family is Family.TYPE))
    focus = 1.0 if isinstance(node, (cst.Name, cst.Subscript, cst.Attribute, cst.Call)) or difference else 0.6
    text = site.code(node)[1:-1] if node.lpar else site.code(node)
    yield from site.replacements(node, (f"{name}({text})" for name in order), weight=focus, step=0.15)


@template(cst.BaseExpression, strategy="conversions", prior=0.35, families=(*_TYPES, Family.LOOKUP))
def own_conversion(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `clean(a)`, `self._norm(a)`; `b.append(a)` → `b.extend(clean(a))`: what the module defines for, or calls with, one."""
    if not _is_value(node, site):
        return
    text = site.code(node)[1:-1] if node.lpar else site.code(node)
    made = [f"{name}({text})" for name in _own_conversions(text, site)]
    yield from site.replacements(node, made, step=0.2)
    call = site.parent(site.parent(node))
    if isinstance(call, cst.Call) and (base := site.code(call.func)).endswith(".append"):
        yield from site.replacements(call, (f"{base[: -len('append')]}extend({code})" for code in made[:3]))


def _own_conversions(text: str, site: Site) -> list[str]:
    """Functions, methods and classes for one argument, those first whose parameter is called like the text."""
    found = Counter(call.name for call in site.module.calls if len(call.arguments) == 1)
    likely = {name: 0.1 * min(found[name], 3) for name in site.callables if found[name]}
    for function in site.module.functions:
        signature, around = function.signature, site.function
        if not signature.parameters or signature.required > 1 or signature.name.startswith("__") or function is around:
            continue
        beside = around is not None and function.owner == around.owner
        name = f"{site.receiver}.{signature.name}" if function.receiver and site.receiver and beside else signature.name
        if "." in name or function.qualname in site.callables:
            alike = similarity(text.rpartition(".")[2], signature.parameters[0])
            likely[name] = likely.get(name, 0.1 * min(found[signature.name], 3)) + alike
    return [name for name in sorted(likely, key=lambda name: -likely[name]) if name not in text][:_MAX_CONVERSIONS]


@template(cst.BaseExpression, strategy="conversions", prior=0.3, families=_TYPES)
def list_or_element(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `[a]`, `[]` → `[[]]`, `[a]` → `a`: one level of nesting too few or too many (type misuse of BugsInPy)."""
    if not isinstance(site.parent(node), (cst.Return, cst.Assign, cst.Element, cst.Arg, cst.BinaryOperation)):
        return
    if isinstance(node, cst.List) and len(node.elements) == 1 and isinstance(node.elements[0], cst.Element):
        yield site.replace(node, site.code(node.elements[0].value))
    if isinstance(node, (cst.List, cst.Name, cst.Call, cst.Tuple, cst.Subscript)):
        yield site.replace(node, f"[{site.code(node)}]", weight=1.0 if isinstance(node, cst.List) else 0.6)


def _named_types(message: str) -> list[str]:
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
    simple = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer)
    if not isinstance(node, (*simple, cst.BinaryOperation, cst.GeneratorExp, cst.ListComp, cst.BooleanOperation)):
        return False
    if isinstance(parent, cst.Attribute):
        return parent.value is node
    if isinstance(parent, (cst.AssignTarget, cst.Expr, cst.Decorator, cst.Param)):
        return False
    if isinstance(parent, cst.Call) or (isinstance(parent, cst.Arg) and (parent.star or parent.keyword is node)):
        return False
    return not is_target(node, site)


@template(cst.BaseExpression, strategy="conversions", prior=0.5, families=(Family.TYPE, Family.ATTRIBUTE))
def text_encoding(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `a.encode()`, `a.decode()`, and back; `"…"` → `b"…"`."""
    called = node.func if isinstance(node, cst.Call) else None
    if isinstance(called, cst.Attribute) and called.attr.value in ("encode", "decode"):
        yield site.replace(node, site.code(called.value))
        yield site.token(called.attr, "decode" if called.attr.value == "encode" else "encode", around=node)
    elif isinstance(node, cst.SimpleString) and not isinstance(site.parent(node), (cst.Expr, cst.ConcatenatedString)):
        is_bytes = node.prefix.lower().startswith("b")
        yield site.token(node, node.value.lstrip("bB") if is_bytes else f"b{node.value}", weight=0.5)
    elif isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) and _is_value(node, site):
        weight = 1.0 if "bytes" in site.failure.message else 0.25
        yield site.replace(node, f"{site.code(node)}.encode()", weight=weight)
        yield site.replace(node, f"{site.code(node)}.decode()", weight=weight)


@template(cst.BaseExpression, strategy="conversions", prior=0.25, families=_TYPES)
def element_or_whole(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `a[0]`, `a[1]`, `a[-1]`, `[a]`, `(a,)`; `a[0]` → `a`: one of many taken for the many."""
    if isinstance(node, cst.Subscript) and not isinstance(site.parent(node), (cst.AssignTarget, cst.Del)):
        yield site.replace(node, site.code(node.value), weight=0.8)
    if not _is_value(node, site) or not isinstance(node, (cst.Name, cst.Call, cst.Attribute)):
        return
    text = site.code(node)
    forms = ("{}[0]", "[{}]", "{}[-1]", "{}[1]", "({},)", "{}[:]", "{}[::-1]")
    yield from site.replacements(node, (form.format(text) for form in forms))


@template(cst.Arg, strategy="conversions", prior=0.5, families=_TYPES)
def string_for_tuple(node: cst.Arg, site: Site) -> Iterator[Edit]:
    """`f("a")` → `f(("a",))` where other calls give a tuple or list, or the parameter is a collection: a string is one, too."""
    call = site.parent(node)
    if not isinstance(call, cst.Call) or not isinstance(node.value, cst.SimpleString) or node.keyword or node.star:
        return
    name, index = site.code(call.func).rpartition(".")[2], call.args.index(node)
    like = (other.arguments[index : index + 1] for other in site.module.calls if other.name == name)
    taken = any(each.collections.intersection(each.parameters[index : index + 1]) for each in signatures(call, site))
    if taken or any(given[0][0] in "([" for given in like if given):
        yield site.replace(node.value, f"({site.code(node.value)},)", around=call)


@template(cst.BaseExpression, strategy="conversions", prior=0.6, families=_TYPES)
def swapped_elements(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`(a, b)` → `(b, a)`, `[a, b]` → `[b, a]`: neighbours of a short tuple, list, key or formatted string change places."""
    if isinstance(site.parent(node), (cst.AssignTarget, cst.For, cst.CompFor, cst.Del)):
        return
    if isinstance(node, cst.Subscript) and 1 < len(node.slice) <= 6:
        for first, second in pairwise(node.slice):
            yield site.exchange(first.slice, second.slice, around=node)
    if isinstance(node, (cst.Tuple, cst.List)) and 1 < len(node.elements) <= 6:
        for one, other in pairwise(node.elements):
            if not isinstance(one, cst.StarredElement) and not isinstance(other, cst.StarredElement):
                yield site.exchange(one.value, other.value, around=node)
    if isinstance(node, cst.FormattedString):
        shown = [part.expression for part in node.parts if isinstance(part, cst.FormattedStringExpression)]
        for left, right in pairwise(shown[:6]):
            yield site.exchange(left, right, around=node)
    if isinstance(node, cst.DictComp):
        yield site.exchange(node.key, node.value, around=node)


_MATCHING = (Family.ASSERTION, Family.ATTRIBUTE, Family.VALUE, Family.LOOKUP, Family.TYPE)
_SIGNS = re.compile(r"[*+?|]|\\[dDwWsSbB]|\[[^\[\]]*\]|\(\?|\([^()\n]*\)|\\[.()\[\]]")
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
    (r"([*+])(?!\?|$)", r"\1?"),
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
"""How many edits of an expression are made, and the most characters of one that is edited."""


@template(cst.SimpleString, strategy="boundaries", prior=0.4, families=_MATCHING)
def regex_detail(node: cst.SimpleString, site: Site) -> Iterator[Edit]:
    """`^a.b*$` → `\\Aa.b*\\Z`, `^a\\.b*$`, `^a.b+$`: one anchor, quantifier, class or escape."""
    quote, prefix = node.quote, node.prefix
    text = node.value[len(prefix) + len(quote) : -len(quote)]
    if len(text) > LONGEST or not _is_expression(node, text, site):
        return
    found = [text[: m.start()] + m.expand(new) + text[m.end() :] for o, new in _CHANGES for m in re.finditer(o, text)]
    for changed, weight in by_rank(list(dict.fromkeys(found))[:MOST], step=0.1):
        if changed != text and quote not in changed:
            yield site.token(node, f"{prefix or 'r'}{quote}{changed}{quote}", weight=weight)


def _is_expression(node: cst.SimpleString, text: str, site: Site) -> bool:
    """Whether a string is meant as a regular expression: it is raw and has their signs, or is given to what takes one."""
    call = site.parent(site.parent(node))
    given = isinstance(call, cst.Call) and site.code(call.func).rpartition(".")[2] in _CALLS
    raw = "r" in node.prefix
    meant = raw or (given and "\\" not in text)
    return meant and "b" not in node.prefix and bool(_SIGNS.search(text) or text[:1] == "^")
