"""Regular expressions that match a little too much or too little.

The mutation operators of MutRex (Arcaini et al. 2017), turned round: anchors, quantifiers, classes, escapes. That `$`
matches before a last newline is a weakness with a number (CWE-777).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template

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
