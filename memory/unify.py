"""The least general term of two (Plotkin 1970), and the terms that a pattern fits. Pure."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from memory.terms import ANY, ANY_BODY, WORD, Atom, Hole, Term, Tree, holes_in, names_in, word_at

NAMES = frozenset({"Name", "parameter", "local", "module"})
"""Kinds of holes that a name fills: any, or one of the function's parameters, of what it binds, of what its module does."""

_EXPRESSIONS = frozenset(each.__name__ for each in ast.expr.__subclasses__())
_CLOSED = frozenset({"JoinedStr", "FormattedValue"})
"""Kinds whose parts cannot be left open: what stands there is no expression of its own."""


@dataclass(slots=True)
class Generalisation:
    """The least general terms of pairs that belong together: the same two parts that differ are the same hole in all.

    `roles` says what kind a name stands for where more is known of it than that it is one.
    """

    roles: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    _known: dict[tuple[Term, Term, bool], Hole] = field(default_factory=dict)

    def of(self, one: Term, other: Term) -> Term | None:
        """What is common to both, with holes for the rest; None where the rest is no expression."""
        if isinstance(one, Tree) and isinstance(other, Tree):
            made = self._tree(one, other)
            return made if made is not None else self._left_open(one, other)
        if isinstance(one, Atom) and one == other:
            return one
        return self._left_open(one, other)

    def _tree(self, one: Tree, other: Tree) -> Tree | None:
        if one.kind != other.kind or len(one.children) != len(other.children):
            return None
        if one.kind in ("Name", "Constant") or one.kind in _CLOSED:
            return one if one == other and not any(holes_in(one)) else None
        word = word_at(one)
        merged: list[Term] = []
        for at, (left, right) in enumerate(zip(one.children, other.children, strict=True)):
            made = self._word(left, right) if at == word else self.of(left, right)
            if made is None:
                return None
            merged.append(made)
        return Tree(one.kind, tuple(merged))

    def _word(self, one: Term, other: Term) -> Term | None:
        if one == other and isinstance(one, Atom):
            return one
        named_both = all(
            isinstance(each, Hole) or isinstance(each.value, str) for each in (one, other) if not isinstance(each, Tree)
        )
        return self._number(one, other, WORD) if named_both else None

    def _left_open(self, one: Term, other: Term) -> Hole | None:
        kinds = self._kind(one, 0), self._kind(other, 1)
        if WORD in kinds or not all(kinds):
            return None
        return self._number(one, other, joined(*kinds))

    def _number(self, one: Term, other: Term, kind: str) -> Hole:
        key = (one, other, kind == WORD)
        return self._known.setdefault(key, Hole(len(self._known), kind))

    def _kind(self, term: Term, side: int) -> str:
        """The kind of node that a hole for this stands for, "" where none can."""
        if isinstance(term, Hole):
            return term.kind
        if not isinstance(term, Tree) or term.kind not in _EXPRESSIONS:
            return ""
        if term.kind == "Name":
            return self.roles[side].get(next(names_in(term)), "Name")
        return term.kind


def joined(one: str, other: str) -> str:
    """The kind of a hole for two."""
    if one == other:
        return one
    return "Name" if one in NAMES and other in NAMES else ANY


def matched(given: Term, term: Term, bound: dict[int, Term]) -> bool:
    """Whether `term` is an instance of a pattern; `bound` is extended by what its holes stand for.

    A body of `...` alone fits every body, and where it stands, no `else` fits any.
    """
    if isinstance(given, Hole):
        return _fits(given.kind, term) and bound.setdefault(given.number, term) == term
    if isinstance(given, Atom) or isinstance(term, (Atom, Hole)):
        return given == term
    if given == ANY_BODY and term.kind == "[]":
        return True
    if given.kind != term.kind or len(given.children) != len(term.children):
        return False
    pairs = list(zip(given.children, term.children, strict=True))
    if ANY_BODY in given.children and given.children[-1] == Tree("[]", ()):
        pairs.pop()
    return all(matched(g, t, bound) for g, t in pairs)


def _fits(kind: str, term: Term) -> bool:
    if kind == WORD:
        return isinstance(term, Atom) and isinstance(term.value, str)
    if not isinstance(term, Tree) or term.kind not in _EXPRESSIONS:
        return False
    return kind == ANY or term.kind == kind or (kind in NAMES and term.kind == "Name")


def filled(given: Term, bound: Mapping[int, Term]) -> Term:
    """A pattern with its holes filled. Raises KeyError for one that is not bound."""
    if isinstance(given, Hole):
        return bound[given.number]
    if isinstance(given, Tree):
        return Tree(given.kind, tuple(filled(each, bound) for each in given.children))
    return given
