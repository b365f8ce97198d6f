"""Arguments of which several are in the wrong place, by the parameters' names or by another call of the same function.

Name-based argument selection (Rice et al. 2017); "same function swap args" of ManySStuBs4J (Karampatsis and Sutton
2020), where more than two are out of place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.scope import Signature
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.calls import signatures
from workers.repair.engines.search.templates.names import bound_in_statement

_ANY = (Family.ASSERTION, Family.TYPE, Family.VALUE, Family.LOOKUP, Family.ATTRIBUTE, Family.ARITHMETIC, Family.NAME)

MOST_LACKING = 2
"""So many parameters may be called like nothing in scope, or the names tell too little."""


@template(cst.Call, strategy="calls", prior=0.65, families=_ANY)
def misplaced_arguments(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`area(b, b)` → `area(a, b)` where `def area(a, b)`: each parameter gets what is called like it."""
    if not node.args or any(arg.star for arg in node.args):
        return
    given = [site.code(arg.value) for arg in node.args if arg.keyword is None]
    named = [(site.code(arg.keyword), site.code(arg.value)) for arg in node.args if arg.keyword is not None]
    words = [name for name, _ in named]
    stock = list(dict.fromkeys((*given, *(value for _, value in named), *site.live, *bound_in_statement(site))))
    kept = [f"{name}={value}" for name, value in named]
    put_right = [f"{name}={next((code for code in stock if _bears(code, name)), value)}" for name, value in named]
    for way in signatures(node, site) or (Signature(name="", parameters=(), required=0),):
        free = [name for name in way.parameters if name not in words]
        for count in dict.fromkeys((len(given), way.required)):
            for arguments in matched(free[:count], given, stock):
                for rest in (put_right, kept) if put_right != kept else (kept,):
                    yield site.replace(node, f"{site.code(node.func)}({', '.join((*arguments, *rest))})")


def matched(parameters: Sequence[str], given: Sequence[str], stock: Sequence[str]) -> Iterator[Sequence[str]]:
    """What fits each parameter by its name, with the rest of what is given in every order for the others, its own first."""
    fitting = {name: code for name in parameters for code in reversed(stock) if _bears(code, name)}
    lacking = [name for name in parameters if name not in fitting]
    left = [code for code in given if code not in fitting.values()]
    if len(parameters) < len(given) or len(lacking) > len(left) or len(lacking) > MOST_LACKING:
        yield given
        return
    for rest in permutations(left, len(lacking)):
        filled = fitting | dict(zip(lacking, rest, strict=True))
        yield [filled[name] for name in parameters]


def _bears(code: str, name: str) -> bool:
    """Whether an expression is called like a parameter: `size`, `self.size`, `event._size`."""
    return code.rpartition(".")[2].strip("_") == name.strip("_")


@template(cst.Call, strategy="calls", prior=0.45, families=_ANY)
def arguments_of_like_call(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`put(b, a, a)` → `put(a, b, c)`: the arguments that another call of it in the module has."""
    name, own = site.code(node.func).rpartition(".")[2], tuple(site.code(arg) for arg in node.args)
    others = Counter(call.arguments for call in site.usage.calls if call.name == name and call.arguments != own)
    alike = sorted(others, key=lambda arguments: (len(arguments) != len(own), -others[arguments]))
    for arguments, weight in fading(alike[:8]):
        yield site.replace(node, f"{site.code(node.func)}({', '.join(arguments)})", weight=weight)
