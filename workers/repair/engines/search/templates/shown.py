"""What the failing test shows in place of what is written: parts of texts, keyword arguments, elements of containers.

The ingredient of a fix is mostly in the test that asks for it (SemFix, Nguyen et al. 2013); "change boolean literal",
"change numeral" and "change keyword argument" of PySStuBs (Kamienski et al. 2021). A text is aligned with the one expected.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.evidence import TextChange
from workers.repair.engines.search.option_weights import by_rank, similarity
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.values import quoted
from workers.repair.engines.search.type_inference import TEXT, may_be

_VALUES = (Family.ASSERTION, Family.VALUE, Family.LOOKUP, Family.TYPE, Family.ATTRIBUTE, Family.OTHER)
_CONTEXTS = ((3, 3), (3, 0), (0, 3), (1, 1), (1, 0), (0, 1))
_LONGEST, _ALIKE = 400, 0.75
_PLAIN = frozenset("\\\n'\"{}")


@template(cst.CSTNode, strategy="boundaries", prior=0.85, families=_VALUES)
def text_as_expected(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`"Got %s"` → `"got %s"`, `none="*"` → `none=-1`: a literal, or a part of it, becomes what an assertion expected there."""
    texts, values = (cst.SimpleString, cst.FormattedStringText), (cst.BaseNumber, cst.Name)
    if isinstance(site.parent(node), cst.Expr) or not isinstance(node, texts if site.function else texts + values):
        return
    text = _bare(node, site)
    changed = (code for change in site.evidence.changes for code in _changed(text, change) if isinstance(node, texts))
    for code, weight in by_rank(code for code in dict.fromkeys((*_instead(text, site), *changed)) if code != text):
        yield site.token(node, code, weight=weight)


def _bare(node: cst.CSTNode, site: Site) -> str:
    """A node's source without its own parentheses, which stay around what comes in its place."""
    return site.region.text(*site.region.span(node))


def _instead(text: str, site: Site) -> Iterator[str]:
    """What an assertion, or a text of the failing test, has there; in functions no other type, nor quite another answer."""
    with suppress(ValueError, SyntaxError):
        value = ast.literal_eval(text)
        near = site.evidence.nearly(value) if isinstance(value, str) else ()
        whole = site.function is not None and any(value in pair for pair in site.evidence.pairs)
        for other in (*site.evidence.instead_of(value), *near):
            if isinstance(other, str) and isinstance(value, str):
                yield from () if whole and similarity(value, other) < _ALIKE else (quoted(other, text[-1]),)
            elif site.function is None:
                yield repr(other)


def _changed(text: str, change: TextChange) -> Iterator[str]:
    """The literal with the change made where it fits, by as much of the text around it as is there."""
    if _PLAIN & set(change.actual + change.expected):
        return
    for left, right in _CONTEXTS:
        before, behind = change.before[len(change.before) - left :] if left else "", change.behind[:right]
        found = before + change.actual + behind
        if found and text.count(found) == 1:
            yield text.replace(found, before + change.expected + behind)
            return


@template(cst.CSTNode, strategy="boundaries", prior=0.7, families=_VALUES)
def misspelt_word(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`"an atribute"` → `"an attribute"`: a word of a text that the failing test spells otherwise."""
    if not isinstance(node, (cst.SimpleString, cst.FormattedStringText)) or isinstance(site.parent(node), cst.Expr):
        return
    text, shown = _bare(node, site), site.evidence.words
    for word in dict.fromkeys(re.findall(r"[^\W\d_]{4,}", text)) if len(text) <= _LONGEST else ():
        near = [other for other in shown if word not in shown and similarity(word, other) >= _ALIKE]
        for other, weight in by_rank(sorted(near, key=lambda other: (-similarity(word, other), other))[:2]):
            yield site.token(node, re.sub(rf"\b{word}\b", other, text), weight=weight)


@template(cst.BaseExpression, strategy="operators", prior=0.6, families=_VALUES)
def missing_affix(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`a` → `"RULE:" + a`, `a + ";"`: what an assertion expected before or behind the actual text."""
    if isinstance(site.parent(node), (cst.Arg, cst.Assign, cst.Return)) and not isinstance(node, cst.BaseString):
        for change in site.evidence.changes if may_be(site.kind(site.code(node)), TEXT) else ():
            if not change.actual and not (change.before and change.behind):
                both = (repr(change.expected), site.operand(node, 11))
                yield site.replace(node, " + ".join(both if change.behind else both[::-1]))


@template(cst.Call, strategy="calls", prior=0.5, families=_VALUES)
def shown_keyword(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`f(a)` → `f(a, exists=False)`, `f(a, exists=True)` → `f(a, exists=False)`: as the failing test or a like call has it."""
    given = {site.code(arg.keyword): arg for arg in node.args if arg.keyword is not None}
    name = site.code(node.func).rpartition(".")[2]
    known = {parameter for way in site.signatures(name) for parameter in way.parameters}
    like = [given for call in site.module.calls if call.name == name for given in call.arguments if "=" in given]
    shown = [code for code in site.evidence.keywords if not known or code.partition("=")[0] in known]
    options = [code.partition("=") for code in dict.fromkeys((*shown, *like)) if code.partition("=")[0].isidentifier()]
    for (keyword, _, value), weight in by_rank(options[:12], step=0.15):
        if keyword in given:
            yield site.replace(given[keyword].value, value, weight=weight, around=node)
        else:
            positional = [site.code(arg) for arg in node.args if not arg.star.startswith("**")]
            spread = [site.code(arg) for arg in node.args if arg.star.startswith("**")]
            arguments = ", ".join((*positional, f"{keyword}={value}", *spread))
            yield site.replace(node, f"{site.code(node.func)}({arguments})", weight=weight * 0.8)


@template(cst.SimpleString, strategy="names", prior=0.5, families=_VALUES)
def shown_attribute(node: cst.SimpleString, site: Site) -> Iterator[Edit]:
    """`"time"` → `self.key`, `self.stamper.key`: an attribute that the failing test gives a value by a keyword."""
    scopes = site.module.lineage(site.function.owner) if site.function and site.receiver else ()
    near = [name for scope in scopes for name in scope.attributes]
    given = [code.partition("=")[0] for code in site.evidence.keywords[:4]]
    names = [name for name in given if near and any(site.project.classes_having(name))]
    intermediates = [f"{hop}.{name}" for name in names for hop in near[:4] if hop not in names]
    chains = (f"{site.receiver}.{chain}" for chain in (*(name for name in names if name in near), *intermediates[:6]))
    yield from site.replacements(node, chains if not isinstance(site.parent(node), cst.Expr) else ())


@template(cst.BaseExpression, strategy="boundaries", prior=0.4, families=_VALUES)
def shown_element(node: cst.BaseExpression, site: Site) -> Iterator[Edit]:
    """`("a", "b")` → `("a", "b", "c")`: an element that the failing test shows, or one less."""
    if not isinstance(node, (cst.List, cst.Tuple, cst.Set)) or not node.elements or site.code(node).count("\n") > 1:
        return
    values = [site.code(element.value) for element in node.elements]
    more = (*_siblings(values[-1], values, site), *_namesakes(node.elements[-1].value, values, site))
    for code, weight in by_rank(more):
        yield _put_together(node, [*values, code], site, weight)
    for index in reversed(range(len(values))) if 1 < len(values) <= 6 else ():
        yield _put_together(node, values[:index] + values[index + 1 :], site, 0.4)


def _namesakes(last: cst.BaseExpression, values: list[str], site: Site) -> list[str]:
    """Attributes of the same object beside an attribute, other names of the module beside a name."""
    if isinstance(last, cst.Attribute):
        base = site.code(last.value)
        own = site.module.members(site.function.owner) if site.function and base == site.receiver else ()
        near = [f"{base}.{name}" for name in (*own, *site.module.parts.get(base, ()))]
    else:
        near = [*site.callables, *site.module.variables] if isinstance(last, cst.Name) else []
    fitting = [code for code in dict.fromkeys(near) if code not in values]
    shown, text = site.evidence.words, site.code(last)
    return sorted(fitting, key=lambda code: (code.rpartition(".")[2] not in shown, -similarity(code, text)))[:8]


def _siblings(last: str, values: list[str], site: Site) -> list[str]:
    """Shown literals of the kind of `last`, the most alike first."""
    if last[:1] in "'\"":
        quoted = [repr(text) if last[0] == "'" else f'"{text}"' for text in site.evidence.strings if '"' not in text]
        return sorted((code for code in quoted if code not in values), key=lambda code: -similarity(code, last))[:8]
    return [code for code in site.evidence.numbers if code not in values][:6] if last[:1].isdigit() else []


def _put_together(node: cst.List | cst.Tuple | cst.Set, values: list[str], site: Site, weight: float) -> Edit:
    inner = ", ".join(values) + ("," if len(values) == 1 and isinstance(node, cst.Tuple) else "")
    opened = {cst.List: "[{}]", cst.Set: "{{{}}}"}.get(type(node), "({})" if node.lpar else "{}")
    code = opened.format(inner)
    return site.splice(*site.region.outer_span(node), code, weight=weight, around=site.region.span(node))
