"""What came of a repository's own suite in an environment that was made for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from workers.ports import Ending, Limits
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project
from workers.sandbox.report import TestOutcome, TestReport
from workers.sandbox.run_tests import run_tests

ENOUGH = 0.95
"""The share of a suite's tests that passes where an environment is good."""

GO_ON = "--continue-on-collection-errors"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One repository in one way. Times are in seconds, `cached` that of making the environment once more, if it is kept.

    `broken` counts files that cannot be collected; they count as failed tests too. `problem` is one line.
    `cut` tells that the suite was ended before its own end, so that the counts are those of a part.
    """

    repository: str
    way: str
    cold: float
    cached: float | None = None
    collected: int = 0
    broken: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    tests: float = 0.0
    cut: bool = False
    command: str = ""
    problem: str = ""

    @property
    def is_collected(self) -> bool:
        """Whether pytest found tests, and read every file that it looked for them in."""
        return self.collected > 0 and not self.broken

    @property
    def passes(self) -> bool:
        """Whether enough of the tests that were not skipped passed."""
        return self.passed > 0 and self.passed >= ENOUGH * (self.passed + self.failed)


def measured(outcome: Outcome, project: Project, seconds: float) -> Outcome:
    """The outcome with what the whole suite does in the product's sandbox, cut after `seconds`."""
    words = project.test_command
    if "pytest" in words and GO_ON not in words:
        project = replace(project, test_command=(*words, GO_ON))
    limits = Limits(wall_seconds=seconds, cpu_seconds=int(2 * seconds), output_kb=65_536, disk_mb=1024)
    run = run_tests(Bubblewrap(), project, limits=limits)
    broken = unread(run.report)
    count = run.report.count()
    return msgspec.structs.replace(
        outcome,
        collected=count.collected - len(broken),
        broken=len(broken),
        passed=count.passed,
        failed=count.failed,
        skipped=count.skipped,
        tests=round(run.completed.seconds, 1),
        cut=run.completed.ending is Ending.WALL_TIME,
        command=" ".join(words),
        problem=one_line(run.report.trouble) or first_failure(run.report),
    )


def unread(report: TestReport) -> Sequence[str]:
    """The files that pytest could not collect."""
    return [each.id for each in report.results if each.outcome is TestOutcome.ERROR and "::" not in each.id]


def first_failure(report: TestReport) -> str:
    """The first test that failed, and why; empty where none did."""
    first = next(iter(report.failing()), None)
    return "" if first is None else one_line(f"{first.id}: {first.error_type}: {first.message}")


def one_line(text: str, most: int = 240) -> str:
    """A text on one line, cut."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
