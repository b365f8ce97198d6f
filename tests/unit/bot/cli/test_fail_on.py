"""Which review fails: every cell of the table in docs/commands.md."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.cli.console import FailOn
from bot.cli.review_report import report_of
from bot.local import LocalReview
from memory.model import Action, Severity
from memory.policy.review_policy import PROTECTED, permitted
from tests.reviewed import BREAKS, GREEN, SILENT, finding, review
from workers.sandbox.report import NO_TESTS

PAGE = Path(__file__).parents[4] / "docs" / "commands.md"
SHOWN = {
    "a broken test": review(tests=BREAKS),
    "a critical finding": review(finding(Severity.CRITICAL)),
    "a major finding": review(finding(Severity.MAJOR)),
    "a minor finding": review(finding(Severity.MINOR)),
    "a finding for information": review(finding(Severity.INFO)),
    "a hidden finding": review(finding(Severity.MAJOR), hidden=True),
    "nothing": review(),
    "nothing, and no test could tell": review(tests=SILENT),
    "a minor finding, and no test could tell": review(finding(Severity.MINOR), tests=SILENT),
}
CANNOT_RUN = "it cannot run"
"""By the real command, in tests/integration/test_review_formats.py."""


def table() -> dict[str, dict[str, int]]:
    """By row and column."""
    section = PAGE.read_text(encoding="utf-8").partition("## What a review fails on")[2].partition("\n## ")[0]
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in section.splitlines() if "|" in line]
    (_, *columns), _, *body = [row for row in rows if len(row) > 2]
    return {row[0]: dict(zip(columns, map(int, row[1:]), strict=True)) for row in body}


def test_the_table_has_every_case() -> None:
    """Each row is a review below, and each column a value of --fail-on."""
    assert set(table()) == {*SHOWN, CANNOT_RUN}
    assert all(list(row) == list(FailOn) for row in table().values())
    assert set(table()[CANNOT_RUN].values()) == {2}


@pytest.mark.parametrize("fail_on", FailOn)
@pytest.mark.parametrize("row", SHOWN)
def test_a_cell(row: str, fail_on: FailOn) -> None:
    """The exit code is the one in the table."""
    assert report_of(SHOWN[row]).exit_code(fail_on) == table()[row][fail_on]


@pytest.mark.parametrize("category", sorted(PROTECTED))
def test_security_is_never_hidden(category: str) -> None:
    """So a finding of such a category always counts."""
    found = finding(Severity.MINOR, category=category)
    assert Action.HOLD not in permitted(found, suggestion_proven=False, slots_left=0)
    assert report_of(review(found)).exit_code(FailOn.MINOR) == 1


@pytest.mark.parametrize(
    ("tested", "code"),
    [
        (review(tests=None), 0),
        (review(tests=replace(SILENT, trouble=NO_TESTS)), 0),
        (review(tests=replace(GREEN, passed=0, failing_before=("a", "b"))), 2),
        (review(tests=replace(GREEN, passed=0, unknown=("a",))), 2),
        (review(tests=replace(GREEN, whole=False, trouble="the time was up", failing_before=("a",))), 0),
    ],
)
def test_tests_that_say_nothing(tested: LocalReview, code: int) -> None:
    """A project without tests passes; one whose tests all fail before the change too was not tested by them."""
    assert report_of(tested).exit_code(FailOn.TESTS) == code
