"""Whether a suggestion was taken up, told from the code alone. Pure."""

from __future__ import annotations

from memory.model import Suggestion
from workers.patches import split_lines

CONTEXT_LINES = 2


def was_applied(suggestion: Suggestion, before: str, after: str) -> bool:
    """Whether `after` holds the suggested lines where `before` held the lines they replace.

    The suggested lines with up to two neighbours on each side must stand in `after` and not in `before`: a suggestion
    that deletes lines is recognised by its neighbours having met.
    """
    wanted = _surrounded(suggestion, split_lines(before))
    return _contains(split_lines(after), wanted) and not _contains(split_lines(before), wanted)


def _surrounded(suggestion: Suggestion, lines: list[str]) -> list[str]:
    first, last = suggestion.start_line - 1, suggestion.end_line
    above = lines[max(first - CONTEXT_LINES, 0) : first]
    below = lines[last : last + CONTEXT_LINES]
    return _bare([*above, *split_lines(suggestion.replacement), *below])


def _contains(lines: list[str], wanted: list[str]) -> bool:
    bare = _bare(lines)
    return any(bare[start : start + len(wanted)] == wanted for start in range(len(bare) - len(wanted) + 1))


def _bare(lines: list[str]) -> list[str]:
    """Line ends do not count."""
    return [line.rstrip() for line in lines]
