"""Failures are told apart by family, picked by importance, and summed up without noise."""

from __future__ import annotations

import builtins
from dataclasses import replace

import pytest

from memory.model import Family, Frame
from workers.repair.classify import belongs_to_tests, failure_of, family_of, signature
from workers.sandbox.report import TestOutcome, TestReport, TestResult


def result(
    test: str, error: str = "", message: str = "", frames: tuple[Frame, ...] = (), *, broken: bool = False
) -> TestResult:
    outcome = TestOutcome.ERROR if broken else TestOutcome.FAILED if error else TestOutcome.PASSED
    return TestResult(id=test, outcome=outcome, seconds=0.1, error_type=error, message=message, frames=frames)


def report(*results: TestResult) -> TestReport:
    return TestReport(results=results, started=True, complete=True)


def frame(path: str, line: int, function: str = "work") -> Frame:
    return Frame(path=path, line=line, function=function)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("AssertionError", Family.ASSERTION),
        ("Failed", Family.ASSERTION),
        ("UnboundLocalError", Family.NAME),
        ("UnicodeDecodeError", Family.VALUE),
        ("KeyError", Family.LOOKUP),
        ("ZeroDivisionError", Family.ARITHMETIC),
        ("ModuleNotFoundError", Family.IMPORT),
        ("IndentationError", Family.SYNTAX),
        ("FileNotFoundError", Family.IO),
        ("TimeoutError", Family.TIMEOUT),
        ("Timeout", Family.TIMEOUT),
        ("StopIteration", Family.ITERATION),
        ("RecursionError", Family.RECURSION),
        ("json.decoder.JSONDecodeError", Family.VALUE),
        ("BadKeyError", Family.LOOKUP),
        ("TomlDecodeError", Family.VALUE),
        ("UserDoesNotExist", Family.LOOKUP),
        ("MemoryError", Family.OTHER),
        ("Boom", Family.OTHER),
        ("", Family.OTHER),
    ],
)
def test_an_error_belongs_to_the_family_of_its_kind(name: str, family: Family) -> None:
    """Builtins follow their class hierarchy, other names their known class or their ending."""
    assert family_of(name) is family


def test_every_builtin_lookup_error_is_one() -> None:
    """No subclass is forgotten: the hierarchy itself is walked."""
    lookups = [n for n, v in vars(builtins).items() if isinstance(v, type) and issubclass(v, LookupError)]
    assert {family_of(name) for name in lookups} == {Family.LOOKUP}


def test_nothing_failing_is_no_failure() -> None:
    """A green run has no primary failure."""
    assert failure_of(report(result("t.py::a"))) is None


def test_a_collection_error_comes_first() -> None:
    """What keeps tests from being collected hides them, however many others fail."""
    failing = [result(f"t.py::t{n}", "KeyError") for n in range(5)]
    found = failure_of(report(*failing, result("tests/test_b.py", "ImportError", "no x", broken=True)))
    assert found is not None
    assert (found.error_type, found.failing_tests) == ("ImportError", ("tests/test_b.py",))


@pytest.mark.parametrize("changed", ["tests/test_b.py", "shop/till.py"])
def test_a_failure_in_a_changed_file_comes_before_a_larger_one(changed: str) -> None:
    """What a user has just edited, a test or what its traceback passes through, is what they ask about."""
    many = [result(f"tests/test_a.py::test_{n}", "TypeError", frames=(frame("shop/old.py", 3),)) for n in range(3)]
    one = result("tests/test_b.py::test_one", "ValueError", frames=(frame("shop/till.py", 9),))
    for files, tests in (((), 3), (["shop/other.py"], 3), ([changed], 1)):
        found = failure_of(report(*many, one), files)
        assert found is not None
        assert len(found.failing_tests) == tests


def test_the_largest_group_at_one_place_is_the_primary_failure() -> None:
    """Tests that break with one error at one line of the product belong together; a test's own frames do not part them."""
    here, there = frame("shop/till.py", 4), frame("shop/till.py", 90)
    found = failure_of(
        report(
            result("tests/test_a.py::a", "KeyError", "'x'", (there,)),
            result("tests/test_a.py::b", "KeyError", "'y'", (frame("tests/test_a.py", 3), here)),
            result("tests/test_a.py::c", "KeyError", "'z'", (frame("tests/test_a.py", 9), here)),
        )
    )
    assert found is not None
    assert found.failing_tests == ("tests/test_a.py::b", "tests/test_a.py::c")
    assert found.message == "'y'"


def test_a_failure_has_the_values_that_its_first_test_compared() -> None:
    """Its message abbreviates them."""
    compared = replace(result("t.py::a", "AssertionError", "assert '...'"), operands=("'left'", "'right'"))
    found = failure_of(report(compared, result("t.py::b", "AssertionError")))
    assert found is not None
    assert found.operands == ("'left'", "'right'")


def test_between_equal_groups_the_first_wins() -> None:
    """The order of the run breaks ties."""
    found = failure_of(report(result("t.py::a", "ValueError"), result("t.py::b", "KeyError")))
    assert found is not None
    assert found.error_type == "ValueError"


def test_a_timed_out_test_is_a_timeout() -> None:
    """pytest-timeout's failure is no broken expectation."""
    found = failure_of(report(result("t.py::a", "Failed", "Timeout (>5.0s) from pytest-timeout.")))
    assert found is not None
    assert found.family is Family.TIMEOUT


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/data.py", True),
        ("pkg/test/x.py", True),
        ("test_a.py", True),
        ("pkg/a_test.py", True),
        ("pkg/conftest.py", True),
        ("pkg/testing.py", False),
        ("pkg/contest.py", False),
        ("src/latest/x.py", False),
    ],
)
def test_tests_are_told_from_the_product(path: str, expected: bool) -> None:
    """Directories and file names that belong to tests are known; lookalikes are not."""
    assert belongs_to_tests(path) is expected


def test_a_signature_forgets_what_differs_between_runs() -> None:
    """Addresses, paths and numbers go; type, words, functions from the error outwards, and test names stay."""

    def once(address: str, number: int, path: str) -> str:
        message = f"<Row object at {address}> has {number} cells in {path}"
        frames = (frame("tests/test_a.py", 1, "test_a"), frame("a.py", number, "outer"), frame("b.py", 2, "inner"))
        found = failure_of(report(result("tests/test_a.py::test_cells[3]", "ValueError", message, frames)))
        assert found is not None
        return signature(found)

    assert once("0x7f01", 12, "/tmp/a/rows.csv") == once("0xffee", 7, "/home/b/rows.csv")
    assert once("0x7f01", 12, "/tmp/x") == (
        "ValueError\n<Row object at <address>> has <number> cells in <path>\ninner outer\ntest_cells"
    )
