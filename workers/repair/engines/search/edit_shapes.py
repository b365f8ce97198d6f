"""The shape of an edit, by which it can be learned and made again in another place."""

import keyword
import re
from collections.abc import Iterable
from typing import NamedTuple

from memory.model import EditShape
from memory.skills import CONSTANTS, EVERYWHERE, teaches
from workers.line_matching import LineMatcher

_TOKEN = re.compile(
    r"""(?P<string>[rbfuRBFU]{0,2}(?<!\\)(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
      | (?P<number>\d[\w.]*|\.\d[\w.]*)
      | (?P<name>[^\W\d]\w*)
      | (?P<comment>\#[^\n]*)
      | (?P<operator>\*\*=?|//=?|>>=?|<<=?|[-+*/%&|^@=!<>:]=|->|\S)""",
    re.VERBOSE | re.DOTALL,
)

MODEL = "model"
"""The template of edits that a model wrote: no template makes them again, and a model is shown them."""


class _Token(NamedTuple):
    kind: str
    text: str


_DOT = _Token("operator", ".")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def shape_of(template: str, before: str, after: str) -> EditShape:
    """The shape of replacing source `before` by `after`: equal for equal edits under other names.

    An operand that the edit leaves as it is, `self.limit` or `len(rows)`, is one hole, as a name would be.
    """
    old, new = _tokens(before), _tokens(after)
    numbers: dict[str, int] = {}
    return EditShape(
        template=template,
        before=_with_holes(_operands(old, new), numbers),
        after=_with_holes(_operands(new, old), numbers),
    )


def shape_between(before: str, after: str) -> EditShape | None:
    """The shape of a model's edit of a module; None where it is in several places or teaches nothing."""
    old, new = before.splitlines(), after.splitlines()
    changes = LineMatcher(old, new).get_opcodes()
    changed = [(old[a:b], new[c:d]) for kind, a, b, c, d in changes if kind != "equal"]
    if len(changed) != 1:
        return None
    ((removed, added),) = changed
    shape = shape_of(MODEL, "\n".join(removed), "\n".join(added))
    return shape if teaches(shape) else None


def _tokens(text: str) -> list[_Token]:
    return [_Token(m.lastgroup or "", m.group()) for m in _TOKEN.finditer(text) if m.lastgroup != "comment"]


def _operands(tokens: list[_Token], others: list[_Token]) -> list[_Token]:
    """`tokens` with the longest operands that occur in `others` too as one token each."""
    found: list[_Token] = []
    at = 0
    while at < len(tokens):
        end = next((end for end in _ends(tokens, at) if _occurs(tokens[at:end], others)), at + 1)
        found.append(tokens[at] if end == at + 1 else _Token("operand", " ".join(t.text for t in tokens[at:end])))
        at = end
    return found


def _ends(tokens: list[_Token], start: int) -> list[int]:
    """Where a name with attributes, calls and subscripts can end that starts at `start`, the farthest first."""
    if tokens[start].kind != "name" or tokens[start].text in keyword.kwlist or tokens[start - 1 : start] == [_DOT]:
        return []
    ends: list[int] = []
    at = start + 1
    while at < len(tokens):
        if tokens[at] == _DOT and at + 1 < len(tokens):
            at += 2
        elif tokens[at].text in "([" and (closed := _closed(tokens, at)) is not None:
            at = closed
        else:
            break
        ends.append(at)
    return ends[::-1]


def _closed(tokens: list[_Token], opened: int) -> int | None:
    """Past the bracket that closes the one at `opened`."""
    depth = 0
    for at in range(opened, len(tokens)):
        depth += (tokens[at].text in _OPENING) - (tokens[at].text in _CLOSING)
        if depth == 0:
            return at + 1
    return None


def _occurs(run: list[_Token], tokens: list[_Token]) -> bool:
    return any(tokens[at : at + len(run)] == run for at in range(len(tokens) - len(run) + 1))


def _with_holes(tokens: Iterable[_Token], numbers: dict[str, int]) -> str:
    """Token by token, names, operands and larger constants as numbered holes; `numbers` is extended."""
    return " ".join(_hole(kind, token, numbers) for kind, token in tokens)


def _hole(kind: str, token: str, numbers: dict[str, int]) -> str:
    if kind == "operator" or (kind == "name" and token in EVERYWHERE) or (kind == "number" and token in CONSTANTS):
        return token
    if kind == "string":
        quote = token.lstrip("rbfuRBFU")
        prefix = token[: len(token) - len(quote)].lower().replace("u", "")
        return f"{prefix}''" if quote in ("''", '""') else f"{prefix}'${numbers.setdefault(quote, len(numbers))}'"
    return f"${numbers.setdefault(token, len(numbers))}"
