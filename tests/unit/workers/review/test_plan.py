from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memory.model import Action, Finding, Proof, Severity, Sighting, Suggestion, SuiteCount
from workers.diffs import Change, parse_diff, unified
from workers.review.engine import Reviewed
from workers.review.plan import ReviewPlan, plan_review
from workers.review.read_report import CoverageStatus, FileCoverage

OLD = "".join(f"line {n}\n" for n in range(1, 31))
NEW = OLD.replace("line 10\n", "new 10\nnew 11\n")
COUNT = SuiteCount(passed=1, failed=0, skipped=0, collected=1)
PROOF = Proof(failed_before=(), passed_after=(), before=COUNT, suite=COUNT, repeats=1, command="pytest")


@pytest.fixture
def change() -> Change:
    return parse_diff(unified("a.py", OLD, NEW))


def finding(mark: str, line: int, *, end: int = 0, severity: Severity = Severity.MINOR) -> Finding:
    return Finding(
        fingerprint=mark,
        path="a.py",
        line=line,
        end_line=end or line,
        tool="ruff",
        rule="F401",
        category="maintainability",
        severity=severity,
        message="m",
        anchor="x",
    )


def suggesting(mark: str, start: int, end: int, *, proof: Proof | None = PROOF) -> Finding:
    suggestion = Suggestion(start_line=start, end_line=end, replacement="x\n", proof=proof)
    return replace(finding(mark, start), suggestion=suggestion)


def sighting(found: Finding, action: Action = Action.INLINE) -> Sighting:
    return Sighting(
        repository="o/r",
        number=1,
        sha="0" * 40,
        decision_id="d",
        finding=found,
        action=action,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def plan(
    change: Change,
    *found: Finding,
    elsewhere: tuple[Finding, ...] = (),
    actions: dict[str, Action] | None = None,
    earlier: tuple[Sighting, ...] = (),
    unread: frozenset[str] = frozenset(),
    gone: frozenset[str] = frozenset(),
    max_comments: int = 30,
) -> ReviewPlan:
    reviewed = Reviewed(
        change=change,
        findings=tuple(found),
        elsewhere=tuple(elsewhere),
        coverage=tuple(FileCoverage(path=path, status=CoverageStatus.FAILED) for path in unread),
        seen=(*found, *elsewhere),
    )
    actions = {each.fingerprint: Action.INLINE_SUGGESTION for each in found} | (actions or {})
    return plan_review(reviewed, actions, earlier=earlier, max_comments=max_comments, gone=gone)


def inline(made: ReviewPlan) -> list[tuple[str, bool, int, int]]:
    return [(each.finding.fingerprint, each.with_suggestion, each.start_line, each.line) for each in made.inline]


def test_each_finding_goes_where_it_was_decided(change: Change) -> None:
    """Inline, summary and hold are followed."""
    found = [finding("a", 10), finding("b", 10), finding("c", 11)]
    made = plan(change, *found, actions={"b": Action.SUMMARY, "c": Action.HOLD})
    assert inline(made) == [("a", False, 10, 10)]
    assert made.summary == (found[1],)
    assert made.held == (found[2],)


def test_a_proven_suggestion_is_posted_on_its_own_lines(change: Change) -> None:
    """The comment stands exactly on the lines that the suggestion replaces."""
    assert inline(plan(change, suggesting("a", 10, 11))) == [("a", True, 10, 11)]


def test_an_unproven_suggestion_is_not_posted(change: Change) -> None:
    """Without a proof only the finding is said."""
    assert inline(plan(change, suggesting("a", 10, 11, proof=None))) == [("a", False, 10, 10)]


def test_inline_without_suggestion_is_respected(change: Change) -> None:
    """The decision may be to say it without the suggestion."""
    assert inline(plan(change, suggesting("a", 10, 10), actions={"a": Action.INLINE})) == [("a", False, 10, 10)]


def test_suggestions_never_overlap(change: Change) -> None:
    """Of two suggestions for one line the first is made, the other finding is said in words."""
    made = plan(change, suggesting("a", 10, 11), suggesting("b", 11, 11))
    assert inline(made) == [("a", True, 10, 11), ("b", False, 11, 11)]


def test_what_github_takes_no_comment_on_goes_to_the_summary(change: Change) -> None:
    """Lines outside the diff's hunks cannot carry a comment."""
    made = plan(change, finding("far", 25), suggesting("edge", 14, 16))
    assert inline(made) == [("edge", False, 14, 14)]
    assert [found.fingerprint for found in made.summary] == ["far"]


def test_a_long_finding_is_said_where_it_shows(change: Change) -> None:
    """Of a finding over many lines the piece inside the hunk carries the comment."""
    assert inline(plan(change, finding("a", 1, end=30))) == [("a", False, 7, 14)]


def test_the_worst_are_said_inline_when_there_are_too_many(change: Change) -> None:
    """Over the limit the mildest go to the summary, and nothing is lost."""
    mild, worse = finding("a", 10), finding("b", 11, severity=Severity.MAJOR)
    made = plan(change, mild, worse, max_comments=1)
    assert inline(made) == [("b", False, 11, 11)]
    assert made.summary == (mild,)


def test_nothing_is_said_twice(change: Change) -> None:
    """What an earlier round said is repeated nowhere; what it held can still be said."""
    said, held = finding("said", 10), finding("held", 11)
    made = plan(change, said, held, earlier=(sighting(said), sighting(held, Action.HOLD)))
    assert [each[0] for each in inline(made)] == ["held"]
    assert made.repeated == (said,)


def test_what_was_said_and_is_gone_is_resolved(change: Change) -> None:
    """A fingerprint that is no longer seen is resolved, unless its file could not be read."""
    gone = sighting(finding("gone", 10))
    assert plan(change, earlier=(gone,)).resolved == ("gone",)
    assert plan(change, earlier=(gone,), unread=frozenset({"a.py"})).resolved == ()
    assert plan(change, finding("gone", 10), earlier=(gone,)).resolved == ()


def test_what_was_told_to_be_gone_is_back_or_no_news(change: Change) -> None:
    """What is back is neither new nor repeated; what is still gone is not told again; what was held was never told."""
    known, muted = sighting(finding("told", 10)), sighting(finding("muted", 11), Action.HOLD)
    back = plan(change, finding("told", 10), earlier=(known, muted), gone=frozenset({"told", "muted"}))
    assert (back.back, back.repeated, back.new, back.resolved) == (("told",), (), (), ())
    still = plan(change, earlier=(known, muted), gone=frozenset({"told"}))
    assert (still.back, still.resolved) == ((), ())


def test_findings_elsewhere_are_for_the_summary(change: Change) -> None:
    """They stand on lines that nobody changed, so they are not said inline, nor when they are held."""
    old, muted = finding("old", 12, severity=Severity.CRITICAL), finding("muted", 13)
    made = plan(change, elsewhere=(old, muted), actions={"muted": Action.HOLD})
    assert (made.inline, made.summary, made.held) == ((), (old,), (muted,))


def test_a_rule_gets_two_comments_unless_it_is_critical(change: Change) -> None:
    """The others of the rule are in the summary, in one line."""
    many = [finding(mark, 10) for mark in "abcd"]
    made = plan(change, *many)
    assert [each.finding.fingerprint for each in made.inline] == ["a", "b"]
    assert [each.fingerprint for each in made.summary] == ["c", "d"]
    worst = [replace(each, severity=Severity.CRITICAL) for each in many]
    assert len(plan(change, *worst).inline) == 4
