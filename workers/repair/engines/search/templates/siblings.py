"""The sibling that was forgotten: a statement or an argument like the one beside it, of another name.

What a fix inserts is mostly in the file already ("The plastic surgery hypothesis", Barr et al. 2014), and often a copy of
the line before it with a name exchanged throughout (copies and their renamings: CP-Miner, Li et al. 2004).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading, likeness
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.calls import signatures
from workers.repair.engines.search.templates.names import is_read

_FAMILIES = (Family.ASSERTION, Family.LOOKUP, Family.ATTRIBUTE, Family.TYPE, Family.NAME, Family.VALUE, Family.OTHER)
_WORD = re.compile(r"[^\W\d]\w*")
_LONGEST, _MOST_NAMES = 120, 8


@template(cst.SimpleStatementLine, strategy="statements", prior=0.45, families=_FAMILIES)
def forgotten_statement(node: cst.SimpleStatementLine, site: Site) -> Iterator[Edit]:
    """`new.name = old.name` is followed by `new.size = old.size`; `data["a"] = 0` by `data["b"] = 0`."""
    text = site.code(node)
    small = node.body[0] if len(node.body) == 1 else None
    is_call = isinstance(small, cst.Expr) and isinstance(small.value, cst.Call)
    if not (is_call or isinstance(small, cst.Assign)) or "\n" in text or len(text) > _LONGEST:
        return
    for code, weight in fading(_renamed(text, _exchangeable(text, site), _names(site))):
        yield from site.insert_after((code,), weight=weight)


@template(cst.Call, strategy="calls", prior=0.45, families=_FAMILIES)
def forgotten_argument(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`f(a=args.a)` → `f(a=args.a, b=args.b)`: what the call can take, or the test or a parameter is called."""
    last = node.args[-1] if node.args else None
    if last is None or last.keyword is None or last.keyword.value not in _WORD.findall(site.code(last.value)):
        return
    given = {arg.keyword.value for arg in node.args if arg.keyword}
    known = [p for signature in signatures(node, site) for p in signature.parameters]
    names = dict.fromkeys((*(name for name in _names(site) if name in known), *known, *_names(site)))
    for name, weight in fading([name for name in names if name not in given][:_MOST_NAMES]):
        code = _exchanged(site.code(last.value), last.keyword.value, name)
        at = site.region.outer_span(last.value)[1]
        yield site.splice(at, at, f", {name}={code}", weight=weight, around=site.region.span(node))


def _names(site: Site) -> list[str]:
    """What a sibling may be called: what the error misses; then, where the function does not speak of them, its unused
    parameters, and what the failing tests pass or write."""
    evidence, function = site.evidence, site.function
    used = {n.value for n in site.body if isinstance(n, cst.Name)}
    spoken = used | {w for n in site.body if isinstance(n, cst.SimpleString) for w in _WORD.findall(n.value)}
    unused = [p for p in function.parameters if p not in used and p != function.receiver] if function else []
    passed = [keyword.partition("=")[0] for keyword in evidence.keywords]
    shown = [text for text in evidence.strings if text.isidentifier()]
    called = function.signature.name if function else ""
    known = site.module.members(function.owner) if function and function.receiver else site.variables
    words = sorted((w for w in evidence.words if w in known), key=lambda word: -likeness(word, called))
    others = [name for name in (*unused, *passed, *shown, *words) if name not in spoken or name in unused]
    return list(dict.fromkeys((*sorted(evidence.named), *others)))


def _exchangeable(text: str, site: Site) -> list[str]:
    """The words of a statement that tell it from its like: those that occur twice, then keys, then attributes and names."""
    words = [word for word in _WORD.findall(text) if word not in (site.receiver, "None", "True", "False")]
    nodes = [n for n in site.unit.nodes() if isinstance(n, cst.CSTNode)]
    keys = {w for n in nodes if isinstance(n, cst.SimpleString) for w in _WORD.findall(n.value)}
    called = {site.code(n.func).rpartition(".")[2] for n in nodes if isinstance(n, cst.Call)}
    read = {n.value for n in nodes if isinstance(n, cst.Name) and is_read(n, site)}
    telling = [
        word for word in dict.fromkeys(words) if words.count(word) > 1 or word in keys or word not in called | read
    ]
    return sorted(telling, key=lambda word: (-words.count(word), word not in keys))[:3]


def _renamed(text: str, words: list[str], names: list[str]) -> Iterator[str]:
    """The text with one of its words exchanged throughout for each of the first names."""
    seen = {text}
    for name in names[:_MOST_NAMES]:
        for word in words:
            code = _exchanged(text, word, name)
            if code not in seen:
                seen.add(code)
                yield code


def _exchanged(text: str, word: str, name: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", name, text)
