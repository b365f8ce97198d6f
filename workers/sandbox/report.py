"""The result of a test run. pytest_plugin.py writes it inside the sandbox, line by line; decode.py reads it.

All of it comes from a process that ran untrusted code: it is data of limited size, and proves nothing alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from memory.model import Frame


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
