"""The result of a test run. pytest_plugin.py writes it inside the sandbox, line by line; `decode` reads it.

All of it comes from a process that ran untrusted code: it is data of limited size, and proves nothing alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from memory.model import Frame, SuiteCount


class TestOutcome(StrEnum):
    """How one test ended. A collection error is an ERROR whose id is the file's."""

    __test__ = False

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """One test. `error_type` is the exception's class name (no module), empty unless it failed.

    `frames` are those inside the repository, outermost first. `operands` holds the values compared by a failing assert,
    as `repr` (clipped), where pytest knows them.
    """

    __test__ = False

    id: str
    outcome: TestOutcome
    seconds: float
    error_type: str = ""
    message: str = ""
    frames: tuple[Frame, ...] = ()
    operands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport:
    """One test run. `complete` is false when the session did not end by itself (killed, crashed, interrupted).

    `started` is false when pytest never began: the command is missing, is no pytest, or died before.
    """

    __test__ = False

    results: tuple[TestResult, ...]
    started: bool
    complete: bool
    exit_code: int
    trouble: str = ""
    """Why the run is not complete or could not start, in words for the user; the tail of its output included."""

    def failing(self) -> tuple[TestResult, ...]:
        """The tests that failed or broke, in the order they ran."""
        return tuple(r for r in self.results if r.outcome in (TestOutcome.FAILED, TestOutcome.ERROR))

    def passing(self) -> tuple[TestResult, ...]:
        """The tests that passed, in the order they ran."""
        return tuple(r for r in self.results if r.outcome is TestOutcome.PASSED)

    def lost(self, after: TestReport) -> tuple[str, ...]:
        """The tests that passed in this run and did not in the run `after`."""
        passed = {result.id for result in after.passing()}
        return tuple(result.id for result in self.passing() if result.id not in passed)

    def count(self) -> SuiteCount:
        """The run in numbers; an error counts as a failure, an expected failure as neither passed nor failed."""
        outcomes = [result.outcome for result in self.results]
        return SuiteCount(
            passed=outcomes.count(TestOutcome.PASSED),
            failed=len(self.failing()),
            skipped=outcomes.count(TestOutcome.SKIPPED),
            collected=len(outcomes),
        )


MOST_RESULTS, MOST_FRAMES, MOST_OPERANDS, MOST_LINES = 200_000, 64, 8, 2_000_000
LONGEST_ID, LONGEST_TYPE, LONGEST_MESSAGE, LONGEST_OPERAND, LONGEST_PATH = 2_000, 200, 4_000, 1_000, 500
LAST_LINE_NUMBER = 10_000_000
LONGEST_SECONDS = 1e6

_RANGE = re.compile(r"([0-9]{1,8})(?:-([0-9]{1,8}))?")

FAILURES = (TestOutcome.FAILED, TestOutcome.ERROR)


@dataclass(slots=True, kw_only=True)
class DecodedReport:
    """All events of one run, in order. Several pytest sessions of one command are one report."""

    sessions: int = 0
    finished: int = 0
    exit_status: int = 0
    collected: int = 0
    results: dict[str, TestResult] = field(default_factory=dict)
    broken_files: list[str] = field(default_factory=list)
    running: dict[str, None] = field(default_factory=dict)
    lines: dict[str, dict[str, frozenset[int]]] = field(default_factory=dict)
    line_count: int = 0
    damaged: int = 0
    """Lines that are no event of the plugin."""


class _InvalidLineError(Exception):
    """A line that the plugin never writes."""


def decode(report: bytes) -> DecodedReport:
    """Decode a whole report. Skips an incomplete last line, which an ended run leaves; counts other invalid lines."""
    decoded = DecodedReport()
    *lines, _ = report.split(b"\n")
    for line in lines:
        try:
            _add_event(decoded, line)
        except _InvalidLineError:
            decoded.damaged += 1
    return decoded


def _add_event(decoded: DecodedReport, line: bytes) -> None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        raise _InvalidLineError from None
    if not isinstance(event, dict):
        raise _InvalidLineError
    handler = _HANDLERS.get(_text(event, "event", LONGEST_TYPE))
    if handler is None:
        raise _InvalidLineError
    handler(decoded, event)


def _start(decoded: DecodedReport, event: Mapping[str, object]) -> None:
    _text(event, "pytest", LONGEST_TYPE)
    decoded.sessions += 1


def _collected(decoded: DecodedReport, event: Mapping[str, object]) -> None:
    decoded.collected += len(_list(event, "ids"))


def _running(decoded: DecodedReport, event: Mapping[str, object]) -> None:
    if len(decoded.running) >= MOST_RESULTS:
        raise _InvalidLineError
    decoded.running[_text(event, "id", LONGEST_ID)] = None


def _result(decoded: DecodedReport, event: Mapping[str, object]) -> None:
    try:
        outcome = TestOutcome(_text(event, "outcome", LONGEST_TYPE))
    except ValueError:
        raise _InvalidLineError from None
    result = _details(event, outcome, _seconds(event))
    decoded.running.pop(result.id, None)
    _keep(decoded, result)


def _collect_error(decoded: DecodedReport, event: Mapping[str, object]) -> None:
    result = _details(event, TestOutcome.ERROR, 0.0)
    decoded.broken_files.append(result.id)
    _keep(decoded, result)


def _executed(decoded: DecodedReport, event: Mapping[str, object]) -> None:
    ranges = event.get("lines")
    if not isinstance(ranges, dict):
        raise _InvalidLineError
    files: dict[str, frozenset[int]] = {}
    for path, text in ranges.items():
        if not isinstance(text, str):
            raise _InvalidLineError
        files[_inner_path(path)] = numbers = frozenset(_numbers(text, MOST_LINES - decoded.line_count))
        decoded.line_count += len(numbers)
    decoded.lines[_text(event, "id", LONGEST_ID)] = files


def _finish(decoded: DecodedReport, event: Mapping[str, object]) -> None:
    status = event.get("exit")
    if not isinstance(status, int):
        raise _InvalidLineError
    decoded.finished += 1
    decoded.exit_status = decoded.exit_status or status


_HANDLERS: Mapping[str, Callable[[DecodedReport, Mapping[str, object]], None]] = {
    "start": _start,
    "collected": _collected,
    "running": _running,
    "result": _result,
    "collect_error": _collect_error,
    "lines": _executed,
    "finish": _finish,
}


def _keep(decoded: DecodedReport, result: TestResult) -> None:
    """One result for each id; a later session does not replace a failure."""
    earlier = decoded.results.get(result.id)
    if earlier is not None and earlier.outcome in FAILURES:
        return
    if len(decoded.results) >= MOST_RESULTS:
        raise _InvalidLineError
    decoded.results[result.id] = result


def cut_short(decoded: DecodedReport, error_type: str, message: str) -> tuple[TestResult, ...]:
    """All results; a test that was running when the run ended has failed with `error_type`."""
    cut = TestResult(id="", outcome=TestOutcome.FAILED, seconds=0.0, error_type=error_type, message=message)
    return (*decoded.results.values(), *(replace(cut, id=id_) for id_ in decoded.running if id_ not in decoded.results))


def _details(event: Mapping[str, object], outcome: TestOutcome, seconds: float) -> TestResult:
    return TestResult(
        id=_text(event, "id", LONGEST_ID),
        outcome=outcome,
        seconds=seconds,
        error_type=_text(event, "type", LONGEST_TYPE),
        message=_clipped(event.get("message"), LONGEST_MESSAGE),
        frames=tuple(_frame(value) for value in _list(event, "frames")[:MOST_FRAMES]),
        operands=tuple(_clipped(value, LONGEST_OPERAND) for value in _list(event, "operands")[:MOST_OPERANDS]),
    )


def _frame(value: object) -> Frame:
    match value:
        case [str(path), int(line), str(function)] if 0 < line <= LAST_LINE_NUMBER:
            return Frame(path=_inner_path(path), line=line, function=function[:LONGEST_TYPE])
    raise _InvalidLineError


def _inner_path(path: object) -> str:
    """A path inside the checkout, because callers open it."""
    if not isinstance(path, str) or not path or len(path) > LONGEST_PATH or "\0" in path:
        raise _InvalidLineError
    if path.startswith("/") or ".." in path.split("/"):
        raise _InvalidLineError
    return path


def _numbers(text: str, most: int) -> Iterator[int]:
    """Line numbers of ranges as in `3-7,9`, `most` at most."""
    for part in text.split(",") if text else ():
        bounds = _RANGE.fullmatch(part)
        if bounds is None:
            raise _InvalidLineError
        first = int(bounds[1])
        last = int(bounds[2] or first)
        most -= last - first + 1
        if last < first or most < 0:
            raise _InvalidLineError
        yield from range(first, last + 1)


def _seconds(event: Mapping[str, object]) -> float:
    value = event.get("seconds")
    if isinstance(value, (int, float)) and 0 <= value <= LONGEST_SECONDS:
        return float(value)
    raise _InvalidLineError


def _text(event: Mapping[str, object], key: str, longest: int) -> str:
    value = event.get(key)
    if not isinstance(value, str) or len(value) > longest:
        raise _InvalidLineError
    return value


def _clipped(value: object, longest: int) -> str:
    if not isinstance(value, str):
        raise _InvalidLineError
    return value[:longest]


def _list(event: Mapping[str, object], key: str) -> list[object]:
    value = event.get(key)
    if not isinstance(value, list):
        raise _InvalidLineError
    return value
