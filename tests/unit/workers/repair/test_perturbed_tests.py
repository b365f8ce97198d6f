"""Twins of tests: with right code the right one holds and the perturbed one fails; results that lie hold in both."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from workers.repair.judging.perturbed_tests import MAX_FUNCTIONS, TwinTests, with_twins

TESTS = """
import unittest
from contextlib import nullcontext, suppress

import pytest
from code_under_test import double, fail, name_of, pairs

VALUES = [(1, 2), (3, 6)]
DIGITS = [[1]]


def test_number():
    assert double(2) == 4


def test_chain():
    assert -4 == double(-2) == double(-2)


def test_both():
    assert double(1) == 2 and name_of(1) == "one"


@pytest.mark.parametrize("given, expected", [(1, 2), pytest.param(3, 6, id="three")])
def test_parameters(given, expected):
    assert double(given) == expected


@pytest.mark.parametrize("digits", DIGITS)
def test_that_changes_its_parameter(digits):
    digits.append(double(1))
    assert digits == [1, 2]


@pytest.mark.parametrize(("given", "expected"), VALUES)
def test_parameters_by_name(given, expected):
    assert double(given) == expected


@pytest.mark.parametrize("wanted", ["a"])
def test_parameter_in_a_membership(wanted):
    assert wanted in pairs()


@pytest.mark.parametrize("expected", [4])
def test_comparison_before_the_assertion(expected):
    same = double(2) == expected
    assert same


def test_text():
    assert name_of(1) == "one"


def test_containers():
    expected = {"a": [1, 2]}
    assert pairs() == expected


def test_approximately():
    assert double(1.5) == pytest.approx(3.0)


def test_truth():
    assert not double(0)


def test_membership():
    assert "a" in pairs()


def test_error():
    with pytest.raises(ValueError, match="no"):
        fail()


@pytest.mark.parametrize("given, outcome", [(1, nullcontext(2)), (None, pytest.raises(TypeError))])
def test_in_a_context(given, outcome):
    with outcome as expected:
        assert double(given) == expected


def test_after_a_swallowed_error():
    with suppress(ValueError):
        fail()
    assert double(1) == 2


@pytest.mark.parametrize("given, wanted", [(1, [2]), (2, [])])
def test_in_a_loop_over_a_parameter(given, wanted):
    for each in wanted:
        assert each == double(given)


def test_in_a_loop():
    for given, wanted in VALUES:
        assert double(given) == wanted


def test_without_assertion():
    double(1)


def check(function, given, wanted):
    if given is None:
        return
    assert function(given) == wanted


def test_by_a_helper():
    check(double, None, 0)
    check(double, 2, 4)


def test_that_returns():
    if double(1):
        return
    assert False


class MethodTest(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(double(2), 4)

    def test_true(self):
        self.assertTrue(double(2))

    def test_raises(self):
        self.assertRaises(ValueError, fail)
        with self.assertRaises(ValueError):
            fail()


class Shared:
    factor = 2

    def test_shared(self):
        assert double(self.factor) == 2 * self.factor


class TestTwo(Shared):
    pass


class TestThree(Shared):
    factor = 3


class TestPlain:
    def test_none(self):
        assert pairs().get("b") is None
"""

CODE = """
def double(x): return 2 * x
def name_of(x): return "one"
def pairs(): return {"a": [1, 2]}
def fail(): raise ValueError("no")
"""

LIES = """
class Any:
    def __eq__(self, other): return True
def double(x): return Any()
def name_of(x): return Any()
def pairs(): return Any()
def fail(): raise ValueError("no")
"""


def run_of(text: str, code: str, directory: Path) -> dict[str, str]:
    """The end of each test's output line by its name: the error's text."""
    (directory / "test_it.py").write_text(text, encoding="utf-8")
    (directory / "code_under_test.py").write_text(code, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rA",
        "--no-header",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
    ]
    environment = {"PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "250"}
    ran = subprocess.run(
        command, cwd=directory, capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    lines = [line for line in ran.stdout.splitlines() if line.startswith(("PASSED", "FAILED", "ERROR"))]
    return {line.partition("::")[2].partition(" - ")[0]: line.partition(" - ")[2] for line in lines}


def ends(made: TwinTests, seen: dict[str, str]) -> dict[str, tuple[str, str]]:
    """By function, how its right and its perturbed twin ended, in words."""
    found = {}
    for twin in made.twins:
        words = {twin.held: "held", twin.failed: "failed", twin.survived: "survived"}
        words |= {**dict.fromkeys(twin.returned, "returned"), twin.idle: "idle"}
        right, perturbed = (
            {
                words.get(text.removeprefix("AssertionError: "), text)
                for name, text in seen.items()
                if name.partition("[")[0] == each
            }
            for each in (twin.right, twin.perturbed)
        )
        found[twin.function] = (",".join(sorted(right)), ",".join(sorted(perturbed)))
    return found


@pytest.mark.slow
def test_right_code_holds_in_the_right_twin_and_fails_in_the_other(tmp_path: Path) -> None:
    """Whatever the test asserts and however it is written; a test that expects nothing has no twins."""
    made = with_twins(TESTS, (), random.Random(1))
    assert made is not None
    seen = ends(made, run_of(made.text, CODE, tmp_path))
    assert len(seen) == 27
    assert "test_without_assertion" not in seen
    assert seen.pop("test_that_returns") == ("returned", "returned")
    right, perturbed = seen.pop("test_in_a_loop_over_a_parameter")
    assert right == "held,idle"
    assert "failed" in perturbed
    assert "survived" not in perturbed
    assert seen.pop("test_in_a_context") == ("held,returned", "failed,returned")
    assert seen.pop("Shared::test_shared") == ("", "")  # which pytest takes for no test
    assert set(seen.values()) == {("held", "failed")}


def test_a_result_that_is_equal_to_everything_survives(tmp_path: Path) -> None:
    """Its assertions hold in the perturbed twin too."""
    names = [
        "test_number",
        "test_parameters",
        "test_text",
        "test_containers",
        "test_both",
        "test_chain",
        "MethodTest::test_equal",
    ]
    made = with_twins(TESTS, names, random.Random(2))
    assert made is not None
    assert ends(made, run_of(made.text, LIES, tmp_path)) == dict.fromkeys(names, ("held", "survived"))


def test_only_the_wanted_tests_change() -> None:
    """Parameters do not matter, a class includes its tests, and what is no function changes nothing."""
    made = with_twins(TESTS, ("test_parameters[1-2]", "TestPlain"), random.Random(3))
    assert made is not None
    assert {twin.function for twin in made.twins} == {"test_parameters", "TestPlain::test_none"}
    assert "assert double(2) == 4" in made.text
    assert with_twins(TESTS, ("test_gone",), random.Random(3)) is None
    assert with_twins("def broken(:\n", (), random.Random(3)) is None
    assert with_twins("x = " + "-" * 100_000 + "1\n", (), random.Random(3)) is None


def test_nothing_but_values_tells_the_twins_apart() -> None:
    """The same statements, in a random order, under random names and with random words."""
    text = "def test_it():\n    assert f(1) == 2\n    with pytest.raises(ValueError):\n        f('x')\n"
    firsts = set()
    for seed in range(8):
        made = with_twins(text, (), random.Random(seed))
        assert made is not None
        (twin,) = made.twins
        firsts.add(made.text.index(twin.right) < made.text.index(twin.perturbed))
        shapes = {
            re.sub(r"\b(?:test_)?[a-z]{16}\b|\b\d+\b|\b[A-Z]\w+Error\b", "_", each)
            for each in made.text.split("def ")[1:]
        }
        assert len({shape.strip() for shape in shapes}) == 1
    assert firsts == {True, False}


def test_a_large_file_gets_twins_in_part() -> None:
    """So many functions are chosen by chance."""
    text = "\n".join(f"def test_{number}():\n    assert f() == {number}\n" for number in range(2 * MAX_FUNCTIONS))
    made = with_twins(text, (), random.Random(4))
    assert made is not None
    assert len(made.twins) == MAX_FUNCTIONS


def test_coroutines_within_a_test_are_left_alone() -> None:
    """Their returns are no ends of the test, and what they assert sets no variable of it."""
    inner = "    async def ask():\n        {}\n    "
    asserting = f"def test_it():\n{inner.format('assert await f() == 3')}asyncio.run(ask())\n"
    assert with_twins(asserting, (), random.Random(5)) is None
    returning = f"def test_it():\n{inner.format('return 5')}assert asyncio.run(ask()) == 5\n"
    made = with_twins(returning, (), random.Random(5))
    assert made is not None
    assert made.text.count("return 5") == 2


def test_a_context_that_may_swallow_an_error_may_be_asynchronous() -> None:
    """The block has to come to its end, as with a plain one."""
    shapes = []
    for word in ("", "async "):
        text = f"async def test_it():\n    {word}with session():\n        assert f() == 3\n"
        made = with_twins(text, (), random.Random(6))
        assert made is not None
        shapes.append(re.sub(r"\b[a-z]{16}\b", "_", made.text).replace("async with", "with"))
    assert shapes[0] == shapes[1]


def test_classes_that_inherit_one_another_twice_are_read_once() -> None:
    """By each way there would be two to the power of forty of them."""
    levels = (f"class A{n}(A{n - 1}, B{n - 1}): pass\nclass B{n}(A{n - 1}, B{n - 1}): pass\n" for n in range(1, 40))
    text = "class A0:\n    def test_it(self):\n        assert f() == 1\nclass B0: pass\n" + "".join(levels)
    made = with_twins(text, ("A39::test_it",), random.Random(7))
    assert made is not None
    assert [twin.function for twin in made.twins] == ["A39::test_it"]
