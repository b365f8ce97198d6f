"""The JSON contracts of the command line as docs/commands.md gives them, to hold real documents against."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
OPEN = {
    *("weights", "repositories", "evidence", "actions", "signals"),
    *("chances", "chances_with_fix", "new_rules", "payload"),
}
"""Keys whose values are mappings by name; what stands in these depends on the data."""


@cache
def documented() -> dict[str, frozenset[str]]:
    """Each command whose JSON has a paragraph, with every key that it names or that a paragraph it points to names."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## JSON\n")[2].partition("\n## ")[0]
    paragraphs = dict(re.findall(r"^`(\w+) --json`:(.*)$", section, re.MULTILINE))
    named = {command: frozenset(re.findall(r"`(\w+)`", text)) for command, text in paragraphs.items()}
    return {
        command: named[command].union(*(named[other] for other in re.findall(r"`(\w+) --json`", text)))
        for command, text in paragraphs.items()
    }


def keys(document: object) -> Iterator[str]:
    """Every key of a document, at all depths but below those in OPEN."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield key
            if key not in OPEN:
                yield from keys(value)
    elif isinstance(document, list):
        for each in document:
            yield from keys(each)


def undocumented(command: str, document: object) -> set[str]:
    """The keys of what a command printed that its paragraph does not name; none for a command without a paragraph."""
    known = documented().get(command)
    return set() if known is None else set(keys(document)) - known
