"""Commands in comments, `@apprentice fix`, `/apprentice why 3f2a`, and the jobs that they ask for. Pure; never raises.

A command is at the start of a line, and never in code, quotes or HTML comments. Some commands take an argument; none
takes options, because a comment may not change settings.
"""

import difflib
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bot.web.events import EventPull
from memory.model import Actor, SignalKind
from workers.jobs import (
    AnswerCommand,
    AnswerQuestion,
    Feedback,
    Fix,
    Job,
    LocateIssue,
    RepositoryRef,
    ReviewPull,
    ShareLearnings,
    Subject,
)

MAX_COMMANDS = 10
_ALIKE = 0.65
"""How alike a word and a command are for a slip: `fxi` is 0.67 of `fix`, and `merge` is no more than 0.6 of `where`."""


class Verb(StrEnum):
    FIX = "fix"
    ASK = "ask"
    EXPLAIN = "explain"
    WHERE = "where"
    REVIEW = "review"
    WHY = "why"
    SHARE = "share"
    HELP = "help"
    ACCEPT = "accept"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`argument` is the id after `why`, the reason after `accept because` and `reject because`, the hint after
    `fix`, the question after `ask` and `explain`, or the words after `where`.
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
_POLITE = re.compile(r"(?:(?:can|could|would) you\b\s*)?(?:please\b[\s,]*)?", re.IGNORECASE)
_BECAUSE = re.compile(r"(?:because|as|since)\b[\s:,]*", re.IGNORECASE)
_OPTION = re.compile(r"--?[A-Za-z][\w-]*|[\w.-]+=\S*")


def parse(text: str, bot_name: str) -> tuple[Command | CommandError, ...]:
    """The commands in `text`, in order and each once; at most MAX_COMMANDS, and then one error about the limit."""
    found = tuple(dict.fromkeys(_command(rest) for rest in _addressed(text, bot_name)))
    if len(found) > MAX_COMMANDS:
        problem = f"a comment may hold {MAX_COMMANDS} commands; the rest is ignored"
        return (*found[:MAX_COMMANDS], CommandError(problem=problem))
    return found


def _addressed(text: str, bot_name: str) -> Iterator[str]:
    """The text after the bot's name on each line that begins with it."""
    address, text = _address(bot_name), text.replace("\r\n", "\n").replace("\r", "\n")
    if not address.search(text):  # most texts
        return
    visible = _without_hidden(text)
    # Without code and quotes, and text that Markdown readers interpret differently.
    line_starts = _blanked(visible, (*_fenced_or_quoted(visible), *_code_spans(visible)))
    for match in address.finditer(line_starts):
        yield visible[match.start("rest") : match.end("rest")].replace("\x00", "").strip()


@functools.cache
def _address(bot_name: str) -> re.Pattern[str]:
    name = re.escape(bot_name)
    return re.compile(
        rf"^ {{0,3}}(?:@{name}(?:\[bot\])?|/{name})(?![\w\[/'’-])[:,]?(?P<rest>[^\n]*)", re.IGNORECASE | re.MULTILINE
    )


def _command(rest: str) -> Command | CommandError:
    word, argument = (*_POLITE.sub("", rest, count=1).split(maxsplit=1), "", "")[:2]
    name = word.rstrip(".,;:!?").lower()
    if not name:
        return Command(verb=Verb.HELP)
    if name not in tuple(Verb):
        near = difflib.get_close_matches(name[:40], tuple(Verb), n=1, cutoff=_ALIKE)
        return CommandError(problem=f"there is no command `{_shown(name)}`", did_you_mean=near[0] if near else "")
    return _with_argument(Verb(name), argument)


def _with_argument(verb: Verb, argument: str) -> Command | CommandError:
    if verb in (Verb.ACCEPT, Verb.REJECT):
        return Command(verb=verb, argument=_BECAUSE.sub("", argument, count=1))
    if option := _OPTION.match(argument):
        return CommandError(problem=f"`{verb}` takes no option `{_shown(option[0])}`", did_you_mean=verb)
    if verb in (Verb.FIX, Verb.ASK, Verb.EXPLAIN, Verb.WHERE):
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
    """`text` with HTML comments blanked. Up to the first of them, `<!--` in a fenced block or in code on one line begins none."""
    fenced = (span for span in _fenced_or_quoted(text) if not _QUOTE.match(text, span[0]))
    inline = (span for span in _code_spans(text) if "\n" not in text[slice(*span)])
    first = _blanked(text, (*fenced, *inline)).find("<!--")
    return _blanked(text, (match.span() for match in _HTML_COMMENT.finditer(text, first))) if first >= 0 else text


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
    last = {len(run[0]): place for place, run in enumerate(runs)}
    place = 0
    while place < len(runs):
        opening = runs[place]
        if last[len(opening[0])] > place:
            place = next(n for n in range(place + 1, len(runs)) if len(runs[n][0]) == len(opening[0]))
            yield opening.start(), runs[place].end()
        place += 1


# From commands to jobs.

_VERDICTS = {Verb.ACCEPT: SignalKind.ACCEPTED, Verb.REJECT: SignalKind.REJECTED}
_OUT_OF_PLACE = {
    Verb.REVIEW: "`review` works in a pull request",
    Verb.WHERE: "`where` works in an issue",
    Verb.ACCEPT: "`accept` works as a reply to one of my comments",
    Verb.REJECT: "`reject` works as a reply to one of my comments",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The repository and the user of an event, and the bot's name."""

    repository: RepositoryRef
    actor: Actor
    bot_name: str

    @property
    def who(self) -> dict[str, Any]:
        """The fields of a job that name the repository and the user."""
        return {"repository": self.repository, "actor": self.actor}


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedText:
    """A text that may hold commands, and its place.

    `context` is the text of the issue, by `author`; `subject` the post that a verdict judges, None without one; `pull` is None in an issue, and in an event that
    does not hold the pull request. `number` is a pull request's when `on_pull`; `thread` is the first comment of a review thread, 0 elsewhere.
    """

    text: str
    number: int
    comment_id: int
    title: str = ""
    context: str = ""
    author: Actor | None = None
    on_pull: bool = False
    pull: EventPull | None = None
    subject: Subject | None = None
    source: str = ""
    thread: int = 0


def jobs_from_commands(posted: PostedText, origin: Origin) -> tuple[Job, ...]:
    return tuple(_job_for(command, posted, origin) for command in parse(posted.text, origin.bot_name))


EDITED = "an edit starts nothing; write the command in a new comment"


def answers_to_edit(posted: PostedText, before: str | None, origin: Origin) -> tuple[Job, ...]:
    """One answer where an edit of the text brought a command in: a command is about the text as it was when it was posted."""
    if before is None or set(parse(posted.text, origin.bot_name)) <= set(parse(before, origin.bot_name)):
        return ()
    return (_answer(posted, origin, command="", problem=EDITED),)


def _job_for(command: Command | CommandError, posted: PostedText, origin: Origin) -> Job:
    if isinstance(command, CommandError):
        return _answer(posted, origin, command="", problem=command.problem, suggestion=command.did_you_mean)
    match command.verb:
        case Verb.FIX:
            return fix_of(posted, origin, command.argument)
        case Verb.REVIEW if posted.pull is not None:
            return review_of(posted.pull, origin, commanded=True, comment_id=posted.comment_id)
        case Verb.REVIEW if posted.on_pull:
            return ReviewPull(**_asked(posted, origin), commanded=True)
        case Verb.ACCEPT | Verb.REJECT if posted.subject is not None:
            return _feedback(command, posted, posted.subject, origin)
        case Verb.ASK | Verb.EXPLAIN:
            return _question(command, posted, origin)
        case Verb.WHERE if not posted.on_pull:
            return locate_of(posted, origin, commanded=True, text=command.argument)
        case Verb.SHARE:
            return ShareLearnings(**_asked(posted, origin))
        case Verb.WHY | Verb.HELP:
            return _answer(posted, origin, command=command.verb, argument=command.argument)
        case verb:
            return _answer(posted, origin, command=verb, problem=_OUT_OF_PLACE[verb])


def _asked(posted: PostedText, origin: Origin) -> dict[str, Any]:
    """The fields of a job that name the user, and where they asked for it."""
    return {**origin.who, "number": posted.number, "comment_id": posted.comment_id}


def fix_of(posted: PostedText, origin: Origin, guidance: str = "") -> Fix:
    return Fix(
        **_asked(posted, origin),
        pull=posted.on_pull,
        commanded=True,
        body=posted.context if posted.comment_id else posted.text,
        author=posted.author,
        comment=posted.text if posted.comment_id else "",
        head_sha=posted.pull.head.sha if posted.pull else "",
        guidance=guidance,
    )


def locate_of(posted: PostedText, origin: Origin, *, commanded: bool, text: str = "") -> LocateIssue:
    return LocateIssue(
        **_asked(posted, origin), title=posted.title, body=posted.context, commanded=commanded, text=text
    )


def _question(command: Command, posted: PostedText, origin: Origin) -> AnswerQuestion:
    return AnswerQuestion(
        **_asked(posted, origin),
        explain=command.verb is Verb.EXPLAIN,
        text=command.argument,
        on_pull=posted.on_pull,
        thread=posted.thread,
        title=posted.title,
        body=posted.context,
    )


def _feedback(command: Command, posted: PostedText, subject: Subject, origin: Origin) -> Feedback:
    return Feedback(
        **origin.who,
        kind=_VERDICTS[command.verb],
        subject=subject,
        source=posted.source,
        note=command.argument,
        number=posted.number,
    )


def _answer(
    posted: PostedText, origin: Origin, *, command: str, argument: str = "", problem: str = "", suggestion: str = ""
) -> AnswerCommand:
    return AnswerCommand(
        **_asked(posted, origin),
        command=command,
        argument=argument,
        problem=problem,
        suggestion=suggestion,
        thread=posted.thread,
    )


def review_of(
    pull: EventPull, origin: Origin, *, commanded: bool = False, comment_id: int = 0, pushed: bool = False
) -> ReviewPull:
    return ReviewPull(
        **origin.who,
        number=pull.number,
        head_sha=pull.head.sha,
        commanded=commanded,
        comment_id=comment_id,
        pushed=pushed,
    )
