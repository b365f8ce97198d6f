"""A tool's fix as a replacement of whole changed lines, which is all that a suggestion block can do. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from memory.model import Suggestion
from workers.errors import BadInput
from workers.patches import replace_lines, split_lines
from workers.review.detectors.detector import Edit, Fix

MAX_LINES = 20
"""A suggestion over more lines than this is not read by anybody."""

_BOM = "\ufeff"


def suggestion_for(fix: Fix, text: str, changed: frozenset[int]) -> Suggestion | None:
    """The fix as whole lines, unproven; None when it reaches beyond the changed lines or cannot be said in lines."""
    after = apply_edits(text, fix.edits)
    if after is None or after == text:
        return None
    blocks = _whole_lines(split_lines(text), split_lines(after))
    return next((block for block in blocks if _is_sayable(block, changed) and leads_to(block, text, after)), None)


def _is_sayable(suggestion: Suggestion, changed: frozenset[int]) -> bool:
    """On changed lines only, not too long, and without a byte order mark, which no comment can carry."""
    lines = range(suggestion.start_line, suggestion.end_line + 1)
    return changed.issuperset(lines) and len(lines) <= MAX_LINES and _BOM not in suggestion.replacement


def applied(suggestion: Suggestion, text: str) -> str:
    """`text` with the suggestion applied as GitHub applies it."""
    return replace_lines(text, suggestion.start_line, suggestion.end_line, suggestion.replacement)


def leads_to(suggestion: Suggestion, text: str, after: str) -> bool:
    """Whether applying the suggestion as GitHub does gives exactly what the tool meant."""
    try:
        return applied(suggestion, text) == after
    except BadInput:
        return False


def apply_edits(text: str, edits: Sequence[Edit]) -> str | None:
    """`text` with every edit made; None when they overlap or point outside. A byte order mark is no column."""
    body = text.removeprefix(_BOM)
    starts = [0]
    for line in split_lines(body):
        starts.append(starts[-1] + len(line))
    pieces, at = [text[: len(text) - len(body)]], 0
    for edit in sorted(edits, key=lambda edit: (edit.line, edit.column, edit.end_line, edit.end_column)):
        begin, end = _offset(starts, edit.line, edit.column), _offset(starts, edit.end_line, edit.end_column)
        if not at <= begin <= end <= len(body):
            return None
        pieces += [body[at:begin], edit.content]
        at = end
    return "".join([*pieces, body[at:]])


def _offset(starts: Sequence[int], line: int, column: int) -> int:
    """Where a place stands in the text, -1 when it has no such line."""
    return starts[line - 1] + column - 1 if 1 <= line <= len(starts) else -1


def _whole_lines(old: Sequence[str], new: Sequence[str]) -> list[Suggestion]:
    """Ways to say the difference as one replaced block: exactly it, or for an insertion with the line before or after."""
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    start, end, new_end = head, len(old) - tail, len(new) - tail
    if start < end:
        return [_block(start, end, new[start:new_end])]
    before = [_block(start - 1, end, new[start - 1 : new_end])] if start > 0 else []
    after = [_block(start, end + 1, new[start : new_end + 1])] if end < len(old) else []
    return before + after


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def _block(start: int, end: int, lines: Sequence[str]) -> Suggestion:
    text = "".join(lines).replace("\r\n", "\n")
    replacement = text if text.endswith("\n") or not text else text + "\n"
    return Suggestion(start_line=start + 1, end_line=end, replacement=replacement, proof=None)
