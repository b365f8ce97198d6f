"""Whether a suggestion was taken up, told from the code alone. Pure."""

from __future__ import annotations

from difflib import SequenceMatcher

from memory.model import Suggestion
from workers.patches import split_lines

CONTEXT_LINES = 2
MOST_COMPARED = 1_000
"""Lines between the first and the last that changed: comparing takes as long as the square of these."""


def was_applied(suggestion: Suggestion, before: str, after: str) -> bool:
    """Whether `after` holds the suggested lines where `before` held the lines they replace.

    Either the suggested lines with up to two neighbours on each side stand in `after` and not in `before`, or they are
    what stands between the same two lines now: between blank lines a deletion leaves nothing else to be known by.
    """
    old, new = _bare(split_lines(before)), _bare(split_lines(after))
    wanted = _surrounded(suggestion, old)
    return (_contains(new, wanted) and not _contains(old, wanted)) or _stands_between(suggestion, old, new)


def _stands_between(suggestion: Suggestion, old: list[str], new: list[str]) -> bool:
    """Whether the lines around the replaced ones are still there, with the suggested ones between them."""
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    between = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(map(len, between)) > MOST_COMPARED:
        return False
    kept = {-1: -1, len(old): len(new)} | {at: at for at in range(head)}
    kept |= {len(old) - at: len(new) - at for at in range(1, tail + 1)}
    for block in SequenceMatcher(None, *between, autojunk=False).get_matching_blocks():
        kept |= {head + block.a + offset: head + block.b + offset for offset in range(block.size)}
    above, below = kept.get(suggestion.start_line - 2), kept.get(suggestion.end_line)
    if above is None or below is None:
        return False
    return new[above + 1 : below] == _bare(split_lines(suggestion.replacement))


def _shared(one: list[str], other: list[str]) -> int:
    """How many lines both begin with."""
    same = next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), None)
    return min(len(one), len(other)) if same is None else same


def _surrounded(suggestion: Suggestion, lines: list[str]) -> list[str]:
    first, last = suggestion.start_line - 1, suggestion.end_line
    above = lines[max(first - CONTEXT_LINES, 0) : first]
    below = lines[last : last + CONTEXT_LINES]
    return _bare([*above, *split_lines(suggestion.replacement), *below])


def _contains(lines: list[str], wanted: list[str]) -> bool:
    return any(lines[start : start + len(wanted)] == wanted for start in range(len(lines) - len(wanted) + 1))


def _bare(lines: list[str]) -> list[str]:
    """Line ends do not count."""
    return [line.rstrip() for line in lines]
