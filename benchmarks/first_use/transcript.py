"""A session as a text to keep: each line that was printed, without what differs from run to run, and without foreign code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.first_use.session import Ran, Way

STYLES = re.compile(r"\x1b\[[0-9;]*m")

BY_CHANCE = re.compile(
    r"after # s, still: .*|(\d+|#) (candidate|rival)s? tried, now at .*|(environment: )?chose packages as of .*|.*: the other indexes are asked"
)
"""Lines that depend on how fast the machine is, on the day, or on its configuration of pip."""

SEARCHED = re.compile(
    r"trying strategy .*|<strategy>: .*|an edit of .* passes .*|similar failures in memory: .*"
    r"|<strategy> is proven after .*|running all tests with what passes, to prove it"
)
"""Lines about the way to a repair, which depends on the time: each kind is kept once."""

VARIES = {
    r"\b\d+(\.\d+)? s\b": "# s",
    r"\b(Python|CPython) 3\.[\d.]*\d": r"\1 #",
    r"\b\d+ packages?\b": "# packages",
    r"\b\d+ candidates?\b": "# candidates",
    r"\b\d+ rivals?\b": "# rivals",
    r"\b\d+ more lines?\b": "# more lines",
    r"\b\d+ test runs\b": "# test runs",
    r"\b\d+ different (edits|ways)\b": r"# different \1",
    r"\b\d+ of them like this one\b": "# of them like this one",
    r"\(\d+ in all\)": "(# in all)",
    r"\bin memory: \d+": "in memory: #",
    r"\b[0-9a-f]{16}\b": "<decision>",
    r"\b[0-9a-f]{12}\b": "<id>",
    r"^[\w ]+: (.*) is proven after .*": "<strategy> is proven after # candidates",
    r"^trying strategy \w+": "trying strategy <strategy>",
    r"^\w[\w ]*: (# candidates tried|no candidate to try).*": "<strategy>: # candidates tried, ...",
    r"^confidence: .*": "confidence: ...",
    r"(?<=failed of )(\d+)\. .*?%0A": r"\1. ...%0A",
    r"%0A@@ .*": "%0A<hunks>",
    r"^an edit of \S+ passes": "an edit of <place> passes",
    r"^editing .*": "editing <places>",
    r"^Which is right: .* \(the other one\)\?": "Which is right: <call> → <this> (this change) or <that> (the other one)?",
    r"\b(\w*(?:Error|Exception|Signature\w*|Failed|Warning)): .*?(?= \(through | \(\d+ of these |$)": r"\1: <message>",
}
"""What differs from run to run, and messages, which quote the code of others."""

DIFF_HEAD = re.compile(r"(diff --git |--- |\+\+\+ |index |new file mode |deleted file mode |similarity |rename )")
HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
SUGGESTED = re.compile(r"    suggested for .*, applied and tested:")
FAILURE, TEST = re.compile(r"(failed before|fails): "), re.compile(r"  \S+(\.py$|::)")
FINDING = re.compile(r"  \S+:\d+ \S+ \([^)]*\) |  and \d+ more|  .* fixes what it can|\d+ findings? to |not read: ")


def normal(text: str, places: Sequence[tuple[str, str]]) -> list[str]:
    """The lines of an output. `places` are directories of this machine, and what they are called."""
    for place, name in places:
        text = text.replace(place, name)
    kept, seen = list[str](), set[str]()
    for line in _without_code(STYLES.sub("", text).splitlines()):
        for pattern, name in VARIES.items():
            line = re.sub(pattern, name, line)
        if BY_CHANCE.fullmatch(line) or (SEARCHED.fullmatch(line) and line in seen):
            continue
        seen.add(line)
        kept.append(line.rstrip())
    return kept


def _without_code(lines: Iterable[str]) -> Iterator[str]:
    """The lines without the bodies of hunks and suggestions, and of messages but for their first lines."""
    old = new = 0
    code = message = False
    for line in lines:
        code = code and not FINDING.match(line)
        message = message and not TEST.match(line)
        if old > 0 or new > 0:
            sign = line[:1] or " "
            old, new = old - (sign in " -"), new - (sign in " +")
            if sign in "+-":
                yield f"{sign}<code>"
        elif code or message:
            continue
        elif hunk := HUNK.match(line):
            old, new = (int(count or 1) for count in hunk.groups())
            yield hunk[0]
        else:
            code, message = bool(SUGGESTED.match(line)), bool(FAILURE.match(line))
            yield line
            if code:
                yield "<code>"


def written(name: str, commit: str, session: Iterable[tuple[Ran, list[str], list[str]]]) -> str:
    """The text for one repository, from each command with the lines of its progress and of its result."""
    parts = [f"{name} at {commit[:12]}: what a new user reads. `!` is standard error, `|` standard output."]
    for ran, err, out in session:
        way = "" if ran.command.way is Way.PIPED else f"  {ran.command.way.value}"
        lines = [f"# {ran.command.title}", f"$ apprentice {' '.join(ran.command.words)}{way}"]
        lines += [f"! {line}".rstrip() for line in err] + [f"| {line}".rstrip() for line in out]
        parts.append("\n".join([*lines, *filter(None, [ran.applied]), f"ends with {ran.code}"]))
    return "\n\n".join(parts) + "\n"
