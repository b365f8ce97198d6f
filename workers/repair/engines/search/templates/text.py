"""Text put together wrongly: a forgotten `f`, wrong `%` or `format` arguments, `join`.

String formatting errors have detectors of their own in every linter (pyflakes F50x, F52x); here they are repaired.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template

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
