"""What `apprentice review` prints of reviews with many findings, files and broken tests."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime

from inline_snapshot import snapshot
from rich.console import Console

from bot.cli.console import Detail
from bot.cli.review_output import print_reviewed
from bot.local import LocalReview
from memory.model import (
    Action,
    Arm,
    Attempt,
    AttemptOutcome,
    Confidence,
    Decision,
    Finding,
    Proof,
    Severity,
    State,
    SuiteCount,
    TaskKind,
)
from memory.policy.review_policy import PostingDecision
from workers.diffs import parse_diff, unified
from workers.review.broken_tests import BrokenTest, ComparedTests
from workers.review.culprit import Culprit
from workers.review.engine import Reviewed
from workers.review.read_report import CoverageStatus, FileCoverage

SCREEN = 24
COUNT = SuiteCount(passed=1, failed=0, skipped=0, collected=1)
PROOF = Proof(
    failed_before=("t.py::test_a",),
    passed_after=("t.py::test_a",),
    before=COUNT,
    suite=COUNT,
    repeats=2,
    command="python -m pytest",
    confidence=Confidence.UNIQUE,
    plausible=1,
)


def finding(number: int, rule: str) -> Finding:
    return Finding(
        fingerprint=f"{number:064d}"[::-1],
        path="shop/a.py",
        line=number,
        end_line=number,
        rule=rule,
        category="style",
        severity=Severity.MINOR,
        message="of no use",
        tool="ruff",
        anchor="a",
    )


def decided(action: Action, why: str) -> PostingDecision:
    state = State(kind=TaskKind.REVIEW, repository="local:shop", label="F401", family="style", place="code")
    decision = Decision(
        id="d",
        task_id="t",
        state=state,
        available=(action,),
        probabilities=(1.0,),
        chosen=action,
        arm=Arm.LEARNED,
        policy_version="1",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return PostingDecision(decision=decision, why=why)


def reviewed(
    found: dict[Finding, PostingDecision], *, unread: int = 0, tests: ComparedTests | None = None
) -> LocalReview:
    names = ["shop/a.py", *(f"data/{number}.bin" for number in range(unread))]
    diff = "".join(unified(name, "a\n", "b\n") for name in names)
    coverage = [FileCoverage(path=name, status=CoverageStatus.SKIPPED, reason="binary") for name in names[1:]]
    of = Reviewed(
        change=parse_diff(diff),
        findings=tuple(found),
        elsewhere=(),
        coverage=(FileCoverage(path=names[0], status=CoverageStatus.READ), *coverage),
        tests=tests,
    )
    return LocalReview(reviewed=of, decided={each.fingerprint: made for each, made in found.items()}, base="main")


def printed(of: LocalReview, detail: Detail = Detail.USUAL) -> list[str]:
    shown = io.StringIO()
    print_reviewed(of, Console(file=shown, soft_wrap=True), seconds=12.34, detail=detail)
    return [line.rstrip() for line in shown.getvalue().splitlines()]


FOUND = {
    **{finding(n, "F401"): decided(Action.INLINE, "no verdict") for n in range(1, 13)},
    **{finding(n, "E711"): decided(Action.SUMMARY, "no verdict") for n in range(20, 22)},
    **{finding(n, "E501"): decided(Action.HOLD, "4 of 5 rejected here; acceptance 0.02 ± 0.01") for n in range(30, 33)},
    finding(40, "D100"): decided(
        Action.HOLD, "developers fixed 0 of 90 past D100 on their own; acceptance 0.01 ± 0.01"
    ),
}


def test_findings_by_place() -> None:
    """Each place has its number, hidden ones their reason, and the number in the verdict is that of all."""
    lines = printed(reviewed(FOUND))
    assert [line for line in lines if "(minor)" not in line] == snapshot(
        [
            "no test was run; 18 findings: 12 to post beside the code, 2 to list in the summary, 4 to hide; 1 file read; 12.3 s",
            "12 findings to post beside the code:",
            "  and 2 more (--verbose lists them): 2 of F401",
            "2 findings to list in the summary:",
            "4 findings to hide, because little use is expected: 3 of E501 (4 of 5 rejected here), 1 of D100 (developers fixed 0 of 90 past D100 on their own):",
        ]
    )
    assert sum("(minor)" in line for line in lines) == 10 + 2 + 4


def test_a_finding_off_the_changed_lines_says_so() -> None:
    """What a change did not touch is not taken for its work."""
    of = reviewed({finding(1, "B324"): decided(Action.SUMMARY, "no verdict")})
    off = replace(of, reviewed=replace(of.reviewed, findings=(), elsewhere=of.reviewed.findings))
    assert printed(off)[-1] == snapshot("  shop/a.py:1 B324 (minor, not on a changed line) of no use  [100000000000]")


def test_all_findings() -> None:
    """--verbose lists as many as the verdict counts."""
    lines = printed(reviewed(FOUND), Detail.ALL)
    assert sum("(minor)" in line for line in lines) == len(FOUND) == 18


def test_hundreds_of_rules() -> None:
    """Where each finding is of another rule twenty are listed, and the others counted by rule."""
    many = {finding(n, f"X{n}"): decided(Action.INLINE, "no verdict") for n in range(1, 101)}
    lines = printed(reviewed(many))
    assert len(lines) <= SCREEN
    assert lines[-1] == snapshot(
        "  and 80 more (--verbose lists them): 1 of X21, 1 of X22, 1 of X23, 1 of X24, 1 of X25, 1 of X26, 1 of X27, 1 of X28, 1 of X29, 1 of X30"
    )


def test_what_matters_most_is_on_the_first_screen() -> None:
    """Of five hundred broken tests ten are shown, before the findings; of thirty files that were not read, ten."""
    broken = tuple(
        BrokenTest(id=f"t.py::test_{n}", error_type="ValueError", message="no", path="shop/a.py", line=1, added=False)
        for n in range(500)
    )
    tests = ComparedTests(broken=broken, ran=700, passed=200, whole=True)
    lines = printed(reviewed(FOUND, unread=30, tests=tests))
    assert (lines[0], lines[1], lines[10:13]) == snapshot(
        (
            "tests are broken: 500 tests fail that pass without this change; 18 findings: 12 to post beside the code, 2 to list in the summary, 4 to hide; 1 file read, 30 not read; 12.3 s",
            "  t.py::test_0: ValueError: no (through shop/a.py:1)",
            [
                "  t.py::test_9: ValueError: no (through shop/a.py:1)",
                "  and 490 more",
                "12 findings to post beside the code:",
            ],
        )
    )
    assert lines[-1] == snapshot("not read: and 20 more (--verbose lists them)")
    assert sum(line.startswith("not read: data/") for line in lines) == 10
    everything = printed(reviewed(FOUND, unread=30, tests=tests), Detail.ALL)
    assert sum("t.py::test_" in line for line in everything) == 500


def test_nothing_changed() -> None:
    """The base is named, so that a wrong one is seen."""
    of = LocalReview(
        reviewed=Reviewed(change=parse_diff(""), findings=(), elsewhere=(), coverage=()), decided={}, base="origin/main"
    )
    assert printed(of) == snapshot(["nothing to review: no file differs from origin/main; 12.3 s"])


def test_an_edit_that_is_both_culprit_and_repair_is_printed_once() -> None:
    """Any other repair has its own diff."""
    patch, other = (unified("shop/a.py", "a = 2\n", f"a = {now}\n") for now in ("1", "True"))
    broken = BrokenTest(id="t.py::test_a", error_type="ValueError", message="no", path="shop/a.py", line=1, added=False)
    of = reviewed({}, tests=ComparedTests(broken=(broken,), ran=1, passed=0, whole=True))
    part = Culprit(patch=patch, proof=PROOF, lines={})

    def said(repair: str) -> list[str]:
        fix = Attempt(
            decision_id="d",
            strategy="names",
            probability=0.25,
            candidates=1,
            rivals=0,
            outcome=AttemptOutcome.PROVEN,
            reflection="",
            patch=repair,
            proof=PROOF,
        )
        return printed(replace(of, reviewed=replace(of.reviewed, culprit=part, fix=fix)))

    same, another = said(patch), said(other)
    assert (same.count("+a = 1"), "a repair found the same edit:" in same) == (1, True)
    assert (another.count("+a = 1"), another.count("+a = True"), "with this change they pass:" in another) == (
        1,
        1,
        True,
    )
