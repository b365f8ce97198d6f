"""What `apprentice fix` prints of results that are long, unusual or not settled."""

from __future__ import annotations

import io
import shlex
from dataclasses import replace

import pytest
from inline_snapshot import snapshot
from rich.console import Console

from bot.cli.console import Detail
from bot.cli.fix_output import print_repaired, verdict
from bot.cli.json_output import advice
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
from workers.repair.result import Repaired, RepairStatus, SearchEffort

SCREEN = 24
TESTS = tuple(f"tests/test_a.py::test_{number}" for number in range(500))
FAILURE = Failure(error_type="ValueError", family=Family.VALUE, message="no\n + where", frames=(), failing_tests=TESTS)
COUNT = SuiteCount(passed=700, failed=0, skipped=1, collected=701)
PROOF = Proof(
    failed_before=TESTS,
    passed_after=TESTS,
    before=COUNT,
    suite=COUNT,
    repeats=2,
    command="python -m pytest",
    confidence=Confidence.UNIQUE,
    plausible=1,
)
PATCH = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
LOST = Attempt(
    decision_id="d1",
    strategy="names",
    probability=0.25,
    candidates=40,
    rivals=0,
    outcome=AttemptOutcome.NOTHING_PLAUSIBLE,
    reflection="names: 40 candidates tried, none makes the failing tests pass.",
)
WON = replace(LOST, decision_id="d2", outcome=AttemptOutcome.PROVEN, candidates=2, rivals=290, patch=PATCH, proof=PROOF)


def result(status: RepairStatus, *attempts: Attempt, failure: Failure | None = FAILURE) -> Repaired:
    return Repaired(
        status=status,
        failure=failure,
        attempts=attempts,
        tests=700,
        flaky=(),
        candidates=sum(each.candidates for each in attempts),
        test_runs=9,
        seconds=8.0,
    )


def printed(of: Repaired, detail: Detail = Detail.USUAL, *, applied: bool = False) -> list[str]:
    shown = io.StringIO()
    print_repaired(of, Console(file=shown, soft_wrap=True), seconds=12.34, applied=applied, detail=detail)
    return [line.rstrip() for line in shown.getvalue().splitlines()]


def test_five_hundred_failing_tests() -> None:
    """The verdict, the change and ten tests are on the first screen; a candidate is one that was tried to find a fix."""
    lines = printed(result(RepairStatus.FIXED, LOST, WON))
    assert lines[:SCREEN] == lines
    assert lines == snapshot(
        [
            "fixed: 500 failing tests pass now; suite 700 passed, 0 failed; 42 candidates tried; 12.3 s",
            "not applied; run again with --apply, or pipe --patch into `git apply`:",
            "diff --git a/a.py b/a.py",
            "--- a/a.py",
            "+++ b/a.py",
            "@@ -1 +1 @@",
            "-a = 1",
            "+a = 2",
            "",
            "failed before: ValueError: no",
            "  tests/test_a.py::test_0",
            "  tests/test_a.py::test_1",
            "  tests/test_a.py::test_2",
            "  tests/test_a.py::test_3",
            "  tests/test_a.py::test_4",
            "  tests/test_a.py::test_5",
            "  tests/test_a.py::test_6",
            "  tests/test_a.py::test_7",
            "  tests/test_a.py::test_8",
            "  tests/test_a.py::test_9",
            "  and 490 more (--verbose lists them)",
            "proof: 500 of 500 failing tests pass; suite 700 passed, 0 failed, 1 skipped of 701, run 2 times: python -m pytest",
            "confidence: No other edit that was tried passes these tests.",
            "why: apprentice why d2",
        ]
    )


def test_a_repair_of_more_than_it_began_with() -> None:
    """How the tests fail that the repair did not begin with is not known, and not said; of two likely changes both are read."""
    began = replace(FAILURE, failing_tests=TESTS[:2])
    telling = DistinguishingCall(call="f(1)", this="1", other="2", patch=PATCH)
    proof = replace(PROOF, failed_before=TESTS[:5], passed_after=TESTS[:5], telling=telling)
    lines = printed(result(RepairStatus.FIXED, replace(WON, proof=proof), failure=began))
    assert lines[1] == snapshot(
        "not applied; compare it with the other change below, then run again with --apply, or pipe --patch into `git apply`:"
    )
    assert next(line for line in lines if line.startswith("failed before")) == snapshot(
        "failed before: ValueError: no (2 of these tests; it repairs the other 3 too)"
    )


def test_what_is_set_aside() -> None:
    """Where nothing else fails, the verdict does not call it green; each reason has a line, and ten are shown."""
    green = result(RepairStatus.NOTHING_FAILING, failure=None)
    aside = replace(green, set_aside=dict.fromkeys(TESTS[:29], "it needs the network") | {TESTS[29]: "it needs Docker"})
    lines = printed(aside)
    assert lines == snapshot(
        [
            "nothing to repair: 700 tests, and 30 failures set aside; 12.3 s",
            "set aside: tests/test_a.py::test_0 and 28 more: it needs the network",
            "set aside: tests/test_a.py::test_29: it needs Docker",
        ]
    )
    unlike = replace(green, set_aside={test: f"it cannot be collected: {test}" for test in TESTS[:30]})
    assert printed(unlike)[11:] == ["set aside: and 20 more (--verbose lists them)"]
    assert len(printed(aside, Detail.ALL)) == 31
    assert printed(aside, Detail.VERDICT) == lines[:1]
    assert printed(replace(green, skipped=3)) == ["nothing fails: 700 tests, 3 of them skipped; 12.3 s"]
    assert printed(replace(green, flaky=TESTS[:1])) == snapshot(
        [
            "nothing fails each time: 700 tests, 1 of them failed once; 12.3 s",
            "failed once, and passed when run again: tests/test_a.py::test_0",
        ]
    )


def test_an_edit_that_was_refused_is_said_before_later_attempts_that_found_none() -> None:
    """What it lacked tells the user more."""
    refused = replace(LOST, outcome=AttemptOutcome.UNPROVEN, reflection="Best was `a` at a.py:1: the suite fails.")
    late = replace(LOST, strategy="everything", reflection="all strategies: time ran out.")
    lines = printed(result(RepairStatus.NOT_FIXED, LOST, refused, late))
    assert refused.reflection in lines
    assert late.reflection not in lines


def test_all_that_is_known() -> None:
    """--verbose has every test, each attempt with its odds, and the whole message."""
    lines = printed(result(RepairStatus.NOT_FIXED, LOST), Detail.ALL)
    assert [line for line in lines if "::" not in line] == snapshot(
        [
            "not fixed: 500 failing tests, and no change is proven; 40 candidates tried; 12.3 s",
            "fails: ValueError: no",
            " + where",
            "attempts",
            "  strategy  probability  candidates  others compared  outcome",
            "  names     0.25         40          0                nothing plausible",
            "  names: 40 candidates tried, none makes the failing tests pass.",
            "  9 test runs; 0.0 s for proofs",
            "why: apprentice why d1",
        ]
    )
    assert sum("::" in line for line in lines) == 500


@pytest.mark.parametrize(
    ("proof", "status", "shown"),
    [
        (
            replace(PROOF, unusual=("import ctypes in a.py",)),
            RepairStatus.FIXED,
            snapshot(
                [
                    "undecided: 500 failing tests pass with a change, but it uses what a repair has no use for (import ctypes in a.py); 2 candidates tried; 12.3 s",
                    "not applied; read it closely before you apply it:",
                ]
            ),
        ),
        (
            replace(PROOF, confidence=Confidence.AGREED, plausible=4, doubt=Doubt.COINCIDES),
            RepairStatus.UNDECIDED,
            snapshot(
                [
                    "undecided: 500 failing tests pass with a change, and it is an unlikely edit, of a kind that fits tests by chance; 2 candidates tried; 12.3 s",
                    "not applied; add a test of what is meant and run again, or apply it yourself:",
                ]
            ),
        ),
        (
            replace(PROOF, cut=True),
            RepairStatus.UNDECIDED,
            snapshot(
                [
                    "undecided: 500 failing tests pass with a change, but the time was up before all tests ran with it; 2 candidates tried; 12.3 s",
                    "not applied; give more time (--budget), so that the whole suite can run with it:",
                ]
            ),
        ),
        (
            replace(PROOF, confidence=Confidence.DISPUTED, plausible=4, clusters=2, share=0.3),
            RepairStatus.UNDECIDED,
            snapshot(
                [
                    "undecided: 500 failing tests pass with a change, and with others that behave differently (4 in all); 2 candidates tried; 12.3 s",
                    "not applied; add a test of what is meant and run again, or apply it yourself:",
                ]
            ),
        ),
        (
            replace(PROOF, confidence=Confidence.UNCOMPARED, plausible=4),
            RepairStatus.UNDECIDED,
            snapshot(
                [
                    "undecided: 500 failing tests pass with a change, and with others that could not be compared (4 in all); 2 candidates tried; 12.3 s",
                    "not applied; add a test of what is meant and run again, or apply it yourself:",
                ]
            ),
        ),
    ],
    ids=["unusual", "coincides", "cut", "disputed", "uncompared"],
)
def test_what_is_not_settled(proof: Proof, status: RepairStatus, shown: list[str]) -> None:
    """A change that a person has to decide on is called undecided, with the reason, and never applied."""
    of = result(status, replace(WON, proof=proof))
    assert not of.settled
    assert printed(of, applied=True)[:2] == shown


def test_a_suite_that_there_was_no_time_for() -> None:
    """What passed alone is counted, and that nothing else ran is said."""
    none = SuiteCount(passed=0, failed=0, skipped=0, collected=0)
    proof = replace(PROOF, suite=none, cut=True, unrun="the tests ran longer than 5 s", failed_before=TESTS[:3])
    lines = printed(result(RepairStatus.UNDECIDED, replace(WON, proof=replace(proof, passed_after=TESTS[:1]))))
    assert lines[0].startswith("undecided: 1 failing test passes with a change, but the time was up")
    assert next(line for line in lines if line.startswith("proof")) == snapshot(
        "proof: 1 of 3 failing tests passes; no time to run the suite; not all of the tests ran: the tests ran longer than 5 s"
    )


def test_expected_failures_are_counted() -> None:
    """The numbers of a suite sum up."""
    suite = SuiteCount(passed=459, failed=0, skipped=0, collected=470)
    lines = printed(result(RepairStatus.FIXED, replace(WON, proof=replace(PROOF, suite=suite))))
    assert next(line for line in lines if line.startswith("proof")) == snapshot(
        "proof: 500 of 500 failing tests pass; suite 459 passed, 0 failed, 0 skipped, 11 expected to fail of 470, run 2 times: python -m pytest"
    )


def test_a_repair_that_came_to_no_attempt() -> None:
    """Where the time went is said, and what would help."""
    effort = SearchEffort(
        candidates=0, searching=30.0, reproducing=28.0, proving=0.0, budget=60.0, whole=False, exhausted=False
    )
    one = replace(FAILURE, failing_tests=TESTS[:1])
    lines = printed(replace(result(RepairStatus.NOT_FIXED, failure=one), effort=effort))
    assert lines[-1] == snapshot(
        "0 candidates tried in 30 s, after 28 s to find what fails; 0 s were for proofs. To get further, give more time (--budget 180)."
    )


@pytest.mark.parametrize("exhausted", [True, False])
def test_several_tests_that_no_edit_repairs_together(exhausted: bool) -> None:
    """They were taken for one failure; where they are not, one of them can be named, whether or not time was left."""
    reproducing = 28.0 if exhausted else 1.0
    effort = SearchEffort(
        candidates=9, searching=30.0, reproducing=reproducing, proving=0.0, budget=60.0, whole=True, exhausted=exhausted
    )
    last = printed(replace(result(RepairStatus.NOT_FIXED), effort=effort))[-1]
    assert last.endswith(
        " If the tests fail for different reasons, name one of them (--test-command 'python -m pytest tests/test_a.py::test_0')."
    )


def test_one_of_several_that_was_looked_at_alone() -> None:
    """It is said which one, and another is named."""
    effort = SearchEffort(
        candidates=9,
        searching=30.0,
        reproducing=1.0,
        proving=0.0,
        budget=60.0,
        whole=True,
        exhausted=False,
        alone="tests/test_a.py::test_0",
    )
    last = printed(replace(result(RepairStatus.NOT_FIXED), effort=effort))[-1]
    assert last.endswith(
        "name one of them (--test-command 'python -m pytest tests/test_a.py::test_1'); tests/test_a.py::test_0 was looked at alone, too."
    )


def test_a_suite_that_takes_long_to_say_what_fails() -> None:
    """Where the whole suite had to run for that, one test is named, by its function: its parameters may be no word of a shell."""
    effort = SearchEffort(
        candidates=0, searching=30.0, reproducing=28.0, proving=0.0, budget=60.0, whole=True, exhausted=False
    )
    failure = replace(FAILURE, failing_tests=('tests/test_a.py::test_a[it\'s "so"]',))
    slow = replace(result(RepairStatus.NOT_FIXED, failure=failure), effort=effort)
    named = "To get further, name one failing test (--test-command 'python -m pytest tests/test_a.py::test_a') or give more time (--budget 180)."
    assert printed(slow)[-1].endswith(named)
    quick = replace(slow, effort=replace(effort, reproducing=2.0))
    assert printed(quick)[-1].endswith("proofs. To get further, give more time (--budget 180).")


def test_the_path_of_a_test_is_one_word_of_the_command_that_is_advised() -> None:
    """A project may call its files what it likes, and a user pastes the line into a shell."""
    effort = SearchEffort(
        candidates=9, searching=30.0, reproducing=1.0, proving=0.0, budget=60.0, whole=True, exhausted=True
    )
    tests = ("tests/a $(touch injected)/test_it's.py::test_a", "tests/test_b.py::test_b")
    shown = advice(
        replace(result(RepairStatus.NOT_FIXED, failure=replace(FAILURE, failing_tests=tests)), effort=effort)
    )
    option, command = shlex.split(shown.partition("name one of them (")[2].removesuffix(")."))
    assert (option, shlex.split(command)) == ("--test-command", ["python", "-m", "pytest", tests[0]])


def test_long_parameters_of_tests() -> None:
    """The ids of tests are shortened wherever they are listed, and --verbose has them whole."""
    long = f"tests/test_a.py::test_a[{'word ' * 30}]"
    of = replace(
        result(RepairStatus.NOT_FIXED, failure=replace(FAILURE, failing_tests=(long,))),
        flaky=(long,),
        set_aside={long: "it needs the network"},
    )
    assert printed(of)[2:] == snapshot(
        [
            "  tests/test_a.py::test_a[word word word word word word word word …]",
            "set aside: tests/test_a.py::test_a[word word word word word word word word …]: it needs the network",
            "failed once, and passed when run again: tests/test_a.py::test_a[word word word word word word word word …]",
        ]
    )
    assert sum(long in line for line in printed(of, Detail.ALL)) == 3


def test_what_a_change_leaves_failing_is_named() -> None:
    """With what to do about it: another run repairs one more failure."""
    proof = replace(PROOF, failed_before=TESTS[:4], passed_after=TESTS[:2])
    lines = printed(
        result(RepairStatus.FIXED, replace(WON, proof=proof), failure=replace(FAILURE, failing_tests=TESTS[:2]))
    )
    at = lines.index("still failing with it; run again for these once it is applied:")
    assert lines[at + 1 : at + 3] == ["  tests/test_a.py::test_2", "  tests/test_a.py::test_3"]


def test_a_change_for_whose_proof_no_time_was_left() -> None:
    """It is shown, and called not proven."""
    effort = SearchEffort(
        candidates=40, searching=50.0, reproducing=8.0, proving=2.0, budget=60.0, whole=False, exhausted=False
    )
    lost = replace(LOST, outcome=AttemptOutcome.UNPROVEN)
    lines = printed(replace(result(RepairStatus.NOT_FIXED, lost), effort=effort, late=PATCH))
    assert lines[0].startswith("not fixed: ")
    assert lines[1:9] == snapshot(
        [
            "not proven: the failing tests pass with this change, and time ended before all others had run with it:",
            "diff --git a/a.py b/a.py",
            "--- a/a.py",
            "+++ b/a.py",
            "@@ -1 +1 @@",
            "-a = 1",
            "+a = 2",
            "",
        ]
    )
    assert lines[-2].endswith("To get further, give more time (--budget 180).")


def test_the_time_for_the_environment_is_named() -> None:
    """Where the time of the command went, what is beside the budget too."""
    effort = SearchEffort(
        candidates=40, searching=60.0, reproducing=9.0, proving=0.0, budget=120.0, whole=False, exhausted=True
    )
    lines = printed(replace(result(RepairStatus.NOT_FIXED, LOST), effort=effort, environment_seconds=44.2))
    assert lines[-3] == "Making the environment: 44 s, beside the budget."


def test_a_model_counts_in_steps() -> None:
    """Steps of a model are no candidates."""
    model = replace(LOST, strategy="model:minimal", candidates=7)
    assert verdict(result(RepairStatus.NOT_FIXED, LOST, model), 3.0) == snapshot(
        "not fixed: 500 failing tests, and no change is proven; 40 candidates tried, 7 steps of the model; 3.0 s"
    )
    assert verdict(replace(result(RepairStatus.NOT_FIXED, LOST), others=3), 3.0) == snapshot(
        "not fixed: 500 failing tests (3 more fail), and no change is proven; 40 candidates tried; 3.0 s"
    )
    assert verdict(result(RepairStatus.NOT_FIXED, model), 3.0) == snapshot(
        "not fixed: 500 failing tests, and no change is proven; 7 steps of the model; 3.0 s"
    )


def test_a_file_that_cannot_be_imported() -> None:
    """It is called a test file, not a test."""
    failure = replace(FAILURE, failing_tests=("tests/test_a.py",))
    assert verdict(result(RepairStatus.NOT_FIXED, LOST, failure=failure), 3.0) == snapshot(
        "not fixed: 1 failing test file, and no change is proven; 40 candidates tried; 3.0 s"
    )
