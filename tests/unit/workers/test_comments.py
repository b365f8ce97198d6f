"""How far a repair is to be trusted is said in a sentence, and what is disputed is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from memory.model import (
    Attempt,
    AttemptOutcome,
    Confidence,
    DistinguishingCall,
    Doubt,
    Failure,
    Family,
    Proof,
    SuiteCount,
)
from workers.flows.repair import named_tests
from workers.messages.conversation import no_draft
from workers.messages.markdown import ZERO_WIDTH_SPACE
from workers.messages.repair import (
    asked_result,
    confidence,
    fix_body,
    fix_commit,
    fix_for_fork,
    fix_published,
    fix_title,
    fix_undecided,
    other_tests,
    question_title,
)
from workers.repair.episode import status_of
from workers.repair.result import RepairStatus

COUNT = SuiteCount(passed=3, failed=0, skipped=0, collected=3)
PROOF = Proof(
    failed_before=("t.py::a",), passed_after=("t.py::a",), before=COUNT, suite=COUNT, repeats=2, command="pytest"
)
DISPUTED = replace(
    PROOF,
    confidence=Confidence.DISPUTED,
    plausible=5,
    alike=3,
    clusters=2,
    share=0.5,
    telling=DistinguishingCall(
        call="total([`@all`])", this="0", other="None", patch="--- a/a.py\n+++ b/a.py\n+other\n"
    ),
)


def attempt(proof: Proof) -> Attempt:
    return Attempt(
        decision_id="d1",
        strategy="operators",
        probability=0.5,
        candidates=7,
        outcome=AttemptOutcome.PROVEN,
        patch="--- a/a.py\n+++ b/a.py\n+this\n",
        proof=proof,
    )


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        (PROOF, ""),
        (replace(PROOF, confidence=Confidence.UNIQUE), "No other edit that was tried passes these tests."),
        (
            replace(PROOF, confidence=Confidence.AGREED, plausible=4),
            "4 different edits pass these tests, and all behave",
        ),
        (DISPUTED, "behave in 2 different ways on further calls, 3 of them like this one: please decide."),
        (replace(DISPUTED, plausible=2, alike=1), "2 different ways on further calls: please decide."),
        (
            replace(DISPUTED, plausible=9, uncompared=6),
            "There was time to compare 3 of them on further calls, where these behave in 2 different ways: please decide.",
        ),
        (
            replace(DISPUTED, plausible=9, clusters=1, uncompared=6),
            "3 of them on further calls, where these behave alike",
        ),
        (replace(PROOF, plausible=2), "no further call to compare them by"),
    ],
)
def test_what_other_edits_say_of_a_repair_is_said(proof: Proof, said: str) -> None:
    """A sentence for each tier, and none where nobody looked."""
    assert said in confidence(proof)
    assert bool(said) == bool(confidence(proof))


@pytest.mark.parametrize("doubt", [doubt for doubt in Doubt if doubt is not Doubt.NONE])
def test_a_doubt_is_said_and_asked_about(doubt: Doubt) -> None:
    """People are asked to check what nothing disputes but something is to be said against."""
    proof = replace(PROOF, confidence=Confidence.UNIQUE, doubt=doubt)
    assert proof.asked
    assert "please check" in confidence(proof)
    assert "please check" in fix_published(2, attempt(proof))


def test_what_is_settled_is_not_asked_about() -> None:
    """A unique repair, and one that all others agree with, are proposed without a question."""
    for tier in (Confidence.UNIQUE, Confidence.AGREED):
        proof = replace(PROOF, confidence=tier)
        assert not proof.asked
        assert "please" not in fix_published(2, attempt(proof))


def test_a_late_edit_whose_rivals_behave_alike() -> None:
    """Why it is doubted does not contradict that nothing speaks against it."""
    agreed = replace(PROOF, confidence=Confidence.AGREED, plausible=3, doubt=Doubt.FAR_FETCHED)
    assert confidence(agreed) == snapshot(
        "3 different edits pass these tests, and all behave alike on further calls like those of the tests. Edits of its kind at such a place are seldom the repair, and pass by chance more often: please check that it is right."
    )


UNCOMPARED = replace(
    PROOF, plausible=2, clusters=2, telling=DistinguishingCall(call="", this="", other="", patch="+other\n")
)


@pytest.mark.parametrize(
    ("proof", "status"),
    [
        (DISPUTED, RepairStatus.UNDECIDED),
        (replace(DISPUTED, share=0.59), RepairStatus.UNDECIDED),
        (replace(DISPUTED, share=0.6), RepairStatus.FIXED),
        (replace(DISPUTED, share=0.9, doubt=Doubt.FAR_FETCHED), RepairStatus.UNDECIDED),
        (replace(PROOF, confidence=Confidence.UNIQUE, doubt=Doubt.FAR_FETCHED), RepairStatus.UNDECIDED),
        (replace(PROOF, confidence=Confidence.AGREED, doubt=Doubt.FAR_FETCHED), RepairStatus.FIXED),
        (replace(PROOF, confidence=Confidence.AGREED, doubt=Doubt.COINCIDES), RepairStatus.UNDECIDED),
        (replace(PROOF, cut=True), RepairStatus.UNDECIDED),
        (UNCOMPARED, RepairStatus.UNDECIDED),
        (replace(DISPUTED, confidence=Confidence.AGREED), RepairStatus.FIXED),
        (PROOF, RepairStatus.FIXED),
    ],
)
def test_what_is_disputed_or_not_compared_is_not_called_fixed(proof: Proof, status: RepairStatus) -> None:
    """Unless a clear majority of the weight is with a likely edit; where nobody looked for others, as with a model, the proof alone counts.

    A proof that time cut short is none.
    """
    assert status_of([attempt(proof)]) is status


def test_what_most_of_the_weight_is_against_is_undecided() -> None:
    """A disputed repair is a pull request that asks with a clear majority of the weight; below, it is only shown."""
    assert not replace(DISPUTED, share=0.6).undecided
    assert replace(DISPUTED, share=0.5).undecided
    assert not replace(DISPUTED, share=0.4, confidence=Confidence.AGREED).undecided
    assert "I opened #2 as a question: " in fix_published(2, attempt(DISPUTED))
    assert "question" not in fix_published(2, attempt(PROOF))


def test_what_is_undecided_is_shown_with_the_question() -> None:
    """The call that tells two changes apart, or the other change where none does."""
    assert "I propose none" in fix_undecided(attempt(DISPUTED))
    assert "**Which result is right?**" in fix_undecided(attempt(DISPUTED))
    assert "**Which change is right?**" in fix_undecided(attempt(UNCOMPARED))
    assert "+other" in fix_undecided(attempt(UNCOMPARED))
    assert asked_result(UNCOMPARED).startswith("Which is right: this change or the other one?")


def test_a_long_patch_is_cut_and_that_is_said() -> None:
    """A text that GitHub would refuse would leave a repair unpublished."""
    failure = Failure(error_type="E", family=Family.OTHER, message="", frames=(), failing_tests=("t.py::a",))
    long = replace(attempt(PROOF), patch="--- a/a.py\n+++ b/a.py\n" + "+a line of it\n" * 9_998)
    tests = {"tests/test_issue_1.py": "# a line of it\n" * 1_333}
    body = fix_body(failure, long, {"a.py": False}, tests, issue=1, closes=True, bot_name="bot", key="k")
    assert "# a line of it\n" * 1_333 in body
    assert len(body) < 65_536
    assert 9_998 - body.count("+a line of it\n") == int(body.partition(" more lines not shown")[0].rpartition("\n")[2])
    assert "a/a.py" in fix_for_fork(long)


def test_a_title_is_cut() -> None:
    """The name of an error and a path may be of any length; GitHub takes 256 characters."""
    failure = Failure(error_type="E" * 400, family=Family.OTHER, message="", frames=(), failing_tests=())
    for title in (fix_title(failure, "a.py"), question_title(failure, "a" * 400)):
        assert (len(title), title[-1]) == (256, "…")


def test_a_disputed_repair_asks_which_result_is_right() -> None:
    """The call, both results and the other edit are shown, where the patch itself is."""
    failure = Failure(error_type="E", family=Family.OTHER, message="", frames=(), failing_tests=("t.py::a",))
    bodies = (
        fix_body(failure, attempt(DISPUTED), {}, {}, issue=1, closes=True, bot_name="bot", key="k"),
        fix_for_fork(attempt(DISPUTED)),
    )
    for body in bodies:
        assert "**Which result is right?**" in body
        assert "`0` with this change, and `None` with this one instead" in body
        assert "+other" in body
    assert asked_result(DISPUTED) == "Which is right: total([`@all`]) → 0 (this change) or None (the other one)?"
    assert asked_result(PROOF) == ""


def test_results_that_read_the_same_are_not_offered_as_two() -> None:
    """The question says that they differ in what is not shown."""
    assert DISPUTED.telling is not None
    alike = replace(DISPUTED, telling=replace(DISPUTED.telling, other=DISPUTED.telling.this))
    assert asked_result(alike) == snapshot(
        "Which is right: this change or the other one? total([`@all`]) → 0 with both, but a part of the result that is not shown, or what the call changes, differs."
    )
    assert "gives `0` with this change and with this one, but a part" in fix_for_fork(attempt(alike))


@pytest.mark.parametrize("mark", ["[skip ci]", "[ci skip]", "[no ci]", "[Skip Actions]", "[actions skip]"])
def test_a_tests_name_skips_no_ci(mark: str) -> None:
    """Only we say whether CI waits: the name of a parametrised test is broken up where it would be a mark."""
    failing = (f"t.py::a{mark}",)
    failure = Failure(error_type=f"E{mark}", family=Family.OTHER, message="", frames=(), failing_tests=failing)
    assert mark not in fix_commit(failure, f"a{mark}.py", 1, skip_ci=False)
    assert fix_commit(failure, "a.py", 1, skip_ci=True).partition("\n")[0].endswith(" [skip ci]")


@pytest.mark.parametrize("acting", ["[skip ci]", "fixes #12", "Closes octocat/hello#3", "skip-checks: true"])
def test_the_text_of_a_pull_request_is_harmless_in_a_commit(acting: str) -> None:
    """As the message of a squash merge it is no Markdown: what code in it says closes no other issue and skips no CI."""
    test = f"t.py::a[{acting}]"
    failure = Failure(error_type="E", family=Family.OTHER, message=acting, frames=(), failing_tests=(test,))
    long = replace(attempt(replace(PROOF, passed_after=(test,))), patch=f"+# {acting}\n")
    tests = {"tests/test_issue_1.py": f"# {acting}\n"}
    first, _, body = fix_body(
        failure, long, {"a.py": False}, tests, issue=1, closes=True, bot_name="bot", key="k"
    ).partition("\n")
    assert first == "Fixes #1."
    assert body.replace(ZERO_WIDTH_SPACE, "").count(acting) == 5
    assert acting not in body
    assert acting not in no_draft(skip_ci=True)


def test_what_a_proof_did_not_run_is_said() -> None:
    """Of a test command that names a part of the tests."""
    assert other_tests(PROOF) == ""
    assert other_tests(replace(PROOF, rest=COUNT)) == "; all tests: 3 passed, 0 failed as before"
    none = replace(COUNT, passed=0, collected=0)
    said = other_tests(replace(PROOF, rest=none, unrun="the 60 s for proofs are used up"))
    assert said == "; not all of the tests ran: the 60 s for proofs are used up"


def test_tests_that_a_request_names_are_found() -> None:
    """As pytest's summary has them; nothing that is not a test's id."""
    log = "FAILED tests/test_a.py::TestB::test_c[1-x y] - assert 0\nsee a.py and `b/test_d.py::test_e`, x.py::\n"
    assert named_tests(log) == ("tests/test_a.py::TestB::test_c", "b/test_d.py::test_e")
