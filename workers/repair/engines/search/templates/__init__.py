"""Kinds of edits. Each module here holds one family; adding one touches that file and its test, nothing else.

A template is a generator of edits at a node, made with the `template` decorator. Discovery finds them.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeVar, cast

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.edit_context import Edit, Site

Node = TypeVar("Node", bound=cst.CSTNode)

STRATEGIES: tuple[str, ...] = (
    "operators", "boundaries", "guards", "names", "calls", "imports", "conversions", "returns", "statements",
)  # fmt: skip
"""The arms that the policy chooses between; every template belongs to one."""

OTHER_FAMILIES = 0.4
"""What a template's prior is multiplied by for failures outside its families: less likely, never impossible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One kind of edit. No `families` means that it suits them all; `prior` within (0, 1)."""

    name: str
    strategy: str
    families: frozenset[Family]
    prior: float
    node: type[cst.CSTNode]
    generate: Callable[[cst.CSTNode, Site], Iterable[Edit]]

    def prior_for(self, family: Family) -> float:
        """How likely this kind of edit is for a family of failures, before anything was learned.

        An error of the project's own says no more about its cause than a failed assertion does.
        """
        alike = {family, Family.ASSERTION} if family is Family.OTHER else {family}
        return self.prior if not self.families or self.families & alike else self.prior * OTHER_FAMILIES

    def edits(self, node: cst.CSTNode, site: Site) -> Iterator[Edit]:
        """The edits at a node; none when it is of another kind."""
        if isinstance(node, self.node):
            yield from self.generate(node, site)


def template(
    node: Callable[..., Node], *, strategy: str, prior: float, families: Iterable[Family] = ()
) -> Callable[[Callable[[Node, Site], Iterable[Edit]]], Template]:
    """Make a generator of edits at nodes of one type into a template that carries the function's name."""
    if strategy not in STRATEGIES:
        raise ValueError(f"unknown strategy {strategy!r}: use one of {', '.join(STRATEGIES)}")

    def register(function: Callable[[Node, Site], Iterable[Edit]]) -> Template:
        return Template(
            name=function.__name__,
            strategy=strategy,
            families=frozenset(families),
            prior=prior,
            node=cast("type[Node]", node),  # typed as a callable, because type[Node] refuses abstract classes
            generate=cast("Callable[[cst.CSTNode, Site], Iterable[Edit]]", function),
        )

    return register


@cache
def all_templates() -> tuple[Template, ...]:
    """Every template in this package, by name."""
    found: dict[str, Template] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, Template) and found.setdefault(value.name, value) is not value:
                raise ValueError(f"two templates are named {value.name}: rename one")
    return tuple(found[name] for name in sorted(found))
