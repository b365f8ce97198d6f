"""What has to hold for each command, and what plain pytest says of the tests and repairs that it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from benchmarks.breaking_branches.oracle import NOT_BEGUN
from benchmarks.first_use.session import COLUMNS, ROWS, Ran, Way
from benchmarks.first_use.transcript import DIFF_HEAD, HUNK, STYLES

CONTROL = re.compile(r"\x1b|\r")
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3\d|4\d|9\d|10[0-7])(?:;\d+)*m")
DRAWN = re.compile(r"[─━│┃╭╮╰╯┌┐└┘]")
REVIEWED = re.compile(
    r"tests are broken: |no test is broken: |no test passed|no test ran|no test was run|nothing to review: "
)
FIXED = {
    "fixed: ": 0,
    "nothing fails": 0,
    "nothing to repair: ": 0,
    "not fixed: ": 1,
    "undecided: ": 3,
}
"""How a repair's verdict begins, and the exit code that docs/commands.md gives for it."""
CANNOT_RUN, INTERRUPTED, CLOSED = 2, 130, 141

BROKEN = re.compile(r"(\d+) tests? fails? that|(\d+) (?:added )?test files? cannot be imported|(pytest cannot begin)")
FAILING = re.compile(r"(\d+) failing tests?|\((\d+) more fail\)")
NAMED_AFTER = re.compile(r"tests are broken: |failed before: |fails: ")
MORE = re.compile(r"  and (\d+) more")


def problems(ran: Ran, truth: Collection[str], mends: Callable[[str], bool]) -> Iterator[str]:
    """What does not hold. `truth` are the tests that plain pytest sees failing, `mends` says whether they pass with a patch."""
    yield from _of_the_form(ran)
    if ran.command.way in (Way.INTERRUPTED, Way.HEAD) or ran.command.words[0] not in ("fix", "review"):
        return
    first = next(iter(_plain(ran)), "")
    expected = _expected(ran, first, truth)
    if ran.code != expected:
        yield f"ends with {ran.code}, and {expected} is right"
    if "--format" not in ran.command.words:
        yield from _of_the_tests(ran, first, truth)
    for patch in patches(STYLES.sub("", ran.out)):
        if not mends(patch):
            yield "shows a repair with which plain pytest fails"


def _of_the_form(ran: Ran) -> Iterator[str]:
    way, command = ran.command.way, ran.command.words[0]
    on_a_terminal = way in (Way.TERMINAL, Way.COLOURLESS)
    if not ran.out.strip() and not ran.err.strip():
        yield "prints nothing"
    if "Traceback (most recent call last)" in ran.out + ran.err:
        yield "prints a traceback"
    if (COLOUR if on_a_terminal else CONTROL).search(ran.out + ran.err) and way is not Way.TERMINAL:
        yield "prints codes for a terminal"
    if on_a_terminal and any(len(line) > COLUMNS and DRAWN.search(line) for line in _plain(ran)):
        yield "draws beyond the width"
    if way is Way.INTERRUPTED:
        if (ran.code, ran.out) != (INTERRUPTED, "") or "apprentice: interrupted after" not in ran.err.splitlines()[-1]:
            yield "does not end as what is interrupted"
    elif way is Way.APPLIED and ("ends with 0" in ran.applied) != (ran.code == 0):
        yield "prints a patch that does not apply, or one that is not proven"
    elif way is Way.HEAD and ran.code not in (CLOSED, 0, 1, 3):
        yield f"ends with {ran.code} when its reader leaves"
    elif command in ("fix", "review") and not _has_verdict(ran, on_a_terminal):
        yield "has no verdict on the first screen"


def _has_verdict(ran: Ran, narrow: bool) -> bool:
    """Whether the verdict is on the first screen of what is printed, and whole; of what cannot run, why."""
    text = ran.err if "--patch" in ran.command.words else ran.out
    rows = 0
    for line in STYLES.sub("", text).splitlines():
        rows += max(1, -(-len(line) // COLUMNS)) if narrow else 1
        if rows <= ROWS and _is_verdict(ran, line):
            return True
    return "apprentice: " in ran.err.splitlines()[-1] if ran.err else False


def _is_verdict(ran: Ran, line: str) -> bool:
    if "github" in ran.command.words:
        return line.startswith("::")
    return line.startswith(tuple(FIXED)) if ran.command.words[0] == "fix" else REVIEWED.match(line) is not None


def _plain(ran: Ran) -> list[str]:
    """The lines that have the verdict."""
    text = ran.err if "--patch" in ran.command.words else ran.out
    lines = STYLES.sub("", text).splitlines()
    verdicts = [number for number, line in enumerate(lines) if _is_verdict(ran, line)]
    return lines[verdicts[0] :] if verdicts else lines


def _expected(ran: Ran, first: str, truth: Collection[str]) -> int:
    if ran.command.words[0] == "fix":
        return next((code for start, code in FIXED.items() if first.startswith(start)), 2)
    if truth and ran.command.fails_on != "never":
        return 1
    findings = "finding" in first and " 0 findings" not in first
    return int(findings and ran.command.fails_on in ("minor", "any"))


def _of_the_tests(ran: Ran, first: str, truth: Collection[str]) -> Iterator[str]:
    if ran.code == CANNOT_RUN:
        if "pytest could not start" not in ran.err or NOT_BEGUN not in truth:
            yield "cannot run where plain pytest does"
        return
    counts = (FAILING if ran.command.words[0] == "fix" else BROKEN).finditer(first)
    counted = sum(int(number) if number.isdigit() else 1 for found in counts for number in found.groups() if number)
    if "--patch" not in ran.command.words and counted != len(truth):
        yield f"counts {counted} failing tests, and plain pytest {len(truth)}"
    if "--verbose" in ran.command.words:
        return  # whole messages stand before the names there
    named, failing = list(names(_plain(ran))), {unnumbered(test) for test in truth}
    for each in named:
        if NOT_BEGUN not in truth and not unnumbered(each).startswith(tuple(failing)):
            yield f"names a test that does not fail: {each}"
    if truth and "--quiet" not in ran.command.words and "--patch" not in ran.command.words and not named:
        yield "names no failing test"


def unnumbered(test: str) -> str:
    """A test's id without numbers: two checkouts may number parameters that are read from files otherwise."""
    return re.sub(r"\d+", "#", test)


def names(lines: Collection[str]) -> Iterator[str]:
    """The lines that name failing tests."""
    listing = False
    for line in lines:
        if NAMED_AFTER.match(line):
            listing = True
        elif listing and line.startswith("  "):
            if not MORE.match(line):
                yield line.removeprefix("  ")
        else:
            listing = False


def patches(text: str) -> Iterator[str]:
    """The diffs in a text, each whole."""
    lines, old, new = list[str](), 0, 0
    for line in [*text.splitlines(), ""]:
        if old > 0 or new > 0:
            sign = line[:1] or " "
            old, new = old - (sign in " -"), new - (sign in " +")
            lines.append(line or " ")
        elif hunk := HUNK.match(line):
            old, new = (int(count or 1) for count in hunk.groups())
            lines.append(line)
        elif DIFF_HEAD.match(line) or line.startswith("\\"):
            lines.append(line)
        elif lines:
            yield "\n".join(lines) + "\n"
            lines.clear()
