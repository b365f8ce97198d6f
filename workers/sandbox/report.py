"""The result of a test run. pytest_plugin.py writes it inside the sandbox, line by line; `decode` reads it.

All of it comes from a process that ran untrusted code: it is data of limited size, and proves nothing alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from memory.model import Frame, SuiteCount
from workers.ports import CompletedRun, Ending, Limits


class TestOutcome(StrEnum):
    """How one test ended. A collection error is an ERROR whose id is the file's."""

    __test__ = False

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"


FAILURES = (TestOutcome.FAILED, TestOutcome.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """One test. `error_type` is the exception's class name (no module), empty unless it failed.

    `frames` are those inside the repository, outermost first. `operands` holds the values compared by a failing assert,
    as `repr` (clipped), where pytest knows them. `inherited` is the file of the test's function where that is not the id's.
    """

    __test__ = False

    id: str
    outcome: TestOutcome
    seconds: float
    error_type: str = ""
    message: str = ""
    frames: tuple[Frame, ...] = ()
    operands: tuple[str, ...] = ()
    inherited: str = ""


LONGEST_PARAMETERS = 40


def shortened(test: str) -> str:
    """A test's id with the beginning of its parameters, where these are long."""
    function, _, parameters = test.partition("[")
    return test if len(parameters) <= LONGEST_PARAMETERS else f"{function}[{parameters[:LONGEST_PARAMETERS]}…]"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport:
    """One test run. `complete` is false when the session did not end by itself (killed, crashed, interrupted).

    `started` is false when pytest never began: the command is missing, is no pytest, or died before.
    """

    __test__ = False

    results: tuple[TestResult, ...]
    started: bool
    complete: bool
    trouble: str = ""
    """Why the run is not complete or could not start, in words for the user; the tail of its output included."""

    out_of_time: bool = False
    """Whether it was stopped because its wall time was used up."""

    loaded: frozenset[str] = frozenset()
    """The plug-ins of pytest and the import hooks, by name, as far as the run came; empty where it did not begin."""

    def failing(self) -> tuple[TestResult, ...]:
        """The tests that failed or broke, in the order they ran."""
        return tuple(r for r in self.results if r.outcome in FAILURES)

    def passing(self) -> tuple[TestResult, ...]:
        """The tests that passed, in the order they ran."""
        return tuple(r for r in self.results if r.outcome is TestOutcome.PASSED)

    def inherited(self) -> dict[str, frozenset[str]]:
        """The names of test functions by the files that tests of other files inherit them from."""
        found: dict[str, set[str]] = {}
        for result in self.results:
            if result.inherited:
                found.setdefault(result.inherited, set()).add(result.id.partition("[")[0].rpartition("::")[2])
        return {path: frozenset(names) for path, names in found.items()}

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


MAX_RESULTS, MAX_FRAMES, MAX_OPERANDS, MAX_LINES = 200_000, 64, 8, 2_000_000
LONGEST_TYPE, LONGEST_MESSAGE, LONGEST_OPERAND, MAX_LOADED = 200, 4_000, 1_000, 2_000
LONGEST_EVENT = 8 << 20
"""Bytes of a line: those of `[[],[],…` take twenty times as much memory as values."""

_Id = Annotated[str, Meta(max_length=100_000)]
_Name = Annotated[str, Meta(max_length=LONGEST_TYPE, pattern=r"\A[^\0\ud800-\udfff]*\Z")]
"""A name that a database can hold. No class of Python has another."""

_InnerPath = Annotated[str, Meta(min_length=1, max_length=500, pattern=r"\A(?!/)(?!(?:[^\0]*/)?\.\.(?:/|\Z))[^\0]*\Z")]
"""A path inside the checkout, because callers open it."""

_LineNumber = Annotated[int, Meta(gt=0, le=10_000_000)]
_Seconds = Annotated[float, Meta(ge=0.0, le=1e6)]
_RANGE = re.compile(r"([0-9]{1,8})(?:-([0-9]{1,8}))?")


class _Event(Struct, tag_field="event"):
    """A line of the plugin."""


class _Start(_Event, tag="start"):
    """A session of pytest begins."""


class _Running(_Event, tag="running"):
    id: _Id


class _CollectError(_Event, tag="collect_error"):
    id: _Id
    type: _Name
    message: str
    frames: list[tuple[_InnerPath, _LineNumber, str]]
    operands: list[str]


class _Result(_CollectError, tag="result"):
    outcome: TestOutcome
    seconds: _Seconds
    inherited: _InnerPath | None = None


class _Executed(_Event, tag="lines"):
    id: _Id
    lines: dict[_InnerPath, str]


class _Finish(_Event, tag="finish"):
    exit: int


class _Loaded(_Event, tag="loaded"):
    names: Annotated[list[_Name], Meta(max_length=MAX_LOADED)]


class _InvalidLineError(ValueError):
    """A line that the plugin never writes."""


@dataclass(slots=True, kw_only=True)
class DecodedReport:
    """All events of one run, in order. Several pytest sessions of one command are one report."""

    sessions: int = 0
    finished: int = 0
    exit_status: int = 0
    results: dict[str, TestResult] = field(default_factory=dict)
    broken_files: list[str] = field(default_factory=list)
    running: dict[str, None] = field(default_factory=dict)
    lines: dict[str, dict[str, frozenset[int]]] = field(default_factory=dict)
    line_count: int = 0
    loaded: set[str] = field(default_factory=set)
    damaged: int = 0
    """Lines that are no event of the plugin."""

    def add(self, event: _Event) -> None:
        """Add one event. Raises _InvalidLineError when it exceeds a cap."""
        match event:
            case _Start():
                self.sessions += 1
            case _Running(id=test):
                if len(self.running) >= MAX_RESULTS:
                    raise _InvalidLineError
                self.running[test] = None
            case _Result():
                self.running.pop(event.id, None)
                self._keep(replace(_result(event, event.outcome, event.seconds), inherited=event.inherited or ""))
            case _CollectError():
                self.broken_files.append(event.id)
                self._keep(_result(event, TestOutcome.ERROR, 0.0))
            case _Executed():
                self._add_lines(event)
            case _Finish(exit=status):
                self.finished += 1
                self.exit_status = self.exit_status or status
            case _Loaded(names=names):
                if len(self.loaded) > MAX_LOADED:
                    raise _InvalidLineError
                self.loaded.update(names)

    def _keep(self, result: TestResult) -> None:
        """One result for each id; a later session does not replace a failure."""
        earlier = self.results.get(result.id)
        if earlier is not None and earlier.outcome in FAILURES:
            return
        if len(self.results) >= MAX_RESULTS:
            raise _InvalidLineError
        self.results[result.id] = result

    def _add_lines(self, event: _Executed) -> None:
        files: dict[str, frozenset[int]] = {}
        for path, text in event.lines.items():
            files[path] = numbers = frozenset(_numbers(text, MAX_LINES - self.line_count))
            self.line_count += len(numbers) + 1
        self.lines[event.id] = files


def decode(report: bytes) -> DecodedReport:
    """Decode a whole report. Skips an incomplete last line, which an ended run leaves; counts other invalid lines.

    The lines come from untrusted code, so every size and type is checked.
    """
    decoded = DecodedReport()
    *lines, _ = report.split(b"\n")
    for line in lines:
        try:  # json, unlike msgspec, reads the lone surrogates that a test's message may hold
            decoded.add(msgspec.convert(json.loads(line[:LONGEST_EVENT]), _EVENTS))
        except (ValueError, RecursionError, msgspec.ValidationError):
            decoded.damaged += 1
    return decoded


_EVENTS = _Start | _Running | _Result | _CollectError | _Executed | _Loaded | _Finish


def cut_short(decoded: DecodedReport, error_type: str, message: str) -> tuple[TestResult, ...]:
    """All results; a test that was running when the run ended has failed with `error_type`."""
    cut = TestResult(id="", outcome=TestOutcome.FAILED, seconds=0.0, error_type=error_type, message=message)
    return (*decoded.results.values(), *(replace(cut, id=id_) for id_ in decoded.running if id_ not in decoded.results))


def _result(event: _CollectError, outcome: TestOutcome, seconds: float) -> TestResult:
    return TestResult(
        id=event.id,
        outcome=outcome,
        seconds=seconds,
        error_type=event.type,
        message=event.message[:LONGEST_MESSAGE],
        frames=tuple(
            Frame(path=path, line=line, function=function[:LONGEST_TYPE])
            for path, line, function in event.frames[:MAX_FRAMES]
        ),
        operands=tuple(value[:LONGEST_OPERAND] for value in event.operands[:MAX_OPERANDS]),
    )


def _numbers(text: str, most: int) -> Iterator[int]:
    """Line numbers of ranges as in `3-7,9`, `most` at most."""
    if most <= 0:
        raise _InvalidLineError
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


# ── What went wrong with a run, in words ──

TAIL_CHARACTERS = 600
NO_SUCH_COMMAND = (126, 127)
PASSED, FAILED, INTERRUPTED, INTERNAL_ERROR, USAGE_ERROR, NOTHING_COLLECTED = range(6)
"""pytest's exit codes (pytest.ExitCode)."""

OWN_ENDINGS = (PASSED, FAILED)
"""Exit codes of a pytest that ran to its end."""

NO_TESTS = "no tests were collected"
"""The trouble of a run in which nothing fitted what was asked for."""

NOT_STARTED = "pytest could not start"
"""What the trouble of a run begins with in which pytest refused its options or configuration."""

_ODD_ENDINGS = {
    INTERRUPTED: "pytest was interrupted",
    INTERNAL_ERROR: "pytest met an internal error",
    USAGE_ERROR: "pytest did not accept its arguments",
}


def problem_of(completed: CompletedRun, decoded: DecodedReport, limits: Limits, *, python: Path, program: str) -> str:
    """The problem of a run, apart from failing tests; empty without one. `program` is the test command's first word."""
    if completed.ending is not Ending.EXITED:
        return _with_place(_CUTS.get(completed.ending, _KILLED)[1].format(limits), decoded)
    if not decoded.sessions:
        return _not_started(completed, python, program)
    others_ran = decoded.exit_status in OWN_ENDINGS and any("::" in test for test in decoded.results)
    if decoded.broken_files and not others_ran:
        return _not_collected(decoded)
    if decoded.finished < decoded.sessions:
        return _with_place(f"pytest died with exit code {completed.exit_code}", decoded) + _tail(completed)
    status = decoded.exit_status
    if status == FAILED and decoded.damaged and not any(each.outcome in FAILURES for each in decoded.results.values()):
        return "tests fail, and the report of them cannot be read"
    if status in OWN_ENDINGS:
        return ""
    if status == NOTHING_COLLECTED:
        return NO_TESTS
    return _ODD_ENDINGS.get(status, f"pytest ended with exit code {status}") + _tail(completed)


def cut_error(ending: Ending) -> str:
    """The error type of a test that was running when the run was cut."""
    return _CUTS.get(ending, _KILLED)[0]


_CUTS = {
    Ending.WALL_TIME: ("Timeout", "the tests ran longer than {0.wall_seconds:.3g} s and were stopped"),
    Ending.CPU_TIME: ("Timeout", "the tests used more than {0.cpu_seconds} s of processor time and were stopped"),
    Ending.MEMORY: ("MemoryError", "the tests used more than {0.memory_mb} MB of memory and were stopped"),
    Ending.OUTPUT: ("Crash", "the report of the tests grew beyond {0.report_kb} KB and they were stopped"),
}
_KILLED = ("Crash", "the tests were killed")
"""The error type of a test that was running, and the problem of the run with its limits."""

CUT_ERRORS = frozenset(error for error, _ in (*_CUTS.values(), _KILLED))
"""What `cut_error` gives. No line raised them, so such a result may have no frames."""


def _not_started(completed: CompletedRun, python: Path, program: str) -> str:
    output = completed.stderr + completed.stdout
    completed = replace(completed, stderr=_FRAMES.sub("", completed.stderr))
    if "No module named pytest" in output or "No module named 'pytest'" in output:
        return (
            f"{python} has no pytest: install the project's test requirements into its environment, "
            "or name another interpreter"
        )
    if "apprentice_probe" in output:
        return "the test command hides PYTHONPATH from pytest: leave out python's -I and -E" + _tail(completed)
    if completed.exit_code in NO_SUCH_COMMAND:
        return f"the test command {program!r} cannot be started in the sandbox" + _tail(completed)
    if completed.exit_code == USAGE_ERROR:
        return NOT_STARTED + _tail(completed)
    return f"the test command ran no pytest (exit code {completed.exit_code})" + _tail(completed)


def _not_collected(decoded: DecodedReport) -> str:
    first = decoded.results[decoded.broken_files[0]]
    count = len(decoded.broken_files)
    what = "one file cannot" if count == 1 else f"{count} files cannot"
    message = next((line.strip() for line in first.message.splitlines() if line.strip()), "no message")
    return f"{what} be collected: {first.id}: {first.error_type}: {message}"


def _with_place(text: str, decoded: DecodedReport) -> str:
    running = next(iter(decoded.running), "")
    return f"{text} during {running}" if running else text


_FRAMES = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)*", re.MULTILINE)
"""A traceback but for its error: that, or the lines before it, say which plug-in, option or setting ended pytest."""


def _tail(completed: CompletedRun) -> str:
    """The errors that pytest marks, else the end of what was written: whole lines, as one."""
    output = completed.stderr.strip() or completed.stdout.strip()
    written = [line.strip() for line in output.splitlines() if line.strip()]
    marked = [line.removeprefix("E ").strip() for line in written if line.startswith("E ")]
    shown: list[str] = []
    for line in reversed(marked or written):
        if shown and len(" | ".join([line, *shown])) > TAIL_CHARACTERS:
            break
        shown.insert(0, line[-TAIL_CHARACTERS:])
    return f": {' | '.join(shown)}" if shown else ""
