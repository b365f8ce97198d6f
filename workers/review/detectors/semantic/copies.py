"""SEM002 copied-name: of two parallel lines, the second keeps one name of the first. Pure."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from workers.review.detectors.detector import RawFinding
from workers.review.detectors.semantic.edited import Edited, blocks

RULE = "SEM002"
_LEAST_RENAMED = 2
"""So many places must have been renamed, in a statement that keeps one, before the one looks forgotten."""

_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


def copied_names(edited: Edited) -> Iterator[RawFinding]:
    """Neighbouring statements of one shape, of which the second was renamed everywhere but once."""
    for block in blocks(edited.after):
        for at, (first, second) in enumerate(pairwise(block)):
            if not edited.is_added(second) or not isinstance(second, ast.Assign | ast.AugAssign | ast.If | ast.Expr):
                continue
            alike = type(first) is type(second) and _shape(first) == _shape(second)
            slip = _slip(_names(first), _names(second)) if alike else None
            if slip is not None and not _is_pattern(block, at, slip):
                old, new = slip
                yield edited.finding(
                    RULE,
                    second,
                    f"copied-name: this repeats the line above with `{new}` for `{old}`, and keeps `{old}` in one place.",
                )


def _names(statement: ast.AST) -> list[str]:
    """The identifiers of a statement, in the order in which its tree is walked."""
    names = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            names.append(node.id)
        elif isinstance(node, ast.Attribute):
            names.append(node.attr)
        elif isinstance(node, ast.keyword) and node.arg:
            names.append(node.arg)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            names.append(node.value)
    return names


def _shape(statement: ast.AST) -> str:
    """The statement without its names, and without the text of its identifier-like strings."""
    text = ast.dump(statement)
    return re.sub(r"(id|attr|arg|value)='\w*'", r"\1=''", text)


def _slip(first: Sequence[str], second: Sequence[str]) -> tuple[str, str] | None:
    """The name that was renamed everywhere but once, and to what."""
    if len(first) != len(second):
        return None  # a string that reads as a name stands where another one does not
    pairs = Counter(zip(first, second, strict=True))
    renamed = {(old, new): count for (old, new), count in pairs.items() if old != new}
    if len({old for old, _ in renamed}) != len(renamed):
        return None  # one name became several: no renaming
    for (old, new), count in renamed.items():
        if count >= _LEAST_RENAMED and pairs[old, old] == 1 and new not in first and _are_parallel(old, new):
            return old, new
    return None


def _are_parallel(old: str, new: str) -> bool:
    """Whether two names are told apart by one of their words, as in `min_x` and `max_x`, or are such a word each."""
    one, other = _PART.findall(old), _PART.findall(new)
    return len(one) == len(other) and sum(left != right for left, right in zip(one, other, strict=True)) == 1


def _is_pattern(block: Sequence[ast.stmt], at: int, slip: tuple[str, str]) -> bool:
    """Whether the statements around keep the same name in the same way: then it is meant."""
    old, _ = slip
    neighbours = [*block[max(at - 1, 0) : at], *block[at + 2 : at + 3]]
    alike = [each for each in neighbours if _shape(each) == _shape(block[at])]
    return any(old in _names(each) for each in alike)
