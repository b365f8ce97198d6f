"""Long texts in a short room: head and tail stay, and what was left out is said. Pure."""

from __future__ import annotations

OBSERVATION = 8_000
"""Characters of what one tool says."""

LONGEST_LINE = 400


def clipped(text: str, room: int = OBSERVATION) -> str:
    """At most about `room` characters: the first two fifths and the last three, as errors stand at the end."""
    text = "\n".join(_line(line) for line in text.split("\n"))
    if len(text) <= room:
        return text
    head, tail = text[: room * 2 // 5], text[-(room * 3 // 5) :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out} characters left out …]\n{tail}"


def _line(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    half = LONGEST_LINE // 2
    return f"{line[:half]}[… {len(line) - LONGEST_LINE} …]{line[-half:]}"
