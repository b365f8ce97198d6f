"""Tests run without pytest: those that can be end as they do with it, and the others are left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from workers.sandbox.report import decode
from workers.sandbox.run_tests import PLAIN_TESTS

TESTS = """
import sys
import unittest

import pytest


def test_right():
    assert sys.argv == ["-c"] and not hasattr(sys.modules["__main__"], "__file__")


def test_wrong():
    assert 1 == 2, "no"


@pytest.mark.parametrize("one, other", [(1, 1), pytest.param(2, 2, id="two")])
@pytest.mark.parametrize("third", [0, pytest.param(1)])
def test_rows(one, other, third):
    assert one == other and third in (0, 1)


@pytest.mark.parametrize("value", [1, 2])
def test_one_row_is_wrong(value):
    assert value == 1


def test_errors():
    with pytest.raises(ValueError, match="bad") as caught:
        raise ValueError("too bad")
    assert "bad" in str(caught.value)
    pytest.raises(KeyError, {}.__getitem__, "x")


def test_no_error():
    with pytest.raises(ValueError):
        pass


def test_near():
    assert [0.1 + 0.2] == pytest.approx([0.3])
    assert {"a": 1.0} == pytest.approx({"a": 1.0})
    assert 1.0 != pytest.approx(1.1)


@pytest.fixture
def value():
    return 1


def test_fixture(value):
    assert value == 2


def test_default(value=3):
    assert value == 3


class TestPlain:
    def test_method(self):
        assert self is not None


class WithSetUp(unittest.TestCase):
    def setUp(self):
        self.value = 1

    def test_right(self):
        self.assertEqual(self.value, 1)

    def test_wrong(self):
        self.assertEqual(self.value, 2)
"""


def outcomes(directory: Path, files: dict[str, list[str]]) -> dict[str, str]:
    """What the report says of each test, run in a process of its own."""
    reading, writing = os.pipe()
    command = [sys.executable, "-c", PLAIN_TESTS.read_text(encoding="utf-8"), json.dumps(files)]
    environment = {"APPRENTICE_REPORT_FD": str(writing), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, cwd=directory, env=environment, pass_fds=[writing], check=True, timeout=600)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        decoded = decode(stream.read())
    assert decoded.damaged == 0
    return {result.id: result.outcome.value for result in decoded.results.values() if "::" in result.id}


def test_plain_tests_end_as_with_pytest(tmp_path: Path) -> None:
    """Functions, rows of parameters, errors, near numbers, methods and TestCase; what asks for a fixture is left out."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(TESTS, encoding="utf-8")
    names = [
        "test_right",
        "test_wrong",
        "test_rows",
        "test_one_row_is_wrong",
        "test_errors",
        "test_no_error",
        "test_near",
        "test_fixture",
        "test_default",
        "TestPlain::test_method",
        "WithSetUp::test_right",
        "WithSetUp::test_wrong",
    ]
    seen = outcomes(tmp_path, {"tests/test_it.py": names})
    wrong = {"test_wrong", "test_one_row_is_wrong", "test_no_error", "WithSetUp::test_wrong"}
    assert {name.partition("::")[2] for name, outcome in seen.items() if outcome == "failed"} == wrong
    assert {name.partition("::")[2] for name in seen} == set(names) - {"test_fixture"}


def test_what_needs_more_of_pytest_is_left_out(tmp_path: Path) -> None:
    """Marks, other names of pytest, asynchronous tests and files that cannot be imported say nothing."""
    (tmp_path / "test_marks.py").write_text("import pytest\n@pytest.mark.slow\ndef test_a(): assert False\n")
    (tmp_path / "test_more.py").write_text("from pytest import importorskip\ndef test_a(): assert False\n")
    (tmp_path / "test_async.py").write_text("async def test_a(): assert False\n")
    (tmp_path / "test_exit.py").write_text("raise SystemExit(0)\n")
    files = {f"test_{name}.py": ["test_a"] for name in ("marks", "more", "async", "exit", "gone")}
    assert outcomes(tmp_path, files) == {}


def test_a_package_of_tests_is_imported_as_such(tmp_path: Path) -> None:
    """Relative imports work as under pytest."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").write_text("")
    (tmp_path / "tests" / "values.py").write_text("TWO = 2\n")
    (tmp_path / "tests" / "test_it.py").write_text("from .values import TWO\ndef test_a(): assert TWO == 2\n")
    assert outcomes(tmp_path, {"tests/test_it.py": ["test_a"]}) == {"tests/test_it.py::test_a": "passed"}
