"""Tests with other expected values fail with right code, and pass with results that lie."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from workers.repair.judging.perturbed_tests import MOST_FUNCTIONS, perturbed

TESTS = """
import unittest

import pytest
from code_under_test import double, fail, name_of, pairs

VALUES = [(1, 2), (3, 6)]


def test_number():
    assert double(2) == 4


def test_negative_and_chain():
    assert -4 == double(-2) == double(-2)


@pytest.mark.parametrize("given, expected", [(1, 2), pytest.param(3, 6, id="three")])
def test_parameters(given, expected):
    assert double(given) == expected


@pytest.mark.parametrize(("given", "expected"), VALUES)
def test_parameters_by_name(given, expected):
    assert double(given) == expected


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


def test_in_a_loop():
    for given, wanted in VALUES:
        assert double(given) == wanted


def test_without_assertion():
    double(1)


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


def outcomes(directory: Path, text: str, code: str) -> dict[str, str]:
    """Each test's outcome and, where it failed, whether an assertion `survived`."""
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
    ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=120, check=False)
    lines = [line.split(" - ")[0] for line in ran.stdout.splitlines() if line.startswith(("PASSED", "FAILED", "ERROR"))]
    return {line.partition("::")[2]: line.split(" ")[0] for line in lines}


def test_right_code_fails_every_perturbed_test(tmp_path: Path) -> None:
    """Whatever the test asserts and however it is written: also when it asserts nothing."""
    assert set(outcomes(tmp_path, TESTS, CODE).values()) == {"PASSED"}
    changed = perturbed(TESTS, (), random.Random(1))
    assert changed is not None
    assert len(changed.functions) == 17
    assert set(outcomes(tmp_path, changed.text, CODE).values()) == {"FAILED"}


@pytest.mark.parametrize(
    "name", ["test_number", "test_parameters", "test_text", "test_containers", "MethodTest::test_equal"]
)
def test_a_result_that_is_equal_to_everything_survives(name: str) -> None:
    """Its assertion passes where it expects something else, and the error behind it says so."""
    changed = perturbed(TESTS, (name,), random.Random(2))
    assert changed is not None
    assert changed.functions == (name,)
    function = name.rpartition("::")[2]
    body = textwrap.dedent(changed.text.partition(f"def {function}(")[2].partition("\n")[2].partition("\n\n")[0])
    scope: dict[str, object] = {"given": 1, "expected": 2}
    exec(LIES, scope)
    with pytest.raises(AssertionError, match=changed.survived):
        exec(body, scope)


def test_only_the_wanted_tests_change() -> None:
    """Parameters do not matter, a class stands for its tests, and what is no function changes nothing."""
    changed = perturbed(TESTS, ("test_parameters[1-2]", "TestPlain"), random.Random(3))
    assert changed is not None
    assert set(changed.functions) == {"test_parameters", "TestPlain::test_none"}
    assert "assert double(2) == 4" in changed.text
    assert perturbed(TESTS, ("test_gone",), random.Random(3)) is None
    assert perturbed("def broken(:\n", (), random.Random(3)) is None


def test_a_large_file_is_perturbed_in_part() -> None:
    """So many functions are chosen by chance."""
    text = "\n".join(f"def test_{number}():\n    assert f() == {number}\n" for number in range(2 * MOST_FUNCTIONS))
    changed = perturbed(text, (), random.Random(4))
    assert changed is not None
    assert len(changed.functions) == MOST_FUNCTIONS
