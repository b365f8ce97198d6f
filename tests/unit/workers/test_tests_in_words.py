from __future__ import annotations

from dataclasses import replace

from inline_snapshot import snapshot

from tests.reviewed import culprit, review
from workers.messages.markdown import name
from workers.messages.review import review_body
from workers.messages.tests import headline, in_check, lines, markdown, untested_parts
from workers.review.broken_tests import BrokenTest, ComparedTests
from workers.review.plan import ReviewPlan
from workers.review.untested import Untested


def broken(number: int, *, added: bool = False, line: int = 4) -> BrokenTest:
    return BrokenTest(
        id=f"tests/test_it.py::test_{number}",
        error_type="AssertionError",
        message=f"assert {number} == 0\n +  where",
        path="it.py" if line else "",
        line=line,
        added=added,
    )


def test_broken_and_added_tests_are_counted_apart() -> None:
    assert headline(ComparedTests(broken=(broken(1), broken(2, added=True), broken(3, added=True)))) == snapshot(
        "1 test fails that passes without this change, 2 tests fail that this change adds"
    )
    assert headline(ComparedTests(broken=(broken(1),))) == snapshot("1 test fails that passes without this change")
    assert headline(ComparedTests(broken=(broken(1, added=True),))) == snapshot("1 test fails that this change adds")


def test_ten_are_shown_and_the_others_counted() -> None:
    shown = lines(ComparedTests(broken=tuple(broken(number) for number in range(500))))
    assert (len(shown), shown[0], shown[-1]) == snapshot(
        (11, "  tests/test_it.py::test_0: AssertionError: assert 0 == 0 (through it.py:4)", "  and 490 more")
    )


def test_long_parameters_are_cut_where_not_everything_is_asked_for() -> None:
    long = f"t.py::test_it[{'word ' * 30}]"
    tests = ComparedTests(broken=(replace(broken(1), id=long),), failing_before=(long,))
    assert lines(tests) == snapshot(
        [
            "  t.py::test_it[word word word word word word word word …]: AssertionError: assert 1 == 0 (through it.py:4)",
            "1 test failing without this change too: t.py::test_it[word word word word word word word word …].",
        ]
    )
    assert lines(tests, every=True)[0].startswith(f"  {long}: ")


def test_a_review_says_that_its_head_was_not_repaired() -> None:
    """With what is in the sentence neutralised: an error's words come from the project."""
    reviewed = replace(review(tests=ComparedTests(broken=(broken(1),))).reviewed, unrepaired="No repair: <b>@all</b>.")
    body = review_body(reviewed, ReviewPlan(), (), sha="0" * 40, reopened=0, bot_name="apprentice", key="k")
    assert body.splitlines()[:5] == snapshot(
        [
            "**1 test fails that passes without this change**",
            "",
            "- `tests/test_it.py::test_1`: AssertionError: assert 1 == 0 (through `it.py:4`)",
            "",
            "No repair: &lt;b>@\u200ball&lt;/b>.",
        ]
    )


def test_a_part_that_breaks_tests_says_enough_without_another_repair() -> None:
    """Taking it back is a repair; that there is no other one is no news."""
    tests = ComparedTests(broken=(broken(1),))
    reviewed = replace(review(tests=tests).reviewed, culprit=culprit("one\n"), unrepaired="No other repair was found.")
    body = review_body(reviewed, ReviewPlan(), (), sha="0" * 40, reopened=0, bot_name="apprentice", key="k")
    assert "One part of the change breaks them." in body
    assert "No other repair" not in body


def test_a_part_that_breaks_tests_is_not_blamed_for_a_test_that_the_change_adds() -> None:
    """A new test that fails may fail for a reason of its own."""
    tests = ComparedTests(broken=(broken(1), replace(broken(2), added=True)))
    reviewed = replace(review(tests=tests).reviewed, culprit=culprit("one\n"))
    body = review_body(reviewed, ReviewPlan(), (), sha="0" * 40, reopened=0, bot_name="apprentice", key="k")
    assert "One part of the change breaks those that it does not add." in body


def test_a_review_that_a_user_asked_for_says_that_no_test_is_broken() -> None:
    """Of a fork's, that is what the command was for; a review without a command leaves it to the check run."""
    reviewed = review(tests=ComparedTests(ran=9, passed=9, whole=True)).reviewed
    asked, unasked = (
        review_body(reviewed, ReviewPlan(), (), sha="0" * 40, reopened=0, bot_name="b", key="k", asked=asked)
        for asked in (True, False)
    )
    assert asked.splitlines()[0] == snapshot(
        "Reviewed 000000000000: no new comment beside the code. No test is broken: 9 tests passed."
    )
    assert unasked.splitlines()[0] == snapshot("Reviewed 000000000000: no new comment beside the code.")


def test_skipped_tests_are_counted() -> None:
    """They say nothing of the change, and may be many where the environment lacks an extra."""
    tests = ComparedTests(ran=191, passed=92, skipped=99, whole=True)
    assert headline(tests) == "No test is broken: 92 tests passed, 99 skipped"


def test_nothing_broken_says_how_many_ran_and_what_did_not() -> None:
    tests = ComparedTests(
        ran=12, passed=9, failing_before=("a", "b"), flaky=("t.py::c",), trouble="the tests ran longer than 5 s"
    )
    assert [headline(tests), *lines(tests)] == snapshot(
        [
            "No test is known to be broken: 9 tests passed, not all ran",
            "2 tests failing without this change too: a, b.",
            "1 test failing once and passing when run again: t.py::c.",
            "Not all tests ran: the tests ran longer than 5 s.",
        ]
    )
    assert markdown(tests) == []
    assert in_check(tests) == snapshot(
        [
            "No test is known to be broken: 9 tests passed, not all ran.",
            "2 tests failing without this change too: `a`, `b`.",
            "1 test failing once and passing when run again: `t.py::c`.",
            "Not all tests ran: the tests ran longer than 5 s.",
        ]
    )


def test_what_no_test_tests() -> None:
    """Lines are named by their files, the first five; nothing is said where nothing is known or all is tested."""
    lines = {f"src/m{number}.py": (3, 4, 5, 9) for number in range(7)}
    assert untested_parts(Untested(lines=lines, of=40, unnoticed=True)) == snapshot(
        [
            "No test runs 28 of 40 changed lines of code: src/m0.py:3-5,9, src/m1.py:3-5,9, src/m2.py:3-5,9, src/m3.py:3-5,9, src/m4.py:3-5,9 and 2 more.",
            "No test fails without the changed code.",
        ]
    )
    assert untested_parts(Untested(lines={"a`.py": (1,)}, of=1), name) == snapshot(
        ["No test runs 1 of 1 changed line of code: `a'.py:1`."]
    )
    assert untested_parts(Untested(of=9)) == untested_parts(None) == []


def test_a_file_that_cannot_be_collected_on_either_side_is_no_test() -> None:
    """It is counted as what it is."""
    tests = ComparedTests(ran=1, passed=0, failing_before=("tests/test_a.py",))
    assert lines(tests) == ["1 test file failing without this change too: tests/test_a.py."]


def test_of_many_tests_that_say_nothing_three_are_named() -> None:
    """A maintainer sees which they are, and no list that hides the rest; a run that could not begin has no name."""
    tests = ComparedTests(ran=9, passed=3, failing_before=tuple("abcde"), unknown=("",))
    assert lines(tests) == snapshot(
        [
            "5 tests failing without this change too: a, b, c and 2 more.",
            "1 test failing, and not compared because the time was up.",
        ]
    )


def test_what_cannot_be_collected_or_begun() -> None:
    file = BrokenTest(id="tests/test_it.py", error_type="ImportError", message="cannot import name 'f' from 'it'")
    begin = BrokenTest(id="", error_type="", message="pytest could not start: no module")
    assert headline(ComparedTests(broken=(file, file, begin, replace(file, added=True)))) == snapshot(
        "pytest cannot begin any more, 2 test files cannot be imported any more, 1 added test file cannot be imported"
    )
    assert lines(ComparedTests(broken=(file, begin), trouble="pytest could not start: no module")) == snapshot(
        [
            "  tests/test_it.py cannot be imported: ImportError: cannot import name 'f' from 'it'",
            "  pytest cannot begin: no module",
        ]
    )


def test_untrusted_words_are_no_markdown() -> None:
    bad = BrokenTest(
        id="t.py::test_`x`", error_type="E", message="@maya fixes #1 [x](http://x.y) `a`", path="a`.py", line=1
    )
    assert markdown(ComparedTests(broken=(bad,))) == snapshot(
        [
            "**1 test fails that passes without this change**",
            "",
            "- `t.py::test_'x'`: E: @\u200bmaya fixes\u200b #\u200b1 \\[x\\](http:\u200b//x.y) 'a' (through `a'.py:1`)",
        ]
    )


def test_a_failing_test_that_was_not_compared() -> None:
    """The verdict does not say that no test is broken, where one may be."""
    assert headline(ComparedTests(broken=(), ran=4, passed=3, whole=True, unknown=("test_a.py::test_a",))) == snapshot(
        "No test is known to be broken: 3 tests passed"
    )
