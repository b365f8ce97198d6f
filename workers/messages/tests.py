"""What the tests of both sides say of a change, in plain lines and in Markdown."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from workers.messages.markdown import counted, first_of, name, plain
from workers.review.broken_tests import BrokenTest, ComparedTests
from workers.review.untested import Untested
from workers.sandbox.report import NOT_STARTED, shortened
from workers.sandbox.tracing import ranges

SHOWN_TESTS = 10
SHOWN_FILES = 5
SHOWN_ASIDE = 3
"""How many of the tests that say nothing about the change are named."""


def headline(tests: ComparedTests) -> str:
    """The verdict in one line."""
    if tests.broken:
        return ", ".join(_parts(tests.broken))
    if not tests.ran:
        return "No test ran"
    if tests.tells_nothing:
        return "No test passed, so they do not tell whether this change breaks something"
    known = "known to be " if tests.unknown or not tests.whole else ""
    skipped = f", {tests.skipped} skipped" if tests.skipped else ""
    ran = "" if tests.whole else ", not all ran"
    return f"No test is {known}broken: {counted(tests.passed, 'test')} passed{skipped}{ran}"


def lines(tests: ComparedTests, *, every: bool = False) -> list[str]:
    """The broken tests for a terminal, the first ten or `every` one of them, and what else is known."""
    most, id_of = (len(tests.broken), str) if every else (SHOWN_TESTS, shortened)
    return [*_tests(tests, lambda test: f"  {_line(test, id_of, str)}", "  ", most), *remarks(tests)]


def blamed_on_part(tests: ComparedTests | None) -> str:
    """Which of the broken tests a part of the change breaks: it is looked for by those that the change does not add."""
    return "those that it does not add" if tests and any(test.added for test in tests.broken) else "them"


def described(test: BrokenTest) -> str:
    """One broken test on one line."""
    return _line(test, str, str)


def markdown(tests: ComparedTests) -> list[str]:
    """The broken tests in a review; nothing where there are none."""
    if not tests.broken:
        return []
    return [f"**{headline(tests)}**", "", *_tests(tests, lambda test: f"- {_line(test, name, plain)}", "- ")]


def markdown_remarks(tests: ComparedTests) -> list[str]:
    """The other sentences of a review about its tests; nothing where none is broken."""
    return remarks(tests, name, plain) if tests.broken else []


def in_check(tests: ComparedTests) -> list[str]:
    """The section of a check run."""
    section, others = markdown(tests), remarks(tests, name, plain)
    return [*section, *(["", *others] if others else []), ""] if section else [f"{headline(tests)}.", *others]


_KINDS = {
    (False, False): ("1 test fails that passes without this change", "{} tests fail that pass without this change"),
    (True, False): ("1 test file cannot be imported any more", "{} test files cannot be imported any more"),
    (False, True): ("1 test fails that this change adds", "{} tests fail that this change adds"),
    (True, True): ("1 added test file cannot be imported", "{} added test files cannot be imported"),
}
"""By whether pytest could not collect the whole file, and whether the change adds it."""


def _parts(broken: Sequence[BrokenTest]) -> Iterator[str]:
    """How many of each kind are broken."""
    if any(not test.id for test in broken):
        yield "pytest cannot begin any more"
    kinds = Counter((test.is_file, test.added) for test in broken if test.id)
    for kind, (one, many) in _KINDS.items():
        if number := kinds[kind]:
            yield one if number == 1 else many.format(number)


def _tests(tests: ComparedTests, line: Callable[[BrokenTest], str], indent: str, most: int = SHOWN_TESTS) -> list[str]:
    rest = len(tests.broken) - most
    return [*map(line, tests.broken[:most]), *([f"{indent}and {rest} more"] if rest > 0 else [])]


def _line(test: BrokenTest, quoted: Callable[[str], str], sentence: Callable[[str], str]) -> str:
    subject = quoted(test.id) if test.id else "pytest cannot begin"
    cannot = " cannot be imported" if test.is_file else ""
    message = next((line.strip() for line in test.message.splitlines() if line.strip()), "")
    message = message if test.id else message.removeprefix(NOT_STARTED).removeprefix(": ")
    what = ": ".join(part for part in (test.error_type, message) if part)
    through = f" (through {quoted(f'{test.path}:{test.line}')})" if test.path else ""
    return f"{subject}{cannot}: {sentence(what)}{through}"


def remarks(
    tests: ComparedTests, quoted: Callable[[str], str] = shortened, sentence: Callable[[str], str] = str
) -> list[str]:
    """What is known beside the broken tests, and what is not."""
    return [
        *_some(tests.failing_before, "failing without this change too", quoted),
        *_some(tests.flaky, "failing once and passing when run again", quoted),
        *_some(tests.unknown, "failing, and not compared because the time was up", quoted),
        *([sentence(f"Not all tests ran: {tests.trouble}.")] if tests.trouble and not _named(tests) else []),
    ]


def untested_parts(found: Untested | None, quoted: Callable[[str], str] = str) -> list[str]:
    """What of the change no test tests; nothing where that is not known. What no test runs, none fails without."""
    if found is None:
        return []
    missed = sum(map(len, found.lines.values()))
    places = first_of(list(found.lines), SHOWN_FILES, lambda path: quoted(f"{path}:{ranges(list(found.lines[path]))}"))
    return [
        *([f"No test runs {missed} of {counted(found.of, 'changed line')} of code: {places}."] if missed else []),
        *(["No test fails without the changed code."] if found.unnoticed and missed < found.of else []),
    ]


def _some(tests: Sequence[str], what: str, quoted: Callable[[str], str]) -> list[str]:
    """How many there are, and the names of the first; a run that could not begin has none."""
    names = [quoted(test) for test in tests[:SHOWN_ASIDE] if test]
    more = f" and {len(tests) - SHOWN_ASIDE} more" if len(tests) > SHOWN_ASIDE else ""
    named = f": {', '.join(names)}{more}" if names else ""
    kind = "test file" if all(test.endswith(".py") for test in tests) else "test"
    return [f"{counted(len(tests), kind)} {what}{named}."] if tests else []


def _named(tests: ComparedTests) -> bool:
    """Whether the broken tests say already why not all ran."""
    return any(test.is_file or not test.id for test in tests.broken)
