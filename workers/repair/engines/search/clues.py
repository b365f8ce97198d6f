"""What the interpreter's own words give away about the fix."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory.model import Failure

_NAME = re.compile(r"name '(\w+)' is not defined|local variable '(\w+)'|free variable '(\w+)'")
_ATTRIBUTE = re.compile(r"has no attribute '(\w+)'")
_OWNER = re.compile(r"'([\w.]+)' object has no attribute|type object '([\w.]+)' has no|module '([\w.]+)' has no")
_KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")
_MISSING = re.compile(r"missing \d+ required .*?arguments?: (.+)")
_IMPORT = re.compile(r"cannot import name '(\w+)' from '?(?:partially initialized module ')?([\w.]+)'?")
_MODULE = re.compile(r"No module named '([\w.]+)'")
_UNRAISED = re.compile(r"DID NOT RAISE (.+)|(\w+) not raised")
_QUOTED = re.compile(r"'(\w+)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clues:
    """Names quoted in an error's message; empty where it says nothing.

    `owner` is the type or module that lacks `attribute`; `source` the module that lacks `imported`; `unraised` what a
    test waited for in vain.
    """

    undefined: str = ""
    attribute: str = ""
    owner: str = ""
    keyword: str = ""
    missing: tuple[str, ...] = ()
    imported: str = ""
    source: str = ""
    module: str = ""
    key: str = ""
    unraised: str = ""


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return next((group for group in match.groups() if group), "") if match else ""


def clues_of(failure: Failure) -> Clues:
    """The clues in a failure's message."""
    text = failure.message
    imported = _IMPORT.search(text)
    key = _QUOTED.search(text) if failure.error_type.endswith("KeyError") else None
    return Clues(
        undefined=_first(_NAME, text),
        attribute=_first(_ATTRIBUTE, text),
        owner=_first(_OWNER, text),
        keyword=_first(_KEYWORD, text),
        missing=tuple(_QUOTED.findall(_first(_MISSING, text))),
        imported=imported.group(1) if imported else "",
        source=imported.group(2) if imported else "",
        module=_first(_MODULE, text),
        key=key.group(1) if key else "",
        unraised=_first(_UNRAISED, text),
    )
