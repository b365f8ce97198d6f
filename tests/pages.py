"""The pages of the documentation, as text and by their tables."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def rows(text: str) -> dict[str, list[str]]:
    """The first column of a table, without its ticks, to the other columns."""
    found = {}
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            first, *others = (cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|")))
            found[first.strip("`")] = others
    found.pop(next(iter(found)))  # the head
    return found
