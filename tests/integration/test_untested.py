"""What of a change no test tests, in the real sandbox."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from workers.diffs import changed_lines, parse_diff, unified
from workers.ports import Limits
from workers.review.broken_tests import ComparedTests, TestComparison
from workers.review.detectors.detector import Delta, SourceTree
from workers.review.untested import Untested, what_is_untested
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import discover

pytestmark = pytest.mark.sandbox

PYTEST = "env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest"
BEFORE = """def half(number):
    return number / 2
"""
TESTS = """import subprocess
import sys

from money import half


def test_half():
    assert half(4) == 2


def test_program():
    subprocess.run([sys.executable, "program.py"], check=True)
"""
PROGRAM = "import money\n\nfor number in range(3000):\n    money.half(number)\n"


def seen(
    root: Path,
    after: str,
    *,
    path: str = "money.py",
    before: str | None = BEFORE,
    reaching: tuple[str, ...] = (),
    tests: str = TESTS,
    passed: int = 2,
    failing: tuple[str, ...] = (),
) -> Untested | None:
    texts: Mapping[str, str] = {"money.py": BEFORE, path: after, "test_money.py": tests, "program.py": PROGRAM}
    for name, text in texts.items():
        (root / name).write_text(text)
    comparison = TestComparison(
        sandbox=Bubblewrap(),
        head=discover(root, python=None, test_command=PYTEST),
        base=lambda: pytest.fail("the base is not needed"),
        touched={},
        limits=Limits(),
        deadline=time.monotonic() + 600,
        progress=lambda _: None,
    )
    added = changed_lines(parse_diff(unified(path, before, after)))
    base = {} if before is None else {path: before}
    delta = Delta(head=SourceTree(sources={path: after}, target_version="py311"), base=base, added=added, hunks={})
    compared = ComparedTests(ran=passed, passed=passed, whole=True, failing_before=failing)
    return what_is_untested(comparison, delta, compared, reaching)


def test_lines_that_no_test_runs_are_named(tmp_path: Path) -> None:
    """A branch that no test takes is named by its lines, and one that a program takes late, which a test starts, is not."""
    after = """def half(number):
    if number < 0:
        raise ValueError(
            number,
        )
    if number == 2999:
        return 1499.5
    return number / 2
"""
    found = seen(tmp_path, after)
    assert found == Untested(lines={"money.py": (3,)}, of=4, unnoticed=True)


@pytest.mark.parametrize("reaching", [(), ("test_money.py",)])
def test_a_change_that_a_test_fails_without_is_noticed(tmp_path: Path, reaching: tuple[str, ...]) -> None:
    """With the code of the base the test fails, so nothing is said about it."""
    found = seen(tmp_path, BEFORE.replace("/", "//"), tests=TESTS.replace("half(4)", "half(5)"), reaching=reaching)
    assert found == Untested(of=1)


def test_a_new_file_is_taken_away(tmp_path: Path) -> None:
    """The tests of a new module fail without it."""
    assert seen(tmp_path, BEFORE, before=None) == Untested(of=2)


def test_what_is_imported_before_the_tests_has_run(tmp_path: Path) -> None:
    """The body of a module that conftest.py imports is run."""
    (tmp_path / "conftest.py").write_text("import money\n")
    tests = "from money import half\n\n\ndef test_half():\n    assert half(4) == 2\n"
    assert seen(tmp_path, f"UNIT = 'EUR'\n{BEFORE}", tests=tests, passed=1) == Untested(of=1, unnoticed=True)


def test_a_script_that_no_test_runs_is_not_meant_to_be_tested(tmp_path: Path) -> None:
    """A module of a package that no test runs is named, and one beside the packages is not."""
    script = "print(1)\n"
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    assert seen(tmp_path, script, before=None, path="setup.py") is None
    found = seen(tmp_path, script, before=None, path="package/new.py")
    assert found == Untested(lines={"package/new.py": (1,)}, of=1, unnoticed=True)


def test_comments_and_versions_are_no_code(tmp_path: Path) -> None:
    """A change of comments, or of the stated version, needs no test."""
    before = f"__version__ = '1.0'\n{BEFORE}"
    assert seen(tmp_path, f"# Halves.\n__version__ = '1.1'\n{BEFORE}", before=before) is None


def test_nothing_is_known_where_not_all_tests_end(tmp_path: Path) -> None:
    """A suite that ends before its last test does not tell what no test runs."""
    ends = TESTS + "\n\ndef test_that_ends_all():\n    import os\n    os._exit(0)\n"
    assert seen(tmp_path, BEFORE + "\n\ndef zero():\n    return 0\n", tests=ends) is None


@pytest.mark.parametrize("reaching", [(), ("test_money.py",)])
def test_a_test_that_fails_for_another_reason_may_test_the_change(tmp_path: Path, reaching: tuple[str, ...]) -> None:
    """A test that fails before it comes to the change does not tell that the change is untested."""
    after = BEFORE + "\n\ndef zero():\n    return 0\n"
    assert seen(tmp_path, after, reaching=reaching, failing=("test_money.py::test_zero",)) is None


def test_a_test_elsewhere_may_fail(tmp_path: Path) -> None:
    """A failing test that does not reach the change says nothing about it."""
    after = BEFORE + "\n\ndef zero():\n    return 0\n"
    untested = seen(tmp_path, after, reaching=("test_money.py",), failing=("test_network.py::test_get",))
    assert untested is not None
    assert untested.lines == {"money.py": (6,)}
