"""Python source as terms in which parts are left open. Pure.

Code is parsed, never run. An open part, a hole, is written as a name of its own, `__0_Call__`: its number, and the kind of
node that it stood for in all examples (`expr`: of several kinds; `word`: an attribute's or argument's name).
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import EllipsisType

MOST_SOURCE = 2_000
"""Characters of either side of an edit that is looked at."""

MOST_DEPTH = 60
"""Levels of nodes in it."""

ANY, WORD = "expr", "word"

_HOLE = re.compile(r"__(\d{1,3})_([A-Za-z]{1,20})__")
_RESERVED = re.compile(r"__\d+_[A-Za-z]+__")
_SKIPPED = frozenset({"ctx", "type_comment", "type_ignores", "kind"})
_NAMED = {"Attribute": "attr", "keyword": "arg", "arg": "arg"}
"""Where a word may be left open."""

_KEPT_TYPES: tuple[type, ...] = (str, bytes, list, dict, set, frozenset, tuple, int, float)

EVERYWHERE: frozenset[str] = (
    frozenset(keyword.kwlist)
    | frozenset(dir(builtins))
    | frozenset(name for kind in _KEPT_TYPES for name in dir(kind) if not name.startswith("_"))
    | frozenset({"self", "cls", "deepcopy", "__init__", "key", "reverse"})
)
"""Names that mean the same everywhere: keywords, builtins, methods of builtin types."""

TELLING = frozenset({"0", "1", "2", "True", "False", "None", "''", "b''", "Ellipsis"})
"""Constants that mean something by themselves, as their text."""

Literal = str | int | None


@dataclass(frozen=True, slots=True)
class Hole:
    """An open part."""

    number: int
    kind: str


@dataclass(frozen=True, slots=True)
class Atom:
    """A name, a constant as its text, or nothing."""

    value: Literal


@dataclass(frozen=True, slots=True)
class Tree:
    """A node of Python's syntax with its fields in order; lists are nodes of kind `[]`."""

    kind: str
    children: tuple[Term, ...]


Term = Hole | Atom | Tree


class NotSource(ValueError):
    """Text that is no Python source, is too long or too deep, or looks like one of our own holes."""


def read(source: str, *, holes: bool = False) -> Tree:
    """The statements of a text, as one list; `holes` tells that it may have some. Raises NotSource."""
    if len(source) > MOST_SOURCE or (not holes and _RESERVED.search(source)):
        raise NotSource("too long, or with names that are reserved")
    try:
        term = term_of(ast.parse(source).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotSource(str(error)) from None
    assert isinstance(term, Tree)
    if _depth(term) > MOST_DEPTH:
        raise NotSource("too deep")
    return term


def _depth(term: Term) -> int:
    return 1 + max(map(_depth, term.children), default=0) if isinstance(term, Tree) else 0


def pattern(source: str) -> Term:
    """What `written` made `source` of: an expression where it is nothing else, else statements. Raises NotSource."""
    statements = read(source, holes=True)
    if len(statements.children) == 1:
        (only,) = statements.children
        if isinstance(only, Tree) and only.kind == "Expr":
            return only.children[0]
    return statements


def term_of(node: object) -> Term:
    """A node, a list of nodes, or what stands in a field. Raises RecursionError for one that is too deep."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, float | complex) and node.value - node.value != 0:
            raise ValueError("a number too large to be written")
        return Tree("Constant", (Atom(repr(node.value)),))
    if isinstance(node, ast.Name):
        return _hole(node.id) or Tree("Name", (Atom(node.id),))
    if isinstance(node, ast.AST):
        return Tree(type(node).__name__, tuple(term_of(each) for _, each in fields_of(node)))
    if isinstance(node, list):
        return Tree("[]", tuple(term_of(each) for each in node))
    if isinstance(node, str):
        return _hole(node) or Atom(node)
    return Atom(node if isinstance(node, int) else None)


def fields_of(node: ast.AST) -> Iterator[tuple[str, object]]:
    """The fields that make a node's term, in order."""
    return ((name, value) for name, value in ast.iter_fields(node) if name not in _SKIPPED)


def _hole(name: str) -> Hole | None:
    found = _HOLE.fullmatch(name)
    return Hole(int(found[1]), found[2]) if found else None


def written(term: Term) -> str:
    """A term as source, with its holes as names."""
    node = _node(term)
    if isinstance(node, list):
        return ast.unparse(ast.Module(body=node, type_ignores=[]))
    assert isinstance(node, ast.AST)
    return ast.unparse(node)


def named(hole: Hole) -> str:
    """The name that a hole is written as."""
    return f"__{hole.number}_{hole.kind}__"


def _node(term: Term) -> object:
    if isinstance(term, Hole):
        return named(term) if term.kind == WORD else ast.Name(id=named(term))
    if isinstance(term, Atom):
        return term.value
    if term.kind == "[]":
        return [_node(each) for each in term.children]
    if term.kind == "Constant":
        (value,) = term.children
        assert isinstance(value, Atom)
        return ast.Constant(value=_constant(str(value.value)))
    kind = getattr(ast, term.kind)
    names = [name for name in kind._fields if name not in _SKIPPED]
    return ast.fix_missing_locations(kind(**dict(zip(names, map(_node, term.children), strict=True))))


def _constant(text: str) -> str | bytes | int | float | complex | EllipsisType | None:
    value: str | bytes | int | float | complex | EllipsisType | None
    value = ... if text == "Ellipsis" else ast.literal_eval(text)
    return value


def size(term: Term) -> int:
    """How much of a term is given: its nodes and names that are no holes."""
    if isinstance(term, Tree):
        return (term.kind != "[]") + sum(size(each) for each in term.children)
    return int(isinstance(term, Atom) and term.value is not None)


def holes_in(term: Term) -> Iterator[Hole]:
    """The holes, in the order of the text; one that stands twice comes twice."""
    if isinstance(term, Hole):
        yield term
    elif isinstance(term, Tree):
        for each in term.children:
            yield from holes_in(each)


def names_in(term: Term) -> Iterator[str]:
    """The names of values, without attributes and arguments."""
    if isinstance(term, Tree):
        if term.kind == "Name":
            yield from (str(each.value) for each in term.children if isinstance(each, Atom))
        for each in term.children:
            yield from names_in(each)


def words_in(term: Term) -> Iterator[str]:
    """All names, words and constants that are given, as text."""
    if isinstance(term, Atom) and isinstance(term.value, str):
        yield term.value
    elif isinstance(term, Tree):
        for each in term.children:
            yield from words_in(each)


def parts_in(term: Term) -> Iterator[Tree]:
    """Every name, word and constant that stands in a term, each as the smallest node that holds it."""
    if isinstance(term, Tree):
        if term.kind in _NAMED or term.kind in ("Name", "Constant"):
            yield term
        for each in term.children:
            yield from parts_in(each)


def word_at(tree: Tree) -> int | None:
    """Which child is a word that may be left open."""
    name = _NAMED.get(tree.kind)
    if name is None:
        return None
    fields = [each for each in getattr(ast, tree.kind)._fields if each not in _SKIPPED]
    return int(fields.index(name))


ANY_BODY = Tree("[]", (Tree("Expr", (Tree("Constant", (Atom("Ellipsis"),)),)),))
"""A body that is not looked at."""
