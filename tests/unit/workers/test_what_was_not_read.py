from __future__ import annotations

from dataclasses import replace

from tests.reviewed import finding, review
from workers.diffs import Change
from workers.messages.review import (
    CUT,
    LONGEST_TEXT,
    SHOWN_UNREAD,
    SHOWN_UNREAD_IN_CHECK,
    check_summary,
    check_title,
    review_body,
)
from workers.review.plan import ReviewPlan
from workers.review.read_report import CoverageStatus, FileCoverage


def summary(coverage: dict[str, str]) -> list[str]:
    """Of a review without tests that read one file and not those of `coverage`."""
    reviewed = review(tests=None).reviewed
    unread = (FileCoverage(path=path, status=CoverageStatus.SKIPPED, reason=why) for path, why in coverage.items())
    return check_summary(replace(reviewed, coverage=(*reviewed.coverage, *unread)), ReviewPlan(), ()).splitlines()


def test_few_files_are_all_named() -> None:
    """A short list is given whole."""
    assert summary({"a": "binary", "b": "vendored code"}) == [
        "1 file read.",
        "- not read: `a`: binary",
        "- not read: `b`: vendored code",
    ]


def test_many_files_are_counted_by_reason() -> None:
    """The first are named, the rest counted by the commonest reasons; the text never grows beyond what GitHub takes."""
    reasons = ["one"] * 60 + ["two"] * 30 + [f"reason {number}" for number in range(900)]
    lines = summary({f"{'x' * 290}{number}": reason for number, reason in enumerate(reasons)})
    assert len(lines) == 1 + SHOWN_UNREAD_IN_CHECK + 1
    assert lines[-1] == (
        "- not read: and 940 more: 30 files two; 10 files one; 1 file reason 0; 1 file reason 1; 1 file reason 2; "
        "897 files for other reasons"
    )
    assert len("\n".join(lines)) < 65_536
    assert SHOWN_UNREAD < SHOWN_UNREAD_IN_CHECK


def test_a_review_that_is_too_long_says_so() -> None:
    """Many rules at many places of long paths are cut at the end of a line, before the marker."""
    found = tuple(
        finding(message="x" * 280, path=f"{'d' * 285}/f{rule}.py", line=line, rule=f"E{rule:03}")
        for rule in range(20)
        for line in range(11)
    )
    body = review_body(
        review().reviewed, ReviewPlan(summary=found), (), sha="0" * 40, reopened=0, bot_name="bot", key="k"
    )
    lines = body.splitlines()
    assert len(body) <= LONGEST_TEXT
    assert lines[-3:] == ["", CUT, "<!-- apprentice:k -->"]
    assert all(line.endswith("x" * 280) for line in lines if line.startswith("- "))


def test_an_empty_change_has_a_title_of_its_own() -> None:
    """Nothing changed is not the same as nothing found."""
    changed = review().reviewed
    assert check_title(replace(changed, change=Change(files=())), findings=0) != check_title(changed, findings=0)
