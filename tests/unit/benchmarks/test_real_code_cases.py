"""Cases of real code, from a clone made here: what is kept, what the engine sees, what judges it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.repair.cases import Case, load
from benchmarks.repair.importers import history
from tests.integration.command_line import git
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import discover
from workers.sandbox.report import TestReport
from workers.sandbox.run_tests import run_tests

pytestmark = pytest.mark.sandbox

SOURCE = """
def fee(weight, limit):
    spare = limit - weight
    if spare < 0:
        return weight * 3 + limit
    return weight * 2


def label(name, size):
    return name.strip() + "/" + str(size)
"""
TESTS = """
from shop import fee, label


def test_light():
    assert fee(1, 5) == 2


def test_heavy():
    assert fee(7, 5) == 26


def test_exact():
    assert fee(5, 5) == 10


def test_label():
    assert label(" a ", 3) == "a/3"
"""


def outcome(case: Case, overlay: dict[str, bytes], command: str) -> TestReport:
    """What the case's tests say with some files laid over it."""
    project = discover(case.repository, python=None, test_command=command)
    return run_tests(Bubblewrap(), project, overlay=overlay).report


@pytest.mark.extended
def test_a_past_fix_is_a_case_with_its_tests_and_the_code_before(tmp_path: Path) -> None:
    """Kept is the fix whose test fails without it; a fix whose tests pass in any case is left out, with the reason."""
    clone = tmp_path / "shop"
    clone.mkdir()
    git(clone, "init", "-q")
    wrong = SOURCE.replace("weight * 2", "weight + 2")
    fewer = TESTS.replace("def test_exact():\n    assert fee(5, 5) == 10\n", "")
    stages = [
        ("Begin", wrong, fewer.replace("== 2", "== 3")),
        ("Fix the fee (#1)", SOURCE, TESTS),
        ("Fix a slow label", SOURCE.replace('+ "/" +', '+ "/" + "" +'), TESTS + "\n\ndef test_more():\n    pass\n"),
    ]
    for message, source, tests in stages:
        (clone / "shop.py").write_text(source)
        (clone / "test_shop.py").write_text(tests)
        git(clone, "add", ".")
        git(clone, "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-q", "-m", message)
    assert history.make(clone, tmp_path / "cases") == "shop"
    (folder,) = (path.parent for path in (tmp_path / "cases").glob("*/case.toml"))
    case = load(folder / "case.toml")
    assert (case.labels["size"], case.labels["before"]) == ("one hunk, one line", "tests fail")
    assert (case.repository / "shop.py").read_text() == wrong
    assert {each.id for each in outcome(case, {}, case.test_command).failing()} == {
        "test_shop.py::test_light",
        "test_shop.py::test_exact",
    }
    assert not outcome(case, {"shop.py": SOURCE.encode()}, case.held_out_command).failing()
    told = (tmp_path / "cases" / "shop.txt").read_text()
    assert "1 kept" in told
    assert "1 whose tests pass without the fix" in told
