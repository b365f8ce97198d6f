"""Parses commands in comments: `@apprentice fix`, `/apprentice why 3f2a`. Pure; never raises.

A command is at the start of a line, and never in code, quotes or HTML comments. Some commands take an argument; none
takes options, because a comment may not change settings.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

MOST_COMMANDS = 10


class Verb(StrEnum):
    """The commands."""

    FIX = "fix"
    ASK = "ask"
    EXPLAIN = "explain"
    REVIEW = "review"
    WHY = "why"
    SHARE = "share"
    HELP = "help"
    ACCEPT = "accept"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`argument` is the id after `why`, the reason after `accept because` and `reject because`, the hint after
    `fix`, or the question after `ask` and `explain`.
    """

    verb: Verb
    argument: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandError:
    """An invalid command. `did_you_mean` is the nearest valid one, or empty."""

    problem: str
    did_you_mean: str = ""


_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LINE = re.compile(r"[^\n]*\n?")
_FENCE_OPENS = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)]) +)*(?P<mark>`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})")
_FENCE_CLOSES = re.compile(r"[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*\n?\Z")
_QUOTE = re.compile(r" {0,3}>")
_TICKS = re.compile(r"`+")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_.:-]{0,79}")
_BECAUSE = re.compile(r"(?:because|as|since)\b[\s:,]*", re.IGNORECASE)
_OPTION = re.compile(r"--?[A-Za-z][\w-]*|[\w.-]+=\S*")


def parse(text: str, bot_name: str) -> tuple[Command | CommandError, ...]:
    """The commands in `text`, in order and each once; at most MOST_COMMANDS, and then one error about the limit."""
    found = tuple(dict.fromkeys(_command(rest) for rest in _addressed(text, bot_name)))
    if len(found) > MOST_COMMANDS:
        problem = f"a comment may hold {MOST_COMMANDS} commands; the rest is ignored"
        return (*found[:MOST_COMMANDS], CommandError(problem=problem))
    return found


def _addressed(text: str, bot_name: str) -> Iterator[str]:
    """The text after the bot's name on each line that begins with it."""
    name = re.escape(bot_name)
    address = re.compile(
        rf"^ {{0,3}}(?:@{name}(?:\[bot\])?|/{name})(?![\w\[-])[:,]?(?P<rest>[^\n]*)", re.IGNORECASE | re.MULTILINE
    )
    visible = _without_hidden(text)
    line_starts = _without_code_and_quotes(visible)
    for match in address.finditer(line_starts):
        yield visible[match.start("rest") : match.end("rest")].replace("\x00", "").strip()


def _command(rest: str) -> Command | CommandError:
    word, argument = (*rest.split(maxsplit=1), "", "")[:2]
    name = word.rstrip(".,;:!?").lower()
    if not name:
        return Command(verb=Verb.HELP)
    if name not in tuple(Verb):
        near = difflib.get_close_matches(name[:40], tuple(Verb), n=1)
        return CommandError(problem=f"there is no command `{_shown(name)}`", did_you_mean=near[0] if near else "")
    return _with_argument(Verb(name), argument)


def _with_argument(verb: Verb, argument: str) -> Command | CommandError:
    if verb in (Verb.ACCEPT, Verb.REJECT):
        return Command(verb=verb, argument=_BECAUSE.sub("", argument, count=1))
    if option := _OPTION.match(argument):
        return CommandError(problem=f"`{verb}` takes no option `{_shown(option[0])}`", did_you_mean=verb)
    if verb in (Verb.FIX, Verb.ASK, Verb.EXPLAIN):
        return Command(verb=verb, argument=argument)
    if verb is not Verb.WHY or not argument:
        return Command(verb=verb)
    wanted = argument.split()[0].strip("`")
    if not _ID.fullmatch(wanted):
        return CommandError(problem=f"`{_shown(wanted)}` is not an id", did_you_mean=Verb.WHY)
    return Command(verb=verb, argument=wanted)


def _shown(word: str) -> str:
    """An untrusted word, safe inside a code span."""
    return re.sub(r"[^\w=.-]", "", word)[:40] or "?"


def _without_hidden(text: str) -> str:
    """`text` with HTML comments blanked and one kind of line end."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _blanked(text, (match.span() for match in _HTML_COMMENT.finditer(text)))


def _without_code_and_quotes(text: str) -> str:
    """`text` with code and quotes blanked. Blanks text that Markdown readers interpret differently."""
    return _blanked(text, (*_fenced_or_quoted(text), *_code_spans(text)))


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """`text` with the same length and lines, and NUL characters in `spans`, which start no command."""
    letters = list(text)
    for start, end in spans:
        letters[start:end] = ("\n" if letter == "\n" else "\x00" for letter in letters[start:end])
    return "".join(letters)


def _fenced_or_quoted(text: str) -> Iterator[tuple[int, int]]:
    """Fenced blocks (one left open runs to the end) and lines that begin with `>`."""
    fence = ""
    for line in _LINE.finditer(text):
        mark = (_FENCE_CLOSES if fence else _FENCE_OPENS).match(line[0])
        if fence or mark or _QUOTE.match(line[0]):
            yield line.span()
        if fence and mark and mark["mark"].startswith(fence):
            fence = ""
        elif not fence and mark:
            fence = mark["mark"]


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Inline code: from a run of backticks to the next of the same length in the same paragraph."""
    paragraph_start = 0
    for paragraph in (*_PARAGRAPH_END.finditer(text), None):
        end = paragraph.start() if paragraph else len(text)
        yield from _spans_within(text, paragraph_start, end)
        paragraph_start = end


def _spans_within(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    runs = list(_TICKS.finditer(text, start, end))
    later: dict[int, list[int]] = {}
    for index in reversed(range(len(runs))):
        later.setdefault(len(runs[index][0]), []).append(index)
    closed = -1
    for index, run in enumerate(runs):
        same = later[len(run[0])]
        while same and same[-1] <= max(index, closed):
            same.pop()
        if index > closed and same:
            closed = same[-1]
            yield run.start(), runs[closed].end()
