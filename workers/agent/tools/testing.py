"""The tools that run tests, always in the sandbox: those asked for, or several edits tried side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

from msgspec import Meta, Struct

from workers.agent.checkout import Checkout, ToolFailed
from workers.agent.tools.editing import replaced
from workers.agent.tools.tool import Tool, tool
from workers.llm.untrusted import data
from workers.sandbox.report import TestReport, TestResult

MOST_TESTS, MOST_EDITS, SHOWN_FAILURES, SHOWN_FRAMES = 50, 8, 6, 5

Overlay = Mapping[str, bytes | None]
RunTests = Callable[[tuple[str, ...], Overlay], TestReport]
"""Runs the given tests, none: the whole suite, with files laid over the checkout."""


class RunTestsCall(Struct, forbid_unknown_fields=True):
    """Run tests with your edits. No `tests`: those that failed. "all": the whole suite. Else ids: a file, class or function."""

    tests: Annotated[list[str], Meta(max_length=MOST_TESTS)] = []  # msgspec copies it


class OneEdit(Struct, forbid_unknown_fields=True):
    path: str
    old: str
    new: str


class TryEdits(Struct, forbid_unknown_fields=True):
    """Try several edits, each alone on top of your edits so far, against the failing tests. None of them is kept."""

    edits: Annotated[list[OneEdit], Meta(min_length=1, max_length=MOST_EDITS)]


def testing(checkout: Checkout, run: RunTests, failing: tuple[str, ...]) -> list[Tool]:
    """The testing tools of one checkout whose `failing` tests are to pass."""
    return [
        tool("run_tests", RunTestsCall, lambda asked: _run(checkout, run, failing, asked)),
        tool("try_edits", TryEdits, lambda asked: _try(checkout, run, failing, asked)),
    ]


def described(report: TestReport) -> str:
    """A report in words: how many passed, and what is known of the first failures. All of it is data."""
    if not report.started:
        return data("tests", f"the tests did not start: {report.trouble}")
    failing = report.failing()
    lines = [f"{len(report.passing())} passed, {len(failing)} failed of {len(report.results)}"]
    lines += [_failure(result) for result in failing[:SHOWN_FAILURES]]
    lines += [f"and {len(failing) - SHOWN_FAILURES} more failures"] if len(failing) > SHOWN_FAILURES else []
    lines += [report.trouble] if report.trouble else []
    return data("tests", "\n".join(lines), code=True)


def _failure(result: TestResult) -> str:
    frames = "".join(f"\n    {frame.path}:{frame.line} in {frame.function}" for frame in result.frames[-SHOWN_FRAMES:])
    operands = f"\n    compared: {' and '.join(result.operands)}" if result.operands else ""
    return f"FAILED {result.id}\n    {result.error_type}: {result.message}{operands}{frames}"


def _run(checkout: Checkout, run: RunTests, failing: tuple[str, ...], asked: RunTestsCall) -> str:
    wanted = tuple(asked.tests)
    tests = () if wanted == ("all",) else wanted or (*failing, *checkout.added_tests)
    report = run(tests, checkout.overlay())
    if tests and report.started and not report.results:
        raise ToolFailed(f"no test is called {', '.join(tests)[:200]}; ids look like tests/test_x.py::test_name")
    return described(report)


def _try(checkout: Checkout, run: RunTests, failing: tuple[str, ...], asked: TryEdits) -> str:
    return "\n".join(
        f"edit {number}: {_tried(checkout, run, failing, edit)}" for number, edit in enumerate(asked.edits, 1)
    )


def _tried(checkout: Checkout, run: RunTests, failing: tuple[str, ...], edit: OneEdit) -> str:
    """What the failing tests say of one edit; the checkout is left as it was."""
    try:
        after = replaced(edit.path, checkout.read(edit.path), edit.old, edit.new)
        overlay = checkout.overlay_with({edit.path: after})
    except ToolFailed as error:
        return str(error)
    report = run(failing, overlay)
    passed = {result.id for result in report.passing()}
    missing = [test for test in failing if test not in passed]
    first = next(iter(report.failing()), None)
    why = f"; {data('tests', _failure(first), code=True)}" if first is not None else ""
    return f"{len(failing) - len(missing)} of {len(failing)} failing tests pass{why}"
