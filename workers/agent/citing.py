"""Places in the code that a model names as path:line, held against the checkout."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workers.agent.checkout import Checkout
from workers.agent.errors import ToolFailed

_CITED = re.compile(r"(?P<path>(?:[\w.-]+/)*[\w.-]*\.[A-Za-z]\w*):(?P<line>\d{1,6})(?:-\d{1,6})?")


def holding(checkout: Checkout, cites: Sequence[str]) -> tuple[str, ...]:
    """Those citations whose file and line exist, each once."""
    found = ((cite.strip(), _CITED.fullmatch(cite.strip())) for cite in cites)
    return tuple(dict.fromkeys(cite for cite, match in found if match is not None and _holds(checkout, match)))


def checked(checkout: Checkout, text: str) -> str:
    """The text, with every place that it names and that is not there marked so."""
    return _CITED.sub(lambda found: found[0] if _holds(checkout, found) else f"{found[0]} (not there)", text)


def _holds(checkout: Checkout, found: re.Match[str]) -> bool:
    try:
        text = checkout.read(found["path"])
    except ToolFailed:
        return False
    return 1 <= int(found["line"]) <= text.count("\n") + 1
