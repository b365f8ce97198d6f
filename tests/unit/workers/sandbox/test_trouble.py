"""One clear line for each way in which a test run can go wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workers.ports import CompletedRun, Ending, Limits
from workers.sandbox.report import DecodedReport, cut_error, decode, problem_of

LIMITS = Limits(wall_seconds=30, cpu_seconds=60, memory_mb=512, report_kb=64)
START = {"event": "start"}
RUNNING = {"event": "running", "id": "t.py::test_x"}


def ended(code: int = 0, ending: Ending = Ending.EXITED, stderr: str = "", stdout: str = "") -> CompletedRun:
    return CompletedRun(exit_code=code, ending=ending, stdout=stdout, stderr=stderr, report=b"", seconds=1.0)


def heard(*events: dict[str, object]) -> DecodedReport:
    return decode(b"".join(json.dumps(event).encode() + b"\n" for event in events))


def finish(code: int) -> dict[str, object]:
    return {"event": "finish", "exit": code}


def broken(name: str) -> dict[str, object]:
    return {
        "event": "collect_error",
        "id": name,
        "type": "ImportError",
        "message": "no\nmore",
        "frames": [],
        "operands": [],
    }


@pytest.mark.parametrize(
    ("completed", "events", "said"),
    [
        (ended(), [START, finish(0)], ""),
        (ended(1), [START, finish(1)], ""),
        (ended(1), [START, {"event": "result"}, finish(1)], "tests fail, and the report of them cannot be read"),
        (
            ended(137, Ending.WALL_TIME),
            [START, RUNNING],
            "the tests ran longer than 30 s and were stopped during t.py::test_x",
        ),
        (ended(152, Ending.CPU_TIME), [START], "the tests used more than 60 s of processor time and were stopped"),
        (ended(137, Ending.MEMORY), [START], "the tests used more than 512 MB of memory and were stopped"),
        (ended(137, Ending.OUTPUT), [START], "the report of the tests grew beyond 64 KB and they were stopped"),
        (ended(137, Ending.KILLED), [START, RUNNING], "the tests were killed during t.py::test_x"),
        (
            ended(1, stderr="/p/python: No module named pytest"),
            [],
            "/p/python has no pytest: install the project's test requirements into its environment, or name another interpreter",
        ),
        (
            ended(127, stderr="sandbox: cannot start make: No such file or directory"),
            [],
            "the test command 'make' cannot be started in the sandbox: sandbox: cannot start make: No such file or directory",
        ),
        (ended(4, stderr="ERROR: bad conftest"), [], "pytest could not start: ERROR: bad conftest"),
        (
            ended(4, stderr=f"while loading conftest\nc.py:1: in <module>\nE   KeyError: 'x'\n{'a warning' * 90}"),
            [],
            "pytest could not start: KeyError: 'x'",
        ),
        (
            ended(
                4,
                stderr="ERROR: bad warning filter:\n\n  ignore::x.Y\n\nTraceback (most recent call last):\n"
                '  File "c.py", line 1, in f\n    y\nAttributeError: no Y\n',
            ),
            [],
            "pytest could not start: ERROR: bad warning filter: | ignore::x.Y | AttributeError: no Y",
        ),
        (
            ended(
                1,
                stderr='Traceback (most recent call last):\n  File "p.py", line 9, in load\n    y()\nImportError: no x\n',
            ),
            [],
            "the test command ran no pytest (exit code 1): ImportError: no x",
        ),
        (ended(0, stdout="ok\n"), [], "the test command ran no pytest (exit code 0): ok"),
        (ended(2), [START, broken("a.py"), finish(2)], "one file cannot be collected: a.py: ImportError: no"),
        (ended(2), [START, broken("a.py"), broken("b.py")], "2 files cannot be collected: a.py: ImportError: no"),
        (ended(139), [START, RUNNING], "pytest died with exit code 139 during t.py::test_x"),
        (ended(2), [START, finish(2)], "pytest was interrupted"),
        (ended(3, stderr="Traceback"), [START, finish(3)], "pytest met an internal error: Traceback"),
        (ended(4, stderr="usage: x\n  y"), [START, finish(4)], "pytest did not accept its arguments: usage: x | y"),
        (ended(5), [START, finish(5)], "no tests were collected"),
    ],
)
def test_each_trouble_has_its_line(completed: CompletedRun, events: list[dict[str, object]], said: str) -> None:
    """The line names what happened, the limit that was met, and the test that ran; a good run has none."""
    assert problem_of(completed, heard(*events), LIMITS, python=Path("/p/python"), program="make") == said


@pytest.mark.parametrize(
    ("ending", "error"),
    [
        (Ending.WALL_TIME, "Timeout"),
        (Ending.CPU_TIME, "Timeout"),
        (Ending.MEMORY, "MemoryError"),
        (Ending.KILLED, "Crash"),
        (Ending.OUTPUT, "Crash"),
        (Ending.EXITED, "Crash"),
    ],
)
def test_a_cut_test_has_an_error_type(ending: Ending, error: str) -> None:
    """What ran when the run was cut fails with the type that stands for the reason."""
    assert cut_error(ending) == error
