"""Markers of our comments, and untrusted text quoted in our Markdown: it mentions no user, closes no issue, adds no link and starts no command. Pure.

Each kind of place has its own function, because text that is harmless in a code span is markup in a sentence.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TypeVar

from workers.diffs import fence
from workers.redaction import redact

Item = TypeVar("Item")

LONGEST_LINE = 300
ZERO_WIDTH_SPACE = "\u200b"
SKIP_CI = " [skip ci]"
"""At the end of a commit's first line: GitHub and other services run nothing for a push or pull request with that head."""

_CLOSING = re.compile(r"\b(close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?=:?\s+(?:\S*#\d|GH-\d|https?://))", re.IGNORECASE)
_ACTING = re.compile(r"@(?=\w)|#(?=\d)|\bGH-(?=\d)|^\s*/(?=\w)", re.IGNORECASE)
_LINK = re.compile(r":(?=//)|www(?=\.)|mailto(?=:)", re.IGNORECASE)
_SKIP = re.compile(
    r"\[(?=(?:skip ci|ci skip|no ci|skip actions|actions skip)\])|\bskip-checks(?=: *true)", re.IGNORECASE
)
_ENTITY = re.compile(r"&(?=#?\w+;)")
_SPAN = re.compile(r"(`[^`\n]+`)")
_IN_LISTS = re.compile(r"\s*(?:(?:[-+]|\d{1,9}[.)])\s+)*")
_BLOCK = re.compile(r"[#>]|[-=][-=\s]*$")
"""What begins a heading, a quotation or a rule, or makes a heading of the line above; also after marks of lists."""
_NO_ASCII = re.compile(r"[^\x20-\x7e]")
_JOINERS = "\u200c\u200d"
"""Persian words and many emoji are written with them."""
_MARKUP = re.compile(r"[\\*_\[\]~|]")


def words(text: str) -> str:
    """Untrusted text on one line, for places that show no Markdown: titles, commits, annotations."""
    return _defused(_one_line(text))


def plain(text: str) -> str:
    """Untrusted text on one line, inside a sentence of Markdown."""
    return _unmarked(words(text))


def prose(text: str, room: int = 4_000) -> str:
    """Untrusted text of several lines, without links, pictures, mentions, commands and markup."""
    lines = (_sentence(line.rstrip()) for line in redact(_visible(text))[:room].splitlines())
    return "\n".join(lines).strip()


def _sentence(line: str) -> str:
    """One line that is no heading, quotation or rule; code spans stay code spans."""
    pieces = enumerate(_SPAN.split(line))  # every second one is a span
    parts = (name(piece[1:-1]) if at % 2 else _unmarked(_defused(piece)) for at, piece in pieces)
    shown = "".join(parts)
    before = _IN_LISTS.match(shown)
    at = before.end() if before else 0
    return f"{shown[:at]}\\{shown[at:]}" if _BLOCK.match(shown, at) else shown


def name(text: str) -> str:
    """A path, test, rule or message as a code span; never an empty one, because two of those open a fence."""
    return f"`{_one_line(text).replace('`', chr(39)) or ' '}`"


def code(text: str, language: str = "") -> str:
    """Untrusted text in a fence that it cannot close."""
    text = redact(text)
    mark = fence(text)
    return f"{mark}{language}\n{text.rstrip()}\n{mark}"


def folded(title: str, text: str) -> str:
    """Our own Markdown, of which only the title is shown until a reader opens it."""
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def _one_line(text: str) -> str:
    line = " ".join(redact(_visible(text)).split())
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


def _visible(text: str) -> str:
    """A text without invisible characters: such characters can reverse the order of what follows."""
    return _NO_ASCII.sub(_if_visible, text)


def _if_visible(found: re.Match[str]) -> str:
    shown = found[0].isspace() or found[0] in _JOINERS or unicodedata.category(found[0]) not in ("Cc", "Cf")
    return found[0] if shown else ""


def _defused(line: str) -> str:
    """A line without mentions, closing keywords, links, commands and marks for CI, also where entities spell them."""
    for acting in (_ENTITY, _CLOSING, _LINK, _ACTING, _SKIP):
        line = acting.sub(_apart, line)
    return line


def as_commit(text: str) -> str:
    """Our own Markdown, where it may become a commit's message: code is text there, and closes nothing and skips no CI."""
    return _SKIP.sub(_apart, _CLOSING.sub(_apart, text))


def _apart(found: re.Match[str]) -> str:
    """Breaks a match with a zero-width space: before a leading slash, after other matches."""
    before, slash, _ = found[0].rpartition("/")
    return f"{before}{ZERO_WIDTH_SPACE}/" if slash else f"{found[0]}{ZERO_WIDTH_SPACE}"


def _unmarked(line: str) -> str:
    """A line without markup; GitHub sets what is between two dollars as mathematics, unless they are in elements."""
    line = _MARKUP.sub(lambda found: f"\\{found[0]}", line.replace("`", "'")).replace("<", "&lt;")
    return line.replace("$", "<span>$</span>")


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural where needed."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def first_of(items: Sequence[Item], most: int, show: Callable[[Item], str] = str) -> str:
    """The first of these, and how many more there are."""
    more = len(items) - most
    return ", ".join(map(show, items[:most])) + (f" and {more} more" if more > 0 else "")


_MARKER = re.compile(r"<!-- apprentice:(\S+) -->")


def marker(key: str) -> str:
    """A hidden marker that identifies a comment of ours."""
    return f"<!-- apprentice:{key} -->"


def marked(body: str) -> str:
    """The key in the marker of one of our comments, empty without one. The last marker counts: quoted code may hold others."""
    found: list[str] = _MARKER.findall(body)
    return found[-1] if found else ""
