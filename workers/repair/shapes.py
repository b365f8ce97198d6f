"""An edit without its names, so that what worked in one place can be tried in another."""

from __future__ import annotations

import builtins
import difflib
import keyword
import re

from memory.model import EditShape

_TOKEN = re.compile(
    r"""(?P<string>[rbfuRBFU]{0,2}(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
      | (?P<number>\d[\w.]*|\.\d[\w.]*)
      | (?P<name>[^\W\d]\w*)
      | (?P<comment>\#[^\n]*)
      | (?P<operator>\*\*=?|//=?|>>=?|<<=?|[-+*/%&|^@=!<>:]=|->|\S)""",
    re.VERBOSE | re.DOTALL,
)

_SILENT = re.compile(r"\.|[a-zA-Z]{0,2}'?\$\d+'?")
"""Tokens of a shape that mean nothing by themselves: a hole, a string that is one, and the dot between two."""

_SMALL_NUMBERS = frozenset({"0", "1", "2", "0.0", "1.0"})
_KEPT_TYPES: tuple[type, ...] = (str, bytes, list, dict, set, frozenset, tuple, int, float)

KNOWN_NAMES: frozenset[str] = (
    frozenset(keyword.kwlist)
    | frozenset(dir(builtins))
    | frozenset(name for kind in _KEPT_TYPES for name in dir(kind) if not name.startswith("_"))
    | frozenset({"self", "cls", "deepcopy", "__init__", "key", "reverse"})
)
"""Names that mean the same everywhere: keywords, builtins, methods of builtin types."""


def holes(text: str, numbers: dict[str, int]) -> str:
    """`text` token by token, with names and larger constants as numbered holes.

    `numbers` maps what was already numbered and is extended, so that the same name is the same hole across calls.
    """
    return " ".join(_hole(match, numbers) for match in _TOKEN.finditer(text) if match.lastgroup != "comment")


def _hole(match: re.Match[str], numbers: dict[str, int]) -> str:
    token = match.group()
    if match.lastgroup == "operator" or (match.lastgroup == "name" and token in KNOWN_NAMES):
        return token
    if match.lastgroup == "number" and token in _SMALL_NUMBERS:
        return token
    if match.lastgroup == "string":
        quote = token.lstrip("rbfuRBFU")
        prefix = token[: len(token) - len(quote)].lower().replace("u", "")
        return f"{prefix}''" if quote in ("''", '""') else f"{prefix}'${_number(quote, numbers)}'"
    return f"${_number(token, numbers)}"


def _number(token: str, numbers: dict[str, int]) -> int:
    return numbers.setdefault(token, len(numbers))


def shape_of(template: str, before: str, after: str) -> EditShape:
    """The shape of replacing source `before` by `after`: equal for equal edits under other names."""
    numbers: dict[str, int] = {}
    return EditShape(template=template, before=holes(before, numbers), after=holes(after, numbers))


def is_telling(shape: EditShape) -> bool:
    """Whether a shape says anything where the names are others.

    It does if an operator, a builtin, a kept literal or structure is part of what changed, or if the same tokens change
    places. `$0` → `$1` or `$0.$1` → `$0.$2` do not: every name in scope would fit them.
    """
    before, after = shape.before.split(), shape.after.split()
    if before != after and sorted(before) == sorted(after):
        return True
    changes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = (t for kind, a, b, c, d in changes if kind != "equal" for t in (*before[a:b], *after[c:d]))
    return not all(_SILENT.fullmatch(token) for token in changed)
