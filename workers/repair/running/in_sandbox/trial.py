"""A pytest plugin that runs chosen tests in a chosen order, as pytest would, and counts.

pytest makes a report of every phase and shows it to all plugins. In a fork, which pays for each page of memory that it
touches, that costs more than most tests, so where only the terminal would show reports, none are made. All hooks that
set up, call and tear down are called as ever.
"""

from __future__ import annotations

import time
import unittest
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import pytest
from _pytest.assertion import util

from .children import Allowance, Message
from .recording import Caught

try:
    from _pytest.tmpdir import tmppath_result_key
except ImportError:  # before 7.3 directories were kept whatever came of the test
    tmppath_result_key = None  # type: ignore[assignment]

REPORTING = (
    "pytest_runtest_makereport",
    "pytest_runtest_logreport",
    "pytest_runtest_logstart",
    "pytest_runtest_logfinish",
    "pytest_exception_interact",
)

HARMLESS = frozenset({"_hypothesis_pytestplugin", "hypothesis.extra.pytestplugin", "pytest_timeout"})
"""Plugins that only add words to reports."""

UNJUDGED = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)
ENDS_ALL = (KeyboardInterrupt, pytest.exit.Exception)


class QuickOutcome(NamedTuple):
    """How a test ended: whether it was called, and the first error of each phase that had one."""

    called: bool
    errors: list[BaseException]

    def passed(self) -> bool:
        """Whether it ran to its end."""
        return self.called and not self.errors

    def unbroken(self) -> bool:
        """Whether it ran to its end, or skipped itself."""
        return all(isinstance(error, UNJUDGED) for error in self.errors)


def is_enough(config: pytest.Config, ours: object) -> bool:
    """Whether no plugin beside pytest's and `ours` runs tests itself or can change a report."""
    hooks = [getattr(config.hook, name).get_hookimpls() for name in REPORTING]
    runners = [impl for impl in config.hook.pytest_runtest_protocol.get_hookimpls() if not _is_wrapper(impl)]
    plugins = [impl.plugin for impls in (*hooks, runners) for impl in impls if impl.plugin is not ours]
    return all(map(_is_known, plugins)) and not config.getoption("setuponly", False)


def _is_wrapper(impl: Any) -> bool:  # noqa: ANN401 - pluggy's own class has moved between versions
    return impl.hookwrapper or getattr(impl, "wrapper", False)


def _is_known(plugin: object) -> bool:
    module = getattr(plugin, "__name__", None) or type(plugin).__module__
    return module.startswith("_pytest.") or module in HARMLESS


def is_plain(item: pytest.Item) -> bool:
    """Whether how its phases end is how the test ends: an expected failure is judged by its report."""
    return item.get_closest_marker("xfail") is None


def run_quickly(item: pytest.Item, following: pytest.Item | None) -> QuickOutcome:
    """Set up, call and tear down; raises what ends pytest as a whole."""
    _prepare(item)
    hooks = item.ihook
    errors = phase(item, lambda: hooks.pytest_runtest_setup(item=item))
    called = not errors
    if called:
        errors = phase(item, lambda: hooks.pytest_runtest_call(item=item))
    errors += phase(item, lambda: hooks.pytest_runtest_teardown(item=item, nextitem=following))
    return QuickOutcome(called, errors)


def _prepare(item: Any) -> None:  # noqa: ANN401 - what pytest's own runner does is not in its public types
    """What pytest does before it sets up: again for an item that ran already, and a place for what became of each phase."""
    if getattr(item, "funcargs", None) and hasattr(item, "_initrequest"):
        item._initrequest()
    if tmppath_result_key is not None:
        item.stash.setdefault(tmppath_result_key, {})


def phase(item: pytest.Item, hook: Callable[[], object]) -> list[BaseException]:
    """The error of a phase, if any; unittest's cases keep theirs for the report."""
    with Caught() as caught:
        hook()
    error = caught.error
    if isinstance(error, ENDS_ALL):
        raise error
    kept = getattr(item, "_excinfo", None)
    if kept:
        error = kept.pop(0).value
    return [] if error is None else [error]


FIRST_FAILING = 5
"""Up to this number all failing tests run, however they end: how far an edit gets is worth knowing."""

ENOUGH_SECONDS = 2.0
"""But no more than may compute for this time together. By what they may, not what they do: verdicts are to be repeatable."""


class Chosen(NamedTuple):
    """A test to run: the id that was asked for, and its item (None when it is not collected).

    `place` counts what was asked for, from 0, and `plain` tells that the item needs no report.
    """

    wanted: str
    item: pytest.Item | None
    place: int
    plain: bool


class Trial:
    """Takes the place of pytest's run loop: `instead` is called with the session once the tests are collected."""

    def __init__(self, instead: Callable[[pytest.Session], None]) -> None:
        self._instead = instead
        self._reports: list[pytest.TestReport] = []
        self._error = ("", "")
        self._broken: list[str] = []
        self._asked: tuple[tuple[str, ...], ...] = ()
        self._chosen: list[Chosen] = []
        self._ended: QuickOutcome | None = None
        self._plain = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
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
        if call.excinfo is not None:
            self._note(call.excinfo.value)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Spare a failing assert the comparison of its operands in words, which costs more than most tests."""
        util._reprcompare = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    def trouble(self, default: str) -> str:
        """What could not be collected, or `default`."""
        return "; ".join(self._broken)[:1000] or default

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Take the place of pytest's own way of running a test, where its reports are not needed."""
        if not self._plain:
            return None
        self._ended = run_quickly(item, nextitem)
        return True

    def choose(self, session: pytest.Session, request: Message) -> list[Chosen]:
        """The items to be run, in order. Called before a fork, it spares that looking through all of them."""
        asked = (tuple(request["failing"]), tuple(request["covering"]))
        if asked != self._asked:
            enough = is_enough(session.config, self)
            self._asked, self._chosen = asked, _chosen(session, [*request["failing"], *request["covering"]], enough)
        return self._chosen

    def run(self, session: pytest.Session, request: Message, *, hasty: bool = False) -> Message:
        """Run the failing tests, then the covering ones; unless `whole`, stop once the edit is known not to do.

        With `hasty`, stop as well once it may do. `outcomes` tells of each test that ran whether it passed, `costs` of each
        that was asked for what it computed in seconds, `test` which was the first to fail.
        """
        answer: Message = {"outcomes": {}, "costs": {}, "test": "", "error_type": "", "message": ""}
        chosen = self.choose(session, request)
        failing = [test for test in chosen if test.place < len(request["failing"])]
        if not chosen or any(test.item is None for test in chosen):
            return dict(answer, message=self.trouble("a test is no longer collected"))
        allowance, enough = Allowance(request["each"]), _enough(failing, request["each"])
        for position, test in enumerate(chosen):
            following = chosen[position + 1].item if position + 1 < len(chosen) else None
            allowance.begin(test.place)
            passed = self._take(answer, test, following)
            if hasty and passed:
                break
            if answer["test"] and not request["whole"] and position + 1 >= enough:
                break
        allowance.end()
        done = bool(failing) and all(
            test.item is not None and answer["outcomes"].get(test.item.nodeid) for test in chosen
        )
        return dict(answer, passed=_count_passed(failing, answer["outcomes"]), done=done)

    def _take(self, answer: Message, test: Chosen, following: pytest.Item | None) -> bool:
        """Run one test and add what came of it to the answer; whether it passed."""
        assert test.item is not None, "what is not collected is not run"
        name, begun = test.item.nodeid, time.process_time()
        passed = answer["outcomes"][name] = self._passes(test.item, following, test)
        answer["costs"][test.wanted] = max(answer["costs"].get(test.wanted, 0.0), time.process_time() - begun)
        if not passed and not answer["test"]:
            answer.update(test=name, error_type=self._error[0], message=self._error[1])
        return bool(passed)

    def _passes(self, item: pytest.Item, following: pytest.Item | None, test: Chosen) -> bool:
        """Run one test. One that is only part of a requested name may be skipped."""
        self._reports, self._error, self._ended, self._plain = [], ("", ""), None, test.plain
        for renderer in ("repr_failure", "_repr_failure_py"):
            setattr(item, renderer, _no_representation)
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        return self._ended_well(self._ended, lenient=item.nodeid != test.wanted)

    def _ended_well(self, ended: QuickOutcome | None, *, lenient: bool) -> bool:
        """Whether a test passed, from how its phases ended and from reports, which plugins make of parts of tests too."""
        for error in ended.errors[:1] if ended else ():
            self._note(error)
        if lenient:
            return not any(report.failed for report in self._reports) and (ended is None or ended.unbroken())
        called = any(report.when == "call" and report.outcome == "passed" for report in self._reports)
        return (ended.passed() if ended else called) and all(_clean(report) for report in self._reports)

    def _note(self, error: BaseException) -> None:
        if not self._error[0]:
            self._error = (type(error).__name__, _said(error))


def _chosen(session: pytest.Session, wanted: list[str], enough: bool) -> list[Chosen]:
    """The items that ids stand for: a file, class or function, which was not collected before, for all under it."""
    under: dict[str, list[pytest.Item | None]] = {}
    for item in session.items:
        parts = item.nodeid.split("[")[0].split("::")
        for name in {item.nodeid, *("::".join(parts[:count]) for count in range(1, len(parts) + 1))}:
            under.setdefault(name, []).append(item)
    return [
        Chosen(test, item, place, enough and item is not None and is_plain(item))
        for place, test in enumerate(wanted)
        for item in under.get(test, [None])
    ]


def _enough(failing: list[Chosen], each: list[float]) -> int:
    """How many tests tell well enough how far an edit gets that does not do; the quickest are the first."""
    limits = [each[test.place] if each else 0.0 for test in failing[:FIRST_FAILING]]
    return sum(spent <= ENOUGH_SECONDS for spent in accumulate(limits))


def _count_passed(failing: list[Chosen], outcomes: dict[str, bool]) -> int:
    by_test: dict[str, bool] = {}
    for test in failing:
        passed = test.item is not None and outcomes.get(test.item.nodeid, False)
        by_test[test.wanted] = by_test.get(test.wanted, True) and passed
    return sum(by_test.values())


def _clean(report: pytest.TestReport) -> bool:
    """Whether a phase passed as such: an expected failure, or a skip, is no pass."""
    return report.outcome in ("passed", "rerun") and not hasattr(report, "wasxfail")


def _said(error: BaseException) -> str:
    with Caught() as caught:
        return str(error)[:1000]
    return f"<str raised {type(caught.error).__name__}>"


def _no_representation(_excinfo: object, style: object = None) -> str:  # noqa: ARG001 - pytest passes it by name
    """Replaces pytest's rendering of tracebacks, which costs more than most tests."""
    return "failed"
