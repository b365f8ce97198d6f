"""Where the new code of a skill goes: the smallest pieces of source that differ, and the text for them. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memory.rewrites import BLOCKS, Place
from memory.terms import ANY_BODY, WORD, Hole, NotSource, Term, Tree, fields_of, holes_in, named, pattern, written
from memory.unify import filled
from workers.repair.precedence import wrapped
from workers.repair.region import Region, SourceModule
from workers.repair.splices import Splice

_LOOSE = (ast.stmt, ast.keyword, ast.List, ast.Tuple, ast.Set, ast.Dict)
"""Where an expression needs no parentheses."""


@dataclass(frozen=True, slots=True)
class Block:
    """Where a statement stands: in which list, at which place of it."""

    body: Sequence[ast.stmt]
    at: int
    inside: tuple[str, ...]


@lru_cache(maxsize=32)
def blocks_of(module: SourceModule) -> Mapping[int, Block]:
    """Every statement of a module by the line that it begins on; of several on one line, none."""
    found: dict[int, list[Block]] = {}

    def visit(body: Sequence[ast.AST], place: Place) -> None:
        for at, node in enumerate(body):
            if isinstance(node, ast.stmt):
                statements = [each for each in body if isinstance(each, ast.stmt)]
                found.setdefault(node.lineno, []).append(Block(statements, at, place.inside))
            for name in BLOCKS:
                inner = getattr(node, name, None)
                if isinstance(inner, list):
                    visit(inner, place.within(node, name))

    visit(module.tree.body, Place())
    return {line: blocks[0] for line, blocks in found.items() if len(blocks) == 1}


def is_list(term: Term) -> bool:
    return isinstance(term, Tree) and term.kind == "[]"


def as_list(term: Term) -> Term:
    """Statements, also of what is only an expression."""
    return term if is_list(term) else Tree("[]", (Tree("Expr", (term,)),))


def splices_of(
    before: Term, after: Term, root: object, block: Block, bound: Mapping[int, Term], region: Region
) -> list[Splice]:
    """The new code in the place of what differs; nothing where that cannot be written."""
    sources = dict(_sources(before, root, region))
    changed = _changed(before, after, root if isinstance(root, list) else [root], top=not isinstance(root, list))
    if changed is None:
        return []
    made = [_splice(node, new, block, bound, sources, region) for node, new in changed]
    splices = [each for each in made if each is not None]
    return splices if len(splices) == len(made) else []


Changed = tuple[ast.expr | list[ast.stmt], Term]


def _changed(before: Term, after: Term, node: object, *, top: bool = False) -> list[Changed] | None:
    """The smallest nodes that differ, with the new terms for them; None where they have no place of their own."""
    if top:
        assert isinstance(node, list)
        return _changed(before, after, node[0])
    if before == after:
        return []
    if isinstance(before, Tree) and isinstance(after, Tree) and before.kind == after.kind:
        inner = _inner(before, after, node)
        if inner is not None:
            return inner
    if isinstance(node, ast.expr):
        return [(node, after)]
    if isinstance(node, ast.stmt):
        return [([node], Tree("[]", (after,)))]
    if isinstance(node, list) and is_list(before) and is_list(after) and all(isinstance(n, ast.stmt) for n in node):
        return [(node, after)] if node or isinstance(after, Tree) else None
    return None


def _inner(before: Tree, after: Tree, node: object) -> list[Changed] | None:
    if len(before.children) != len(after.children):
        return None
    parts = (
        node if isinstance(node, list) else [value for _, value in fields_of(node)] if isinstance(node, ast.AST) else []
    )
    if len(parts) != len(before.children):
        return None
    found: list[Changed] = []
    for old, new, part in zip(before.children, after.children, parts, strict=True):
        changed = _changed(old, new, part)
        if changed is None:
            return None
        found += changed
    return found


def _sources(given: Term, node: object, region: Region) -> Iterator[tuple[int, str]]:
    """The text that each hole of the old code stands for."""
    if isinstance(given, Hole):
        if isinstance(node, ast.expr):
            yield given.number, region.text(*span(region, node))
        elif isinstance(node, str):
            yield given.number, node
    elif isinstance(given, Tree) and given != ANY_BODY:
        parts = node if isinstance(node, list) else [v for _, v in fields_of(node)] if isinstance(node, ast.AST) else []
        for each, part in zip(given.children, parts, strict=False):
            yield from _sources(each, part, region)


def span(region: Region, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Where a node's text lies in its region, its own parentheses outside."""
    assert node.end_lineno is not None and node.end_col_offset is not None, "it was parsed"
    return offset(region, node.lineno, node.col_offset), offset(region, node.end_lineno, node.end_col_offset)


def offset(region: Region, line: int, column: int) -> int:
    """The place in a region's data of a line and byte of its module."""
    before = region.module.lines[region.extent.first_line - 1 : line - 1]
    return region.prefix + sum(map(len, before)) + column


def _splice(
    node: ast.expr | list[ast.stmt],
    new: Term,
    block: Block,
    bound: Mapping[int, Term],
    sources: Mapping[int, str],
    region: Region,
) -> Splice | None:
    if not isinstance(node, list):
        start, end = span(region, node)
        code = _code(new, bound, sources)
        return Splice(start, end, code if _stands_alone(node, block) else wrapped(code, 15))
    return _lines(node, new, block, bound, sources, region)


def _stands_alone(node: ast.expr, block: Block) -> bool:
    """Whether any expression can stand in a node's place without parentheses."""
    statement = block.body[block.at]
    parent = next(
        (each for each in ast.walk(statement) if any(child is node for child in ast.iter_child_nodes(each))), statement
    )
    if isinstance(parent, ast.Call):
        return node is not parent.func and len(parent.args) + len(parent.keywords) > 0
    return isinstance(parent, _LOOSE) or (isinstance(parent, ast.Subscript) and node is parent.slice)


def _code(new: Term, bound: Mapping[int, Term], sources: Mapping[int, str]) -> str:
    """A term as text, with the text that its holes stand for where that reads the same, in parentheses if need be."""
    wanted, text = filled(new, bound), written(new)
    names = {hole: sources.get(hole.number, "") for hole in holes_in(new)}
    for parenthesised in (False, True):
        made = text
        for hole, source in names.items():
            source = source or written(bound[hole.number]) if hole.kind != WORD else str(source)
            made = made.replace(named(hole), f"({source})" if parenthesised and hole.kind != WORD else source)
        if _reads(made, wanted):
            return made
    return written(wanted)


def _reads(text: str, wanted: Term) -> bool:
    try:
        return pattern(text) == wanted or as_list(pattern(text)) == wanted
    except NotSource:
        return False


def _lines(
    nodes: list[ast.stmt],
    new: Term,
    block: Block,
    bound: Mapping[int, Term],
    sources: Mapping[int, str],
    region: Region,
) -> Splice | None:
    """Whole lines in the place of statements, or before one where there are none to replace."""
    assert isinstance(new, Tree)
    if ANY_BODY in new.children or any(isinstance(c, Tree) and ANY_BODY in c.children for c in new.children):
        return None  # the body would have to be moved
    at = block.body[block.at]
    first, last = (nodes[0], nodes[-1]) if nodes else (at, at)
    if getattr(first, "decorator_list", ()):
        return None
    start = region.line_start(span(region, first)[0])
    end = region.line_end(span(region, last)[1]) if nodes else start
    indent = region.text(start, span(region, first)[0])
    if indent.strip():
        return None
    code = _code(new, bound, sources) if new.children else ""
    if not code and len(nodes) == len(block.body):
        code = "pass"
    return Splice(start, end, "".join(f"{indent}{line}\n" if line else "\n" for line in code.splitlines()))
