"""What people here write otherwise by now: expressions that they replaced in many places, and that a change brings back. Pure."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from memory.model import Convention, Severity
from workers.review.detectors.detector import Category, Delta, Detection, Edit, Fix, RawFinding
from workers.review.edits import apply_edits
from workers.review.source import parsed

MOST_STANDING = 0.2
"""Places where the old expression may still stand, for each that was replaced: with more it is no convention."""

MOST_A_FILE = 20
"""Findings in one file, the first ones: a file that is full of them needs no more to be known for it."""

_LAYOUT = 10
"""Characters of white space and brackets that an expression may have beyond those that it is written with."""

_WORD = re.compile(r"\w+")


class Learned:
    """The `ChangeDetector` of a repository's own conventions.

    `sources` are the Python files of the checkout that the change began from, asked for when something is found at all.
    """

    name = "learned"

    def __init__(self, conventions: Sequence[Convention], sources: Callable[[], Mapping[str, str]]) -> None:
        self._conventions = {each.before: each for each in conventions}
        self._sources = sources
        self._standing: dict[str, int] = {}

    def reads(self, path: str) -> bool:
        return path.endswith((".py", ".pyi")) and bool(self._conventions)

    def compare(self, delta: Delta, paths: Sequence[str]) -> Detection:
        found: list[RawFinding] = []
        unread: dict[str, str] = {}
        for path in filter(self.reads, paths):
            tree = parsed(delta.head.sources[path])
            if tree is None:
                unread[path] = "it does not parse"
                continue
            brought = _brought_back(tree, delta.added.get(path, frozenset()), self._conventions)
            for node, convention in islice(brought, MOST_A_FILE):
                if is_gone(convention, {convention.before: self._stands(convention.before)}):
                    found.append(_finding(path, delta.head.sources[path], node, convention))
        return Detection(findings=tuple(found), unread=unread)

    def _stands(self, expression: str) -> int:
        """How often it still stands; of a checkout too large to be read, more often than any convention allows."""
        if expression not in self._standing:
            sources = self._sources()
            known = standing({expression}, sources.values())[expression] if sources else sys.maxsize
            self._standing[expression] = known
        return self._standing[expression]


def standing(expressions: Collection[str], sources: Iterable[str]) -> Counter[str]:
    """How often expressions, as `ast.unparse` writes them, stand in files."""
    words = [frozenset(_WORD.findall(each)) for each in expressions]
    longest = max(map(len, expressions), default=0)
    found = Counter[str]()
    for text in sources:
        there = frozenset(_WORD.findall(text))
        tree = parsed(text) if any(each <= there for each in words) else None
        short = (node for node in _expressions(tree) if _extent(node) <= longest + _LAYOUT) if tree is not None else ()
        found.update(written for node in short if (written := _writes(node) or "") in expressions)
    return found


def is_gone(convention: Convention, there: Mapping[str, int]) -> bool:
    """Whether hardly any of the old expressions still stand."""
    return there.get(convention.before, 0) <= MOST_STANDING * convention.places


def _brought_back(
    tree: ast.Module, added: frozenset[int], conventions: Mapping[str, Convention]
) -> Iterator[tuple[ast.expr, Convention]]:
    """The expressions on changed lines that have a convention, the outermost of those in one another."""
    longest = max(map(len, conventions), default=0) + _LAYOUT
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.expr) and node.lineno in added and _extent(node) <= longest:
            convention = conventions.get(_writes(node) or "")
            if convention is not None:
                yield node, convention
                continue
        waiting += reversed(list(ast.iter_child_nodes(node)))


def _extent(node: ast.expr) -> int:
    """Characters of an expression on one line; of one on several, none that is looked for has so many."""
    one_line = node.lineno == node.end_lineno
    return (node.end_col_offset or 0) - node.col_offset if one_line else sys.maxsize


def _expressions(tree: ast.Module) -> Iterator[ast.expr]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.expr))


def _writes(node: ast.expr) -> str | None:
    """An expression that is read, as source; None for what is assigned to, and for what `ast.unparse` cannot write."""
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return None
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        return None


def _finding(path: str, text: str, node: ast.expr, convention: Convention) -> RawFinding:
    places = f"{convention.places} places of {convention.files} files here, last in {convention.sha[:12]}"
    return RawFinding(
        path=path,
        line=node.lineno,
        end_line=node.lineno,
        column=node.col_offset + 1,
        tool=Learned.name,
        rule=rule_of(convention),
        category=Category.MAINTAINABILITY,
        severity=Severity.MINOR,
        message=f"`{convention.before}` was replaced by `{convention.after}` in {places}.",
        fix=_fix(text, node, convention.after),
    )


def rule_of(convention: Convention) -> str:
    """A name of its own for each convention, so that what people make of one is not held against the others."""
    digest = hashlib.sha256(f"{convention.before}\0{convention.after}".encode()).digest()
    return f"LRN{int.from_bytes(digest[:4], 'big') % 1_000_000:06}"


def _fix(text: str, node: ast.expr, after: str) -> Fix | None:
    """The replacement, in parentheses where it takes those to stay one expression; None where it does not."""
    line = text.removeprefix("\ufeff").split("\n")[node.lineno - 1].encode()
    column, end = (len(line[:offset].decode()) + 1 for offset in (node.col_offset, node.end_col_offset or 0))
    for content in (after, f"({after})"):
        edit = Edit(line=node.lineno, column=column, end_line=node.lineno, end_column=end, content=content)
        edited = apply_edits(text, (edit,))
        tree = parsed(edited) if edited is not None else None
        nodes = _expressions(tree) if tree is not None else ()
        there = (node.lineno, node.col_offset + len(content) - len(content.lstrip("(")))
        if any((each.lineno, each.col_offset) == there and _writes(each) == after for each in nodes):
            return Fix(edits=(edit,), safe=False)
    return None
