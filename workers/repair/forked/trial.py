"""A pytest plugin that runs chosen tests in a chosen order, through pytest's own protocol, and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from _pytest.assertion import util

from .children import BLANK, Message

FIRST_FAILING = 5
"""So many failing tests are all run, however they end: how far an edit gets is worth knowing."""


class Chosen(NamedTuple):
    """A test to run: the id that was asked for, and the item that it stands for (None when it is not collected)."""

    wanted: str
    item: pytest.Item | None


class Trial:
    """Takes the place of pytest's run loop: `instead` is called with the session once the tests are collected."""

    def __init__(self, instead: Callable[[pytest.Session], None]) -> None:
        self._instead = instead
        self._reports: list[pytest.TestReport] = []
        self._error = ("", "")
        self._broken: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what cannot be collected."""
        if report.failed:
            self._broken.append(f"{report.nodeid}: {str(report.longrepr)[-300:]}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run what we were made for, and tell pytest that all is done."""
        self._instead(session)
        return True

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[Any]) -> Iterator[None]:
        """Note the first error of a test, after unittest's plugin has put its own into the call."""
        yield
        if call.excinfo is not None and not self._error[0]:
            self._error = (call.excinfo.type.__name__, str(call.excinfo.value)[:1000])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Spare a failing assert the comparison of its operands in words, which costs more than most tests."""
        util._reprcompare = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how each phase of a test ended."""
        self._reports.append(report)

    def trouble(self, default: str) -> str:
        """What could not be collected, or `default`."""
        return "; ".join(self._broken)[:1000] or default

    def broken(self) -> bool:
        """Whether something could not be collected."""
        return bool(self._broken)

    def run(self, session: pytest.Session, request: Message) -> Message:
        """Run the failing tests, then the covering ones; unless `whole`, stop once the edit is known not to do."""
        failing = _chosen(session, request["failing"])
        asked = {*request["failing"], *request["covering"]}
        chosen = failing + _chosen(session, request["covering"])
        order = [test.item for test in chosen if test.item is not None]
        if not failing or len(order) < len(chosen):
            return dict(BLANK, message=self.trouble("a test is no longer collected"))
        answer = dict(BLANK, outcomes={})
        first = min(FIRST_FAILING, len(failing))
        for position, item in enumerate(order):
            following = order[position + 1] if position + 1 < len(order) else None
            passed = answer["outcomes"][item.nodeid] = self._passes(item, following, lenient=item.nodeid not in asked)
            if not passed and not answer["test"]:
                answer.update(test=item.nodeid, error_type=self._error[0], message=self._error[1])
            if answer["test"] and position + 1 >= first and not request["whole"]:
                break
        done = all(answer["outcomes"].get(item.nodeid, False) for item in order)
        return dict(answer, passed=_count_passed(failing, answer["outcomes"]), done=done)

    def _passes(self, item: pytest.Item, following: pytest.Item | None, *, lenient: bool) -> bool:
        """Run one test. One that only stands under a name which was asked for may be skipped."""
        self._reports, self._error = [], ("", "")
        for renderer in ("repr_failure", "_repr_failure_py"):
            setattr(item, renderer, _no_representation)
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        if lenient:
            return not any(report.failed for report in self._reports)
        called = any(report.when == "call" and report.outcome == "passed" for report in self._reports)
        return called and all(_clean(report) for report in self._reports)


def _chosen(session: pytest.Session, wanted: list[str]) -> list[Chosen]:
    """The items that ids stand for: a file, class or function, which was not collected before, for all under it."""
    under: dict[str, list[pytest.Item | None]] = {}
    for item in session.items:
        parts = item.nodeid.split("[")[0].split("::")
        for name in {item.nodeid, *("::".join(parts[:count]) for count in range(1, len(parts) + 1))}:
            under.setdefault(name, []).append(item)
    return [Chosen(test, item) for test in wanted for item in under.get(test, [None])]


def _count_passed(failing: list[Chosen], outcomes: dict[str, bool]) -> int:
    by_test: dict[str, bool] = {}
    for wanted, item in failing:
        passed = item is not None and outcomes.get(item.nodeid, False)
        by_test[wanted] = by_test.get(wanted, True) and passed
    return sum(by_test.values())


def _clean(report: pytest.TestReport) -> bool:
    """Whether a phase passed as such: an expected failure, or a skip, is no pass."""
    return report.outcome in ("passed", "rerun") and not hasattr(report, "wasxfail")


def _no_representation(_excinfo: object, style: object = None) -> str:  # noqa: ARG001 - pytest passes it by name
    """Stands in for pytest's rendering of tracebacks, which costs more than most tests."""
    return "failed"
