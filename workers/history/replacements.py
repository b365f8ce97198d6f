"""What people replaced by what, expression by expression, told from the changed lines alone. Pure.

A line that took the place of another one is compared with it token by token; what differs is widened until both sides are
whole expressions. Nothing else of the file is read, so that a history costs little.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from string import ascii_letters, digits

from memory.model import Replacement
from workers.history.log import Past
from workers.patches import Hunk
from workers.redaction import redact
from workers.review.tree import is_unicode

MOST_LINES = 400
"""Lines of a hunk that are compared; in a larger one lines hardly stand for each other."""

MOST_AROUND = 8
"""Tokens on either side of what differs that are looked at for the rest of an expression."""

MOST_TOGETHER = 4
MOST_TOKENS = 60
MOST_LINE = 400
MOST_CHARACTERS = 80
"""Tokens and characters of a line, and characters of either side of a replacement: what is longer hardly comes twice."""

_TOKEN = re.compile(r"""[rbfu]{0,2}("[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')|\w+|\*\*|//|->|[=!<>]=|:=|\S""")
_COMMENT = re.compile(r"""^((?:[^"'#]|"[^"]*"|'[^']*')*)#.*$""")
_OPERAND = frozenset(f"{ascii_letters}{digits}_)]}}'\"")
"""What a value ends with: brackets and signs after it belong to it."""

_ARITHMETIC = frozenset(["+", "-", "*", "/", "//", "%", "@", "**", "&", "|", "^", "~", "<<", ">>", ".", "(", "["])
_COMPARING = _ARITHMETIC | frozenset(["<", ">", "<=", ">=", "==", "!=", "in", "is", "not"])
_LOGICAL = _COMPARING | frozenset(["and", "or", "if", "else"])
"""Beside an expression whose own operator binds less, or as much, these take a part of it."""

_IMPORT = re.compile(r"\s*(from|import)\b")

Tokens = tuple[str, ...]
Span = tuple[int, int, int, int]


def replacements(past: Past) -> Iterator[Replacement]:
    """What one change replaced, each once for a file, with the number of places."""
    for file in past.change.files if past.change else ():
        if not is_unicode(file.path):
            continue
        found = Counter(pair for hunk in file.hunks for pair in _replaced(hunk))
        for (before, after), places in found.items():
            if redact(text := f"{before} {after}") != text:
                continue  # it would be kept, and suggested
            yield Replacement(
                sha=past.sha, position=past.position, path=file.path, before=before, after=after, places=places
            )


def _replaced(hunk: Hunk) -> Iterator[tuple[str, str]]:
    old = [line[1:] for line in hunk.lines if line.startswith("-")]
    new = [line[1:] for line in hunk.lines if line.startswith("+")]
    if len(old) == len(new) <= MOST_LINES:
        for before, after in zip(old, new, strict=True):
            yield from pairs(before, after)


def pairs(before: str, after: str) -> Iterator[tuple[str, str]]:
    """The expressions of one line that another one replaced by others, as `ast.unparse` writes them."""
    if max(len(before), len(after)) > MOST_LINE:
        return
    old, new = _tokens(before), _tokens(after)
    if not old or not new or _IMPORT.match(before) or _IMPORT.match(after) or max(len(old), len(new)) > MOST_TOKENS:
        return
    changed = [
        (a, b, c, d)
        for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if kind != "equal"
    ]
    for region in _regions(old, new, changed):
        if region.before != region.after:
            yield str(_expression(region.before)), str(_expression(region.after))


def _regions(old: Tokens, new: Tokens, changed: Sequence[Span]) -> list[_Region]:
    """Whole expressions that hold all that differs; differences that are none by themselves are taken together.

    Nothing where that does not come about for each of them.
    """
    found: list[tuple[int, _Region | None]] = []
    for number, (_, b, _, d) in enumerate(changed):
        begun = [number, *(first for first, _ in reversed(found))]
        for first in begun[:MOST_TOGETHER]:
            a, _, c, _ = changed[first]
            region = next((each for each in _widened(old, new, (a, b, c, d)) if each.is_whole()), None)
            if region is not None:
                found = [each for each in found if each[0] < first]
                found.append((first, region))
                break
        else:
            found.append((number, None))
    regions = [region for _, region in found if region is not None]
    return regions if len(regions) == len(found) else []


def _tokens(line: str) -> tuple[str, ...]:
    return tuple(match.group() for match in _TOKEN.finditer(_COMMENT.sub(r"\1", line)))


@dataclass(frozen=True, slots=True)
class _Region:
    """Tokens `a` up to `b` of the old line, which `c` up to `d` of the new one replaced."""

    old: Tokens
    new: Tokens
    a: int
    b: int
    c: int
    d: int

    @property
    def before(self) -> str:
        return " ".join(self.old[self.a : self.b])

    @property
    def after(self) -> str:
        return " ".join(self.new[self.c : self.d])

    def is_whole(self) -> bool:
        """Whether both sides are expressions, and nothing before them belongs to them: no dot, no callee of brackets."""
        last = self.old[self.a - 1] if self.a else ""
        called = self.old[self.a : self.a + 1] + self.new[self.c : self.c + 1]
        if last == "." or (last[-1:] in _OPERAND and not {"(", "[", "+", "-"}.isdisjoint(called)):
            return False
        if _expression(self.before) is None or _expression(self.after) is None:
            return False
        around = {*self.old[max(self.a - 1, 0) : self.a], *self.old[self.b : self.b + 1]}
        return around.isdisjoint(_binding(self.before) | _binding(self.after))


def _widened(old: Tokens, new: Tokens, changed: Span) -> Iterator[_Region]:
    """What differs with ever more of what both sides share around it, the least first."""
    a, b, c, d = changed
    left = _shared(old[:a][::-1], new[:c][::-1])
    right = _shared(old[b:], new[d:])
    for more in range(left + right + 1):
        for before in range(max(0, more - right), min(more, left) + 1):
            after = more - before
            yield _Region(old, new, a - before, b + after, c - before, d + after)


def _shared(one: Tokens, other: Tokens) -> int:
    """How many tokens at the beginning of both are the same, as far as is worth looking."""
    same = next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), None)
    return min(MOST_AROUND, len(one), len(other)) if same is None else min(MOST_AROUND, same)


def _binding(text: str) -> frozenset[str]:
    """The tokens that would take a part of an expression if they stood beside it."""
    node = ast.parse(text, mode="eval").body
    if text.startswith("(") or isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.Call | ast.Subscript):
        return frozenset()
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return _ARITHMETIC
    return _COMPARING if isinstance(node, ast.Compare) else _LOGICAL


@lru_cache(maxsize=4096)
def _expression(text: str) -> str | None:
    """An expression that holds a name, as `ast.unparse` writes it; None for anything else."""
    if not text or len(text) > 2 * MOST_CHARACTERS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = ast.parse(text, mode="eval").body
            written = ast.unparse(node)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if isinstance(node, ast.Tuple) and not text.startswith("("):
        return None  # arguments, most likely
    named = any(isinstance(each, ast.Name) for each in ast.walk(node))
    return written if named and len(written) <= MOST_CHARACTERS else None
