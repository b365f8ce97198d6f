"""Short conditions over what is in scope, likeliest first: the stock of condition synthesis.

Condition synthesis after Nopol (Xuan et al. 2017) and DynaMoth (Durieux and Monperrus 2016): comparisons of in-scope
values with each other and with constants, here chosen by kinds instead of by a solver. The constants are the
function's own and those that docstring and tests show, as in SemFix's ingredients (Nguyen et al. 2013).
"""

import heapq
import re
from collections.abc import Iterable, Iterator
from itertools import combinations

import libcst as cst

from workers.repair.engines.search.edit_context import Site
from workers.repair.engines.search.scope import names_in
from workers.repair.engines.search.source_slice import below
from workers.repair.engines.search.type_inference import (
    MAPPING,
    NUMBER,
    SEQUENCE,
    SET,
    TEXT,
    TRUTH,
    comparable,
    element,
    expression,
    is_sized,
    outer,
)

MOST = 400
"""How many predicates are made for one place, at most."""

_ORDER = (("==", 1.0), ("!=", 0.8), ("<", 0.8), (">", 0.8), ("<=", 0.7), (">=", 0.7))
_LONGEST = 24
_FINDING = ("split", "rsplit", "partition", "rpartition", "index", "rindex", "find", "rfind", "remove", "pop")


def predicates(site: Site, *, extra: Iterable[str] = (), near: str) -> list[tuple[str, float]]:
    """Conditions with weights within (0, 1], best first. `extra` are names bound here, `near` text whose names matter most."""
    ranked = _terms(site, tuple(extra), near)
    found: dict[str, float] = {}
    for code, weight in _all(site, ranked):
        found[code] = max(weight, found.get(code, 0.0))
    return heapq.nlargest(MOST, found.items(), key=lambda item: item[1])


def preconditions(nodes: Iterable[cst.CSTNode], site: Site) -> list[str]:
    """What must hold for some code to succeed: `k in d` for `d[k]`, `":" in s` for `s.split(":")`, and so on."""
    found: list[str] = []
    for node in nodes:
        match node:
            case cst.Subscript(value=base, slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
                text = site.code(base)
                found += [text, f"len({text}) > {site.code(key)}"] if isinstance(key, cst.Integer) else []
                found += [] if isinstance(key, cst.Integer) else [f"{site.code(key)} in {text}"]
            case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value=name)), args=[cst.Arg(value=part), *_]):
                if name in _FINDING:
                    found.append(f"{site.code(part)} in {site.code(base)}")
            case cst.Call(func=cst.Name(value="int" | "float"), args=[cst.Arg(value=text)]):
                found.append(f"{site.operand(text, 15)}.isdigit()")
            case cst.Attribute(value=cst.Name(value=name), attr=attribute) if name in site.live:
                found += [f"{name} is not None", f"hasattr({name}, {attribute.value!r})"]
    return [code for code in dict.fromkeys(found) if len(code) <= 2 * _LONGEST]


def _all(site: Site, terms: list[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    yield from _varied(site)
    for (one, w), (other, v) in combinations(terms, 2):
        yield from _pair(one, site.kind(one), other, site.kind(other), w * v)
    for term, weight in terms:
        yield from _single(site, term, site.kind(term), weight)


def _terms(site: Site, extra: tuple[str, ...], near: str) -> list[tuple[str, float]]:
    """Names, then short attributes and elements that the function reads; what occurs in `near` counts most."""
    read = [site.code(n) for n in site.body if isinstance(n, (cst.Attribute, cst.Subscript)) and site.region.has(n)]
    short = [text for text in dict.fromkeys(read) if len(text) <= _LONGEST and _is_closed(text, site, extra)]
    names = dict.fromkeys((*extra, *site.live))
    words = set(re.findall(r"\w+", near))
    terms = [(name, (1.0 if name in words else 0.6) / (1 + rank / 8)) for rank, name in enumerate(names)]
    terms += [(text, (0.7 if text in near else 0.35) / (1 + rank / 6)) for rank, text in enumerate(short)]
    ends = [(n, i) for n in names if outer(site.kind(n)) == SEQUENCE for i in ("0", "1", "-1")]
    terms += [(f"{name}[{index}]", 0.25) for name, index in ends if f"{name}[{index}]" not in short]
    return sorted(terms, key=lambda term: -term[1])[:18]


def _is_closed(text: str, site: Site, extra: tuple[str, ...]) -> bool:
    """Whether an expression reads only names that are bound here."""
    known = {*extra, *site.live, site.receiver}
    tree = expression(text)
    return tree is not None and names_in(tree) <= known and "(" not in text


def _pair(one: str, kind: str, other: str, second: str, weight: float) -> Iterator[tuple[str, float]]:
    if comparable(kind, second) and TRUTH not in (kind, second):
        for sign, worth in _ORDER if outer(kind) in ("", NUMBER, TEXT) else _ORDER[:2]:
            yield f"{one} {sign} {other}", weight * worth
    for part, whole, inner, around in ((one, other, kind, second), (other, one, second, kind)):
        if outer(around) in (SEQUENCE, MAPPING, SET, TEXT) and comparable(inner, element(around)):
            yield f"{part} in {whole}", weight * 0.9
            yield f"{part} not in {whole}", weight * 0.9
        if around == NUMBER and outer(inner) in (SEQUENCE, TEXT):
            for sign, worth in _ORDER:
                yield f"len({part}) {sign} {whole}", weight * worth * 0.8
        if inner == around == NUMBER:
            yield f"{part} % {whole} == 0", weight * 0.6
    if outer(kind) == outer(second) and outer(kind) in (SEQUENCE, TEXT, SET, MAPPING):
        for sign, worth in _ORDER:
            yield f"len({one}) {sign} len({other})", weight * worth * 0.7


def _single(site: Site, term: str, kind: str, weight: float) -> Iterator[tuple[str, float]]:
    yield term, weight * 0.6
    yield f"not {term}", weight * 0.7
    if kind in ("", NUMBER):
        yield from _counted(term, ("0", "1", *_numbers(site), "2", "-1"), weight * 0.8)
    if kind == NUMBER:
        for rank, number in enumerate(n for n in dict.fromkeys(("2", *_numbers(site))) if n not in ("0", "1")):
            yield f"{term} % {number} == 0", weight * 0.6 / (1 + rank / 6)
            yield f"{term} % {number} != 0", weight * 0.5 / (1 + rank / 6)
    if kind == TEXT:
        yield from _textual(site, term, weight * 0.5)
    if kind and is_sized(kind):
        yield from _counted(f"len({term})", ("0", "1", "2", *_numbers(site)), weight * 0.6)
    if not kind:
        yield f"{term} is None", weight * 0.4
        yield f"{term} is not None", weight * 0.4


def _counted(term: str, numbers: Iterable[str], weight: float) -> Iterator[tuple[str, float]]:
    for rank, number in enumerate(dict.fromkeys(numbers)):
        for sign, worth in _ORDER:
            yield f"{term} {sign} {number}", weight * worth / (1 + rank / 3)


def _textual(site: Site, term: str, weight: float) -> Iterator[tuple[str, float]]:
    for rank, letter in enumerate(site.examples.characters):
        yield f"{term} == {letter!r}", weight / (1 + rank / 4)
        yield f"{term} != {letter!r}", weight * 0.8 / (1 + rank / 4)
    for rank, method in enumerate(("isdigit", "isalpha", "isupper", "islower", "isspace", "isalnum")):
        yield f"{term}.{method}()", weight / (1 + rank / 4)


def _numbers(site: Site) -> list[str]:
    used = [site.code(n) for n in site.body if isinstance(n, cst.Integer)]
    return list(dict.fromkeys((*used, *site.examples.numbers)))[:12]


def _varied(site: Site) -> Iterator[tuple[str, float]]:
    """The function's own conditions with another constant or another sign: the branch that resembles its sibling."""
    for node in site.body:
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1 and len(site.code(node)) <= 40:
            text = site.code(node)
            if not _is_closed(text.replace("(", "[").replace(")", "]"), site, ()):
                continue
            yield text, 0.7
            yield from _renumbered(site, node)


def _quoted(site: Site, node: cst.SimpleString) -> list[str]:
    """Strings that the failing test shows, in the quotation marks of a literal."""
    fitting = [text for text in site.evidence.strings if text.isprintable() and not {*node.quote, "\\"} & set(text)]
    return [f"{node.quote}{text}{node.quote}" for text in fitting[:12]]


def _renumbered(site: Site, whole: cst.Comparison) -> Iterator[tuple[str, float]]:
    for node in below(whole):
        if isinstance(node, (cst.Integer, cst.SimpleString)) and site.region.has(node):
            start, end = site.region.span(node)
            first, last = site.region.span(whole)
            options = _numbers(site) if isinstance(node, cst.Integer) else _quoted(site, node)
            for rank, number in enumerate(n for n in options if n != node.value):
                code = site.region.text(first, start) + number + site.region.text(end, last)
                yield code, 0.8 / (1 + rank / 4)
