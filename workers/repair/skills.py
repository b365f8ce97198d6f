"""Skills as templates: where a learned edit fits a statement, its open parts filled from there. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from memory.model import Family, Skill
from memory.rewrites import imported_name
from memory.skills import template_of
from memory.terms import Hole, NotSource, Term, Tree, holes_in, pattern, size, term_of
from memory.unify import matched
from workers.repair.placing import Block, as_list, blocks_of, is_list, splices_of
from workers.repair.site import Edit, Site
from workers.repair.splices import Splice
from workers.repair.templates import Template

STRATEGY = "replay"

_ANY_NODE: type[cst.CSTNode] = cst.CSTNode  # type: ignore[type-abstract]  # every kind of node; none is made

MOST_FILLS = 6
"""Names that a hole is filled with which only the new code has, the nearest first."""


def templates_of(skills: Iterable[Skill]) -> tuple[Template, ...]:
    """A template for each skill that can be read."""
    return tuple(made for made in map(_template, skills) if made is not None)


def _template(skill: Skill) -> Template | None:
    try:
        before, after = pattern(skill.before), pattern(skill.after)
    except NotSource:
        return None
    if isinstance(before, Hole) or is_list(before) != is_list(after):
        before, after = as_list(before), as_list(after)
    taught = _Taught(skill, before, after)
    return Template(
        name=template_of(skill),
        strategy=STRATEGY,
        families=frozenset(Family(each) for each in skill.families if each in set(Family)),
        prior=min(max(skill.rate, 0.01), 0.99),
        node=_ANY_NODE,
        generate=taught.edits,
    )


@dataclass(frozen=True, slots=True)
class _Match:
    """One place where the old code of a skill stands: nodes for it, and what the holes stand for."""

    root: list[ast.stmt] | ast.expr
    bound: Mapping[int, Term]


@dataclass(frozen=True, slots=True)
class _Taught:
    """One skill, read."""

    skill: Skill
    before: Term
    after: Term

    def edits(self, node: cst.CSTNode, site: Site) -> Iterator[Edit]:
        """The edits that a skill makes of a statement, at the statement's own node."""
        if node is not site.unit.node:
            return
        block = blocks_of(site.region.module).get(site.unit.first_line)
        if block is None or block.inside[: len(self.skill.inside)] != self.skill.inside or not self._known(site):
            return
        imports = tuple(line for line in self.skill.imports if imported_name(line) not in site.names)
        for found in self._matches(block):
            for weight, bound in self._filled(found.bound, site):
                splices = splices_of(self.before, self.after, found.root, block, bound, site.region)
                if splices:
                    yield _edit(splices, weight * _specific(self.before), imports)

    def _known(self, site: Site) -> bool:
        brought = set(map(imported_name, self.skill.imports))
        return all(name in site.names or name in brought for name in self.skill.needs)

    def _matches(self, block: Block) -> Iterator[_Match]:
        if isinstance(self.before, Tree) and self.before.kind == "[]":
            length = len(self.before.children)
            for first in range(max(0, block.at - length + 1), block.at + 1) if length else (block.at,):
                window = list(block.body[first : first + length])
                bound: dict[int, Term] = {}
                if len(window) == length and matched(self.before, term_of(window), bound):
                    yield _Match(window, bound)
            return
        for node in _expressions(block.body[block.at]):
            bound = {}
            if matched(self.before, term_of(node), bound):
                yield _Match(node, bound)

    def _filled(self, bound: Mapping[int, Term], site: Site) -> Iterator[tuple[float, Mapping[int, Term]]]:
        """What the holes stand for, with names for those that only the new code has; the nearest names first."""
        free = {hole for hole in holes_in(self.after) if hole.number not in bound}
        if not free:
            yield 1.0, bound
            return
        (hole,) = free
        for place, name in enumerate(_candidates(hole.kind, site)):
            yield 0.9**place, {**bound, hole.number: term_of(ast.Name(id=name))}


def _candidates(role: str, site: Site) -> list[str]:
    function = site.function
    parameters = function.parameters if function else ()
    of = {
        "parameter": parameters,
        "local": tuple(name for name in site.live if name not in parameters),
        "module": (*site.module.variables, *site.callables),
    }
    return list(dict.fromkeys(of.get(role, site.live)))[:MOST_FILLS]


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a statement, outermost first, without those of the statements in it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            continue
        if isinstance(child, ast.expr):
            yield child
        if not isinstance(child, (ast.JoinedStr, ast.FormattedValue)):
            yield from _expressions(child)


def _specific(before: Term) -> float:
    """The more of an edit's old code is given, the more it says that it fits."""
    return 1.0 - 1.0 / (2.0 + size(before))


def _edit(splices: Sequence[Splice], weight: float, imports: tuple[str, ...]) -> Edit:
    around = min(each.start for each in splices), max(each.end for each in splices)
    return Edit(splices=tuple(splices), around=around, weight=weight, imports=imports)
