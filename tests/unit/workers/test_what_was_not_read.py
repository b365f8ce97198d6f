from __future__ import annotations

from workers.messages.review import SHOWN_UNREAD, SHOWN_UNREAD_IN_CHECK, check_summary, check_title
from workers.review.plan import ReviewPlan


def summary(coverage: dict[str, str]) -> list[str]:
    text = check_summary(ReviewPlan(), coverage, (), read=1, unedited=0, untested=False, other_base="")
    return text.splitlines()


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


def test_an_empty_change_has_a_title_of_its_own() -> None:
    """Nothing changed is not the same as nothing found."""
    assert check_title(changed=0, findings=0, unread=0) != check_title(changed=1, findings=0, unread=0)
