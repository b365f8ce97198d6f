"""What edits have in common, two by two. Pure.

What two edits share is their least general generalisation (Plotkin 1970): of the smallest parts that differ, and of ever more
around them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memory.model import Rewrite
from memory.rewrites import levels
from memory.terms import (
    EVERYWHERE,
    TELLING,
    Atom,
    Hole,
    NotSource,
    Term,
    Tree,
    holes_in,
    names_in,
    parts_in,
    size,
    word_at,
    written,
)
from memory.unify import NAMES, Generalisation

MOST_FREE = 1
"""Holes that only the new code has: each is filled with several names at every place."""

MOST_SIZE = 80
"""Nodes and names of either side of a skill. What is longer fits one place only."""

_RENAMED = "\N{PRIME}"
"""Behind a name that an edit shares with no other: no identifier holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """One proven edit and where it comes from; `teachers` are the accounts that accepted it."""

    experience: str
    repository: str
    error_type: str
    family: str
    rewrite: Rewrite
    teachers: tuple[int, ...] = ()


Pair = tuple[Term, Term]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Edits and what they share: before and after, the smallest part first, then with ever more around it.

    `useful` is the widest of these that makes an edit to be made elsewhere; None where none does.
    """

    shared: tuple[Pair, ...]
    useful: Pair | None
    inside: tuple[str, ...]
    roles: Mapping[str, str] = field(default_factory=dict)
    imports: frozenset[str] = frozenset()
    members: tuple[Taught, ...] = ()

    @property
    def id(self) -> str:
        """A name for what is shared: equal edits give equal names."""
        assert self.useful is not None, "what is of no use is not named"
        text = "\0".join((*map(written, self.useful), *self.inside, *sorted(self.imports)))
        return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def group_of(taught: Taught) -> Group | None:
    """One edit as it was made; None where it cannot be read."""
    try:
        shared = levels(taught.rewrite)
    except NotSource:
        return None
    if not shared:
        return None
    rewrite = taught.rewrite
    return Group(
        shared=shared,
        useful=_widest(shared),
        inside=rewrite.inside,
        roles=dict(rewrite.roles),
        imports=frozenset(rewrite.imports),
        members=(taught,),
    )


def alone(group: Group) -> Group | None:
    """What one edit says of others: generalised with itself under other names, where these carry no meaning.

    Names that only the new code has stay as they are, unless the function binds them: nothing at another place tells them.
    """
    renamed = {part for before, _ in group.shared[-1:] for part in parts_in(before)}
    bound = {name for name, role in group.roles.items() if role != "module"}
    other = replace(
        group,
        shared=tuple((_renamed(b, renamed, bound), _renamed(a, renamed, bound)) for b, a in group.shared),
        roles={**group.roles, **{name + _RENAMED: role for name, role in group.roles.items()}},
    )
    return together(group, other)


def _renamed(term: Term, known: set[Tree], bound: set[str]) -> Term:
    if not isinstance(term, Tree):
        return term
    if term.kind == "Name":
        name = next(names_in(term))
        return _marked(term) if name not in EVERYWHERE and (term in known or name in bound) else term
    if term.kind == "Constant":
        return _marked(term) if term in known and not _telling(term) else term
    at = word_at(term)
    children = [_renamed(each, known, bound) for each in term.children]
    if at is not None and term in known and isinstance(word := children[at], Atom) and word.value not in EVERYWHERE:
        children[at] = Atom(f"{word.value}{_RENAMED}") if isinstance(word.value, str) else word
    return Tree(term.kind, tuple(children))


def _marked(term: Tree) -> Tree:
    (atom,) = term.children
    assert isinstance(atom, Atom)
    return Tree(term.kind, (Atom(f"{atom.value}{_RENAMED}"),))


def _telling(constant: Tree) -> bool:
    """Whether a constant means something by itself: small numbers, truth values, nothing, the empty text."""
    (atom,) = constant.children
    return isinstance(atom, Atom) and atom.value in TELLING


def together(one: Group, other: Group) -> Group | None:
    """What two groups share; None where that is no edit to be made elsewhere."""
    inwards = _merged(one, other, list(zip(one.shared, other.shared, strict=False)))
    outwards = _merged(one, other, list(zip(one.shared[::-1], other.shared[::-1], strict=False))[::-1])
    found = [(useful, shared) for shared in (inwards, outwards) if (useful := _widest(shared)) is not None]
    if not found or one.imports != other.imports:
        return None
    useful, shared = max(found, key=lambda each: size(each[0][0]) + size(each[0][1]))
    return Group(
        shared=shared,
        useful=useful,
        inside=tuple(_common(one.inside, other.inside)),
        roles={name: role for name, role in one.roles.items() if other.roles.get(name) == role},
        imports=one.imports,
        members=tuple(dict.fromkeys((*one.members, *other.members))),
    )


def _merged(one: Group, other: Group, pairs: Sequence[tuple[Pair, Pair]]) -> tuple[Pair, ...]:
    found = []
    for (before, after), (other_before, other_after) in pairs:
        common = Generalisation(roles=(one.roles, other.roles))
        old, new = common.of(before, other_before), common.of(after, other_after)
        if old is not None and new is not None:
            found.append((old, new))
    return tuple(found)


def _common(one: Sequence[str], other: Sequence[str]) -> Iterator[str]:
    for left, right in zip(one, other, strict=False):
        if left != right:
            return
        yield left


def _widest(shared: Sequence[Pair]) -> Pair | None:
    return next((pair for pair in reversed(shared) if is_useful(*pair)), None)


def is_useful(before: Term, after: Term) -> bool:
    """Whether an edit says something at another place, and what it leaves open there can be tried one by one."""
    if before == after or max(size(before), size(after)) > MOST_SIZE:
        return False
    free = set(holes_in(after)) - set(holes_in(before))
    if len(free) > MOST_FREE or any(hole.kind not in NAMES for hole in free):
        return False
    if isinstance(before, Hole) or (isinstance(after, Hole) and after in free):
        return False
    statements = isinstance(before, Tree) and before.kind == "[]"
    if statements and any(isinstance(each, Tree) and isinstance(each.children[0], Hole) for each in _plain(before)):
        return False
    return size(before) >= (0 if statements else 2) and size(after) + size(before) >= 2


def _plain(before: Term) -> Iterator[Term]:
    """Statements that are nothing but an expression."""
    if isinstance(before, Tree):
        yield from (each for each in before.children if isinstance(each, Tree) and each.kind == "Expr")
