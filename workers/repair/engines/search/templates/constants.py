"""Wrong constants.

"Change boolean literal", "change numeral" of ManySStuBs4J (Karampatsis and Sutton 2020); "mutate literal" of TBar 2019.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading, likeness
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template
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
    named = _NUMBER.findall(site.failure.message)
    scaled = [f"{text}0", text[:-1]] if text.endswith("0") and len(text) > 1 and "." not in text else []
    shown = site.examples.numbers[:8]
    near = [str(int(text) + 2), str(int(text) - 2), str(int(text) * 2)] if text.isdigit() and int(text) > 2 else []
    options = dict.fromkeys(("0", "1", "-1", "2", *used, *scaled, f"-{text}", *named, *shown, "None", *near))
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
    named = _QUOTED.findall(site.failure.message)
    known = dict.fromkeys((*named, *site.module.strings))
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
