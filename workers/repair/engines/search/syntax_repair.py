"""Repairs source that does not parse.

There is no syntax tree, so edits work on tokens and lines near the place that the parser names: one token put in, left out
or exchanged, an indentation, a word of another language or of Python 2, a conflict that a merge left. Most
syntax errors are repaired by one of them (DeepFix, Gupta et al. 2017; BIFI, Yasunaga and Liang 2021); what moves the error
further down is repaired there again.
"""

import difflib
import keyword
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice

from memory.parsing import read_module
from workers.repair.engines.search.option_weights import by_rank

MOST, STEPS, TRIED = 60, 3, 12
"""How many texts are offered, after how many edits in a row at most, and from how many that did not end it the search goes on."""

PATIENCE, LONGEST = 20_000_000, 1000
"""How many characters are parsed for one text, a few seconds' worth, and the longest line of which a token is edited."""

_HEADER = re.compile(r"\s*(?:if|elif|else|for|while|def|class|try|except|finally|with|async|match|case)\b")
_TOP_LEVEL = re.compile(r"(?:async )?(?:def|class)\b|@")
_SIDES = {"<<<<<<<": "ours", "|||||||": "base", "=======": "theirs", ">>>>>>>": ""}
"""The signs between the sides of a merge's conflict, and the side that each begins."""
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_INSERTED = (")", ",", ":", '"', "'", "]", "}", "(", "[", "{", "=", " in ", ".", " = ", " as ", " and ", "*", "+")
_EXCHANGED = {"=": ("==", ":", ":="), "==": ("=",), ":": ("=", ","), ";": (":", ","), ".": (",",), ",": (".", ":")}
_BRACKETS = {"(": "[{", "[": "({", "{": "([", ")": "]}", "]": ")}", "}": ")]"}
_FOREIGN = (
    (r"\belse\s+if\b|\belseif\b|\belsif\b", "elif"),
    (r"\s*&&\s*", " and "),
    (r"\s*\|\|\s*", " or "),
    (r"!(?!=)\s*", "not "),
    (r"(\w+)\s*\+\+", r"\1 += 1"),
    (r"(\w+)\s*--", r"\1 -= 1"),
    (r"<>", "!="),
    (r"===", "=="),
    (r"!==", "!="),
    (r"=>", ">="),
    (r"=<", "<="),
    (r"=!", "!="),
    (r"\bfunction\b", "def"),
    (r"[“”]", '"'),
    (r"[‘’]", "'"),
    (r"\bprint\s+(?!\()(.+?)\s*$", r"print(\1)"),
    (r"\bexcept\s+([\w.]+)\s*,\s*(\w+)\s*:", r"except \1 as \2:"),
    (r"\bexcept\s+([\w.]+(?:\s*,\s*[\w.]+)+)\s*:", r"except (\1):"),
    (r"\braise\s+([\w.]+)\s*,\s*(.+?)\s*$", r"raise \1(\2)"),
    (r"\bexec\s+(?!\()(.+?)\s*$", r"exec(\1)"),
    (r"`([^`]*)`", r"repr(\1)"),
    (r"\b0+([0-7]+)\b", r"0o\1"),
    (r"\b(\d+)[lL]\b", r"\1"),
    (r"\bur(?=['\"])", "r"),
    (r"\b(\w+)\s*\)\s*$", r"\1):"),
)
"""What other languages and Python 2 write, and what Python does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxRepair:
    """A text that parses, what kind of edit made it, on which line (from 1), and how likely that is, within (0, 1]."""

    template: str
    text: str
    line: int
    weight: float


@dataclass(slots=True)
class _Tries:
    """What was tried for one text, and how many characters may still be parsed: no text is worked on forever."""

    left: int = PATIENCE
    seen: set[str] = field(default_factory=set)

    def takes(self, text: str) -> bool:
        """Whether a text is new and there is patience left for it."""
        if text in self.seen or self.left <= 0:
            return False
        self.seen.add(text)
        self.left -= len(text)
        return True


@lru_cache(maxsize=2)
def repaired_syntax(source: str) -> tuple[SyntaxRepair, ...]:
    """What a text that does not parse may have been meant to be, likeliest first; nothing for one that parses."""
    return tuple(_found(source, 3, _Tries()))


def _found(source: str, broken_parts: int, tries: _Tries) -> Iterator[SyntaxRepair]:
    """Only the part around the error is parsed again and again: a definition, or the whole where that is no end of it."""
    first, last = _part(source, wrong_line(source))
    lines = source.splitlines(keepends=True)
    head, part, tail = ("".join(cut) for cut in (lines[:first], lines[first:last], lines[last:]))
    best = sorted(islice(_repairs(part, 1.0, STEPS, tries), 4 * MOST), key=lambda each: -each.weight)
    for made in best[:MOST]:
        whole = replace(made, text=head + made.text + tail, line=first + made.line)
        after = wrong_line(whole.text)
        if not after:
            yield whole
        elif broken_parts > 1 and after > first + len(made.text.splitlines()):
            for further in islice(_found(whole.text, broken_parts - 1, tries), TRIED):
                yield replace(whole, text=further.text, weight=whole.weight * further.weight)


def _part(source: str, line: int) -> tuple[int, int]:
    """The lines, from 0, of the top-level definition around an error, if it is wrong by itself; else all of them."""
    lines = source.splitlines(keepends=True)
    starts = [0, *(number for number, text in enumerate(lines) if _TOP_LEVEL.match(text)), len(lines)]
    first = max((start for start in starts if start < max(1, line - 1)), default=0)
    last = min((start for start in starts if start > line), default=len(lines))
    return (first, last) if wrong_line("".join(lines[first:last])) else (0, len(lines))


def _repairs(source: str, worth: float, steps: int, tries: _Tries) -> Iterator[SyntaxRepair]:
    line = wrong_line(source)
    if not line:
        return
    going_on: list[SyntaxRepair] = []
    for edit in _edits(source, line):
        if tries.left <= 0:
            return
        if not tries.takes(edit.text):
            continue
        after = wrong_line(edit.text)
        made = SyntaxRepair(template=edit.template, text=edit.text, line=edit.line, weight=worth * edit.weight)
        if not after:
            yield made
        elif after > line and steps > 1:
            going_on.append(made)
    for made in sorted(going_on, key=lambda each: -each.weight)[:TRIED]:
        for further in _repairs(made.text, made.weight * 0.5, steps - 1, tries):
            yield replace(made, text=further.text, weight=further.weight)


def wrong_line(source: str) -> int:
    """The line that the parser stops at, 0 when it does not."""
    with warnings.catch_warnings(), suppress(ValueError, RecursionError, MemoryError):
        warnings.simplefilter("ignore")
        try:
            read_module(source)
        except SyntaxError as error:
            return max(1, error.lineno or 1)
    return 0


def _edits(source: str, line: int) -> Iterator[SyntaxRepair]:
    lines = source.splitlines(keepends=True)
    for text, weight in _conflicts(lines):
        yield SyntaxRepair(template="merge_conflict", text=text, line=line, weight=weight)
    for width in (8, 4) if "\t" in source else ():
        yield SyntaxRepair(template="indentation", text=source.expandtabs(width), line=line, weight=0.5)
    for number, nearness in by_rank(_near(lines, line), step=1.0):
        for template, changed, weight in _of_line(lines, number - 1):
            text = "".join((*lines[: number - 1], *changed, *lines[number:]))
            yield SyntaxRepair(template=template, text=text, line=number, weight=weight * nearness)


def _near(lines: list[str], line: int) -> list[int]:
    """The line where the parser stopped, the one before it that holds something, and the one behind it."""
    at = min(line, len(lines))
    before = [number for number in range(at - 1, 0, -1) if lines[number - 1].strip()]
    return [at, *before[:1], *([at + 1] if at < len(lines) else [])]


def _conflicts(lines: list[str]) -> Iterator[tuple[str, float]]:
    """The text with one side of every conflict, or with both."""
    if not any(line.startswith("<<<<<<<") for line in lines):
        return
    sided: list[tuple[str, str]] = []
    side = ""
    for line in lines:
        begun = _SIDES.get(line[:7]) if side or line.startswith("<<<<<<<") else None
        if begun is None:
            sided.append((side, line))
        else:
            side = begun
    for kept, weight in ((("ours",), 1.0), (("theirs",), 0.9), (("ours", "theirs"), 0.5)):
        yield "".join(line for side, line in sided if side in ("", *kept)), weight


def _of_line(lines: list[str], at: int) -> Iterator[tuple[str, list[str], float]]:
    """What may stand in a line's place: lines, with the kind of edit and how likely it is."""
    text = lines[at].rstrip("\r\n")
    end = lines[at][len(text) :] or "\n"
    if len(text) > LONGEST:
        yield "stray_line", [], 0.2
        return
    for changed in _headed(text):
        yield "missing_colon", [changed + end], 1.0
    for changed in _foreign(text):
        yield "foreign_syntax", [changed + end], 0.9
    for changed, weight in _spelt(text):
        yield "misspelt_keyword", [changed + end], weight
    for changed, weight in by_rank(_indented(lines, at), step=0.3):
        yield "indentation", [changed], 0.8 * weight
    for changed in _reordered(text):
        yield "parameter_order", [changed + end], 0.8
    for changed, weight in _by_token(text):
        yield "wrong_token", [changed + end], weight
    body = " " * (len(text) - len(text.lstrip()) + 4)
    if _HEADER.match(text):
        yield "missing_body", [text + end, f"{body}pass{end}"], 0.5
    yield "stray_line", [], 0.2


def _headed(text: str) -> Iterator[str]:
    before = re.match(r"""(?:[^#'"]|'[^']*'|"[^"]*")*""", text)
    end = before.end() if before else 0
    code = text[:end].rstrip() if text[end : end + 1] in ("", "#") else text
    comment = text[len(code) :]
    if _HEADER.match(text) and not code.endswith(":"):
        yield f"{code.rstrip(';,. ')}:{comment}"


def _foreign(text: str) -> Iterator[str]:
    changed = text
    for old, new in _FOREIGN:
        one = re.sub(old, new, text)
        changed = re.sub(old, new, changed)
        if one != text:
            yield one
    if changed != text:
        yield changed


def _spelt(text: str) -> Iterator[tuple[str, float]]:
    for word in re.finditer(r"[A-Za-z]+", text):
        near = [] if keyword.iskeyword(word.group()) else difflib.get_close_matches(word.group(), keyword.kwlist, n=2)
        for meant in near:
            yield text[: word.start()] + meant + text[word.end() :], 0.9 if word.start() == _indent(text) else 0.6


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _indented(lines: list[str], at: int) -> Iterable[str]:
    """The line at the indentations of those before it, the nearest first, and one step further in."""
    before = [line for line in lines[:at] if line.strip()]
    depths = dict.fromkeys(_indent(line) for line in reversed(before))
    step = min((depth for depth in depths if depth), default=4)
    inner = _indent(before[-1]) + step if before else 0
    others = [depth for depth in dict.fromkeys((inner, *depths)) if depth != _indent(lines[at])]
    return [" " * depth + lines[at].lstrip() for depth in others]


def _reordered(text: str) -> Iterator[str]:
    """Parameters without a default stand before those with one, or get one."""
    found = re.match(r"(\s*(?:async\s+)?def\s+\w+\s*\()([^()]*)(\).*)$", text)
    parameters = [part.strip() for part in found.group(2).split(",") if part.strip()] if found else []
    if found and any("=" in part for part in parameters):
        ordered = sorted(parameters, key=lambda part: (part.startswith("**"), part.startswith("*"), "=" in part))
        yield f"{found.group(1)}{', '.join(ordered)}{found.group(3)}"
        first = next(n for n, part in enumerate(parameters) if "=" in part)
        given = [p if n < first or "=" in p or p.startswith("*") else f"{p}=None" for n, p in enumerate(parameters)]
        yield f"{found.group(1)}{', '.join(given)}{found.group(3)}"


def _by_token(text: str) -> Iterator[tuple[str, float]]:
    """One token more, less, or another one; the ends of the line are likelier than its middle."""
    tokens = list(_TOKEN.finditer(text))
    places = [_indent(text), *(token.end() for token in tokens if not token.group().isspace())]
    end, inner = len(text), len(text.rstrip(":,"))
    ranked = sorted(dict.fromkeys(places), key=lambda place: (place != end, place != inner, -place))
    for token in tokens:
        for other in (*_EXCHANGED.get(token.group(), ()), *_BRACKETS.get(token.group(), "")):
            yield text[: token.start()] + other + text[token.end() :], 0.6
    for rank, place in enumerate(ranked):
        for inserted, weight in by_rank(_INSERTED, first=0.7, step=0.1):
            yield text[:place] + inserted + text[place:], weight / (1 + rank / 6)
    for token in tokens:
        if not token.group().isspace():
            weight = 0.5 if not token.group().isalnum() else 0.25
            yield text[: token.start()] + text[token.end() :], weight
