"""What people suggested in reviews and then merged, as replacements. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from memory.model import Replacement
from workers.history.replacements import pairs
from workers.patches import split_lines
from workers.ports import Remark

PLACES = 2
"""So many places one merged suggestion counts for: somebody asked for it in words."""

_BLOCK = re.compile(r"^(`{3,}|~{3,})suggestion[^\n]*\n(.*?)^\1", re.MULTILINE | re.DOTALL)


def merged(remarks: Iterable[Remark], position: int, read: Callable[[str], str | None]) -> Iterator[Replacement]:
    """What was suggested, line for line, and stands at the tip of the branch now where the old lines do not.

    `read` gives the text of a path there, `position` is the tip's. What outsiders and bots suggested is no wish of the people
    here: anybody can write a suggestion of what stands there anyway.
    """
    for remark in remarks:
        block = None if remark.author.is_bot or not remark.insider else _BLOCK.search(remark.body.replace("\r\n", "\n"))
        text = read(remark.path) if block and remark.path.endswith((".py", ".pyi")) else None
        if block is None or text is None:
            continue
        old, new = _under(remark), split_lines(block[2])
        if len(old) == len(new) and _stands(new, text) and not _stands(old, text):
            for before, after in {pair for one, other in zip(old, new, strict=True) for pair in pairs(one, other)}:
                yield Replacement(
                    sha=remark.sha, position=position, path=remark.path, before=before, after=after, places=PLACES
                )


def _under(remark: Remark) -> list[str]:
    """The lines that a remark stands on: the last of its hunk, as the change had them."""
    shown = [line[1:] for line in remark.hunk.split("\n")[1:] if not line.startswith(("-", "\\"))]
    return shown[-remark.lines :] if 0 < remark.lines <= len(shown) else []


def _stands(lines: list[str], text: str) -> bool:
    wanted, there = ([line.strip() for line in some] for some in (lines, split_lines(text)))
    return bool(wanted) and any(there[at : at + len(wanted)] == wanted for at in range(len(there)))
