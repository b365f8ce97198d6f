"""What a value must be at first, judged by what is done to it later."""

from __future__ import annotations

import re
from collections.abc import Iterator

_USES = (
    ("[]", r"\.(?:append|extend|insert|sort|reverse)\(|\s*\+=\s*\["),
    ("set()", r"\.(?:add|discard|intersection|difference|union)\("),
    ("{}", r"\.(?:items|keys|values|get|setdefault|update)\(|\[[^\]]*\]\s*(?:=(?!=)|[-+*|]=)"),
    ('""', r"\s*\+=\s*[rbf]?[\"']|\.(?:strip|split|upper|lower|startswith|endswith|join)\("),
    ("False", r"\s*=\s*(?:True|False)\b"),
    ("None", r"\s+is\s+(?:not\s+)?None\b"),
    ("0", r"\s*(?:[-+*/]=|[<>]=?|[-+*/%])"),
)

EMPTIES = ("0", "[]", "{}", "None", '""', "False", "set()")


def empties(use: str, source: str) -> Iterator[str]:
    """Every empty value, first those that suit what follows the pattern `use` in `source`."""
    found = [value for value, following in _USES if re.search(f"{use}(?:{following})", source)]
    yield from dict.fromkeys((*found, *EMPTIES))
