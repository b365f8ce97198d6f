"""Failures that are set aside, by name and with the reason; a project's own mistakes are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.model import Frame
from workers.repair.unrepairable import unrepairable
from workers.sandbox.project import discover
from workers.sandbox.report import CUT_ERRORS, TestOutcome, TestReport, TestResult

OWN = (Frame(path="test_a.py", line=3, function="test_a"),)


def reason(
    tree: Path,
    error_type: str,
    message: str,
    *,
    test: str = "test_a.py::test_a",
    frames: tuple[Frame, ...] = OWN,
    outcome: TestOutcome = TestOutcome.FAILED,
) -> str:
    outcome = outcome if "::" in test else TestOutcome.ERROR
    frames = frames if "::" in test else ()
    result = TestResult(id=test, outcome=outcome, seconds=0.0, error_type=error_type, message=message, frames=frames)
    report = TestReport(results=(result,), started=True, complete=True)
    project = discover(tree, python=None, test_command="python -m pytest")
    return unrepairable(report, project).get(test, "")


@pytest.mark.parametrize(
    ("error_type", "message", "need"),
    [
        ("gaierror", "[Errno -3] Temporary failure in name resolution", "the network"),
        ("ConnectionError", "HTTPSConnectionPool(host='x.org', port=443): [Errno -2] Name or service not known", "the network"),
        ("OSError", "[Errno 101] Network is unreachable", "the network"),
        ("DockerException", "Error while fetching server API version: ('Connection aborted.')", "Docker"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'docker'", "Docker"),
        ("Error", "unsupported locale setting", "a locale"),
        ("UnexpectedException", "Error: unsupported locale setting", "a locale"),
        ("OperationalError", 'connection to server at "localhost", port 5432 failed: Connection refused', "a service"),
        ("ConnectionError", "Error 111 connecting to localhost:6379. Connection refused.", "a service"),
    ],
)  # fmt: skip
def test_what_the_sandbox_does_not_have(tmp_path: Path, error_type: str, message: str, need: str) -> None:
    """The network, Docker, languages of the machine, and servers at their well-known ports."""
    assert reason(tmp_path, error_type, message) == f"it needs {need}, which the sandbox does not have"


def test_what_reads_standard_input(tmp_path: Path) -> None:
    """It fails by how the tests are run, also where a thread read it and another error repeats that."""
    message = (
        "Saw 1 exceptions within threads (OSError):\n\nOSError: pytest: reading from stdin while output is captured!"
    )
    wanted = "it reads standard input, which pytest refuses while it captures output (its option -s allows that)"
    assert reason(tmp_path, "ThreadException", message) == wanted


def test_what_needs_a_submodule(tmp_path: Path) -> None:
    """It is set aside with the command that fetches it, while the submodule is not there; other lacking files are not."""
    (tmp_path / ".gitmodules").write_text('[submodule "spec"]\n\tpath = tests/spec\n\turl = https://example.org/spec\n')
    (tmp_path / "tests" / "spec").mkdir(parents=True)
    lacks = "[Errno 2] No such file or directory: '/work/tests/{}/values'"
    wanted = "it needs the submodule tests/spec, which was not fetched (git submodule update --init)"
    assert reason(tmp_path, "FileNotFoundError", lacks.format("spec"), test="tests/test_a.py") == wanted
    assert reason(tmp_path, "FileNotFoundError", lacks.format("other")) == ""
    (tmp_path / "tests" / "spec" / "values").touch()
    assert reason(tmp_path, "FileNotFoundError", lacks.format("spec")) == ""


@pytest.mark.parametrize(
    ("message", "step"),
    [
        ('The data files are not available. Just make sure to run "python setup.py import_cldr" before', "python setup.py import_cldr"),
        ("lexer.c is not there; run `make lexer` first", "make lexer"),
        ("static files are missing: execute 'npm run build'", "npm run build"),
        ("not installed, please run `pip install -e .`", "pip install -e ."),
        ("the command run made `make` fail", ""),
        ("assert 'make' == 'made'", ""),
        ("run it with 'tests' to make `a`", ""),
    ],
)  # fmt: skip
def test_what_a_build_step_makes(tmp_path: Path, message: str, step: str) -> None:
    """An error that names the step in quotes: no edit of the sources makes the files. An assertion may compare such a text."""
    wanted = (
        f"it needs what `{step}` makes, which a fresh checkout does not have; other failures may come from that"
        if step
        else ""
    )
    assert reason(tmp_path, "RuntimeError", message) == wanted
    assert reason(tmp_path, "AssertionError", message) == ""


@pytest.mark.parametrize(
    ("error_type", "message"),
    [
        ("ConnectionRefusedError", "[Errno 111] Connection refused"),
        ("AssertionError", "assert 5432 == 6379"),
        ("ValueError", "the port 5432 is not free"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'data.txt'"),
    ],
)
def test_a_projects_own_mistakes_are_not_set_aside(tmp_path: Path, error_type: str, message: str) -> None:
    """A server of the test's own that does not listen is something to repair."""
    assert reason(tmp_path, error_type, message) == ""


def test_files_that_need_a_package(tmp_path: Path) -> None:
    """A missing package is a reason, a slip for a module of the project's own or of Python's is not."""
    (tmp_path / "shop.py").write_text("")
    found = reason(tmp_path, "ModuleNotFoundError", "No module named 'frobnicate'", test="test_a.py")
    assert found == "it cannot be collected: ModuleNotFoundError: No module named 'frobnicate'"
    for slip in ("shopp", "jsn"):
        assert reason(tmp_path, "ModuleNotFoundError", f"No module named '{slip}'", test="test_a.py") == ""


def test_linters_are_no_tests(tmp_path: Path) -> None:
    """What a plug-in checks is set aside; an example in a docstring, and a test that ends its process, are not."""
    why = reason(tmp_path, "RuffError", "F401 `os` imported but unused", test="shop.py::ruff", frames=())
    assert why.startswith("it is a check of a plug-in's")
    assert reason(tmp_path, "DocTestFailure", "", test="shop.py::shop.price", frames=()) == ""
    assert reason(tmp_path, "", "", frames=()) == ""
    for cut in CUT_ERRORS:  # the test that was running when the run was cut
        assert reason(tmp_path, cut, "", frames=()) == ""


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("class PriceTests(TestCase):\n    def test_sum(self): pass\n", "test_a.py::PriceTests::test_sum"),
        ("from base import (\n    PriceTests,\n)\n", "test_a.py::PriceTests::test_sum"),
        ("async def test_sum(x): pass\n", "test_a.py::test_sum[a-1]"),
    ],
)
def test_a_test_without_a_traceback_is_no_linter(tmp_path: Path, text: str, test: str) -> None:
    """Frameworks cut tracebacks, as Twisted's does: what its file names is a test of the project's."""
    (tmp_path / "test_a.py").write_text(text)
    assert reason(tmp_path, "AssertionError", "1 != 2", test=test, frames=()) == ""


@pytest.mark.parametrize("test", ["x[a::b]", "../../etc/passwd::root", "::"])
def test_an_odd_id_is_a_check(tmp_path: Path, test: str) -> None:
    """Tests choose their ids: none leads out of the checkout, or ends the repair."""
    assert reason(tmp_path, "AssertionError", "1 != 2", test=test, frames=()).startswith("it is a check")


def test_plug_ins_that_fail_before_a_test_begins(tmp_path: Path) -> None:
    """A class that a plug-in cannot collect is set aside; a fixture of the project's own that fails is not."""
    given = ("AttributeError", "'CallSpec2' object has no attribute 'funcargs'\nmore")
    why = reason(tmp_path, *given, test="test_a.py::TestA", frames=(), outcome=TestOutcome.ERROR)
    assert why == f"it failed before any line of the project ran: AttributeError: {given[1].splitlines()[0]}"
    assert reason(tmp_path, *given, outcome=TestOutcome.ERROR) == ""


def test_a_project_that_is_not_installed(tmp_path: Path) -> None:
    """Its own metadata is missing, which no edit makes; for another name there may be one."""
    (tmp_path / "till_roll").mkdir()
    missing = "No package metadata was found for"
    why = reason(tmp_path, "PackageNotFoundError", f"{missing} till-roll", test="test_a.py")
    assert why.startswith("the project is not installed, as by `pip install -e .`: PackageNotFoundError")
    assert reason(tmp_path, "PackageNotFoundError", f"{missing} till-rol") == ""
    old = "The 'till-roll' distribution was not found and is required by the application"
    assert reason(tmp_path, "DistributionNotFound", old).startswith("the project is not installed")
