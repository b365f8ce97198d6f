"""Which part of a change breaks tests, in the real sandbox."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from workers.review.broken_tests import BrokenTest, ComparedTests
from workers.review.culprit import Culprit, CulpritSearch
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import discover
from workers.sandbox.report import TestReport
from workers.sandbox.run_tests import run_tests

pytestmark = pytest.mark.sandbox

PYTEST = "env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest"
BEFORE = """def rounded(amount):
    cents = amount * 100
    return round(cents) / 100


def free():
    return 0
"""
TESTS = """from money import free, rounded


def test_up():
    assert rounded(1.236) == 1.24


def test_free():
    assert free() == 0
"""
UP, FREE = "test_money.py::test_up", "test_money.py::test_free"


def searched(
    root: Path, after: str, broken: Sequence[str], *, seconds: float = 600
) -> tuple[Culprit | None, list[int]]:
    """What was found, and how many tests each run was asked for."""
    (root / "money.py").write_text(after)
    (root / "test_money.py").write_text(TESTS)
    project, asked = discover(root, python=None, test_command=PYTEST), list[int]()

    def run(tests: Sequence[str], overlay: Mapping[str, bytes | None]) -> TestReport:
        asked.append(len(tests))
        return run_tests(Bubblewrap(), project, tests=tests, overlay=overlay).report

    search = CulpritSearch(run, {"money.py": BEFORE}, {"money.py": after}, "pytest", time.monotonic() + seconds)
    tests = tuple(BrokenTest(id=each, error_type="", message="", path="money.py", line=3) for each in broken)
    return search.culprit(ComparedTests(broken=tests, ran=2, passed=2 - len(broken))), asked


def test_the_part_that_tests_pass_through_is_taken_back_first(tmp_path: Path) -> None:
    after = '"""Money."""\n' + BEFORE.replace("round(", "int(").replace("return 0", "return 0.0")
    found, asked = searched(tmp_path, after, [UP])
    assert found is not None
    assert found.patch == snapshot('''\
diff --git a/money.py b/money.py
--- a/money.py
+++ b/money.py
@@ -1,7 +1,7 @@
 """Money."""
 def rounded(amount):
     cents = amount * 100
-    return int(cents) / 100
+    return round(cents) / 100
 \n\
 \n\
 def free():
''')
    assert (found.proof.passed_after, found.proof.suite.passed, found.proof.suite.failed) == ((UP,), 2, 0)
    assert len(asked) <= 4


def test_a_broken_test_is_placed_at_the_part_that_breaks_it(tmp_path: Path) -> None:
    """It runs another changed line too, and that one is harmless."""
    after = (
        BEFORE.replace("def rounded(amount):", "def rounded(amount):  # in euros")
        .replace("round(", "int(")
        .replace("return 0", "return 0.0")
    )
    found, _ = searched(tmp_path, after, [UP])
    assert found is not None
    elsewhere = BrokenTest(id=UP, error_type="", message="", path="money.py", line=1)
    new = BrokenTest(id="test_new.py::test_it", error_type="", message="", path="money.py", line=7, added=True)
    touched = {"money.py": frozenset({1, 3, 7})}
    placed = found.placed(ComparedTests(broken=(elsewhere, new)), touched)
    assert [(test.path, test.line) for test in placed.broken] == [("money.py", 3), ("money.py", 7)]


def test_two_faults_have_no_single_part(tmp_path: Path) -> None:
    after = BEFORE.replace("round(", "int(").replace("return 0\n", "return 1\n")
    found, asked = searched(tmp_path, after, [UP, FREE])
    assert (found, asked) == (None, [2, 2])


def test_a_file_that_cannot_be_collected_any_more(tmp_path: Path) -> None:
    found, _ = searched(tmp_path, BEFORE.replace("def free", "def gratis"), ["test_money.py"])
    assert found is not None
    assert "+def free():" in found.patch


def test_of_several_files_all_that_changed_in_one(tmp_path: Path) -> None:
    """A function gets another name in two places of one file, and none of them alone can be taken back."""
    before = {"money.py": BEFORE, "shop.py": "def cheap():\n    return 1\n\n\nPRICES = [cheap]\n"}
    after = {"money.py": BEFORE + "\nPRICE = 3\n", "shop.py": before["shop.py"].replace("cheap", "cheapest")}
    for name, text in {**after, "test_money.py": "from shop import cheap\n\n\ndef test_it():\n    cheap()\n"}.items():
        (tmp_path / name).write_text(text)
    found = search(tmp_path, before, after, BrokenTest(id="test_money.py", error_type="", message=""))
    assert found is not None
    assert ("+def cheap():" in found.patch, "+PRICES = [cheap]" in found.patch) == (True, True)
    assert "money.py" not in found.patch


def test_what_keeps_pytest_from_beginning(tmp_path: Path) -> None:
    """There is no test to name then: any that passes tells that it begins again."""
    before = {"conftest.py": "", "money.py": BEFORE}
    after = {"conftest.py": "import no_such_module\n", "money.py": BEFORE.replace("round(", "int(")}
    for name, text in {**after, "test_money.py": "def test_it():\n    pass\n"}.items():
        (tmp_path / name).write_text(text)
    found = search(tmp_path, before, after, BrokenTest(id="", error_type="", message=""), passed=0)
    assert found is not None
    assert "-import no_such_module" in found.patch
    assert found.proof.suite.passed == 1


def search(
    root: Path, before: Mapping[str, str], after: Mapping[str, str], broken: BrokenTest, passed: int = 0
) -> Culprit | None:
    project = discover(root, python=None, test_command=PYTEST)

    def run(tests: Sequence[str], overlay: Mapping[str, bytes | None]) -> TestReport:
        return run_tests(Bubblewrap(), project, tests=tests, overlay=overlay).report

    found = CulpritSearch(run, before, after, "pytest", time.monotonic() + 600)
    return found.culprit(ComparedTests(broken=(broken,), ran=passed, passed=passed))


def test_without_time_nothing_is_run(tmp_path: Path) -> None:
    assert searched(tmp_path, BEFORE.replace("round(", "int("), [UP], seconds=-1) == (None, [])
