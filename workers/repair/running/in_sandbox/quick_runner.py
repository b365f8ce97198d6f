"""Run a test without pytest's reports, where only the terminal would show them.

pytest makes a report of every phase and shows it to all plugins. In a fork, which pays for each page of memory that it
touches, that costs more than most tests. All hooks that set up, call and tear down are called as ever.
"""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from .value_repr import Caught

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


def run(item: pytest.Item, following: pytest.Item | None) -> QuickOutcome:
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
    """What pytest does before it sets up: anew for an item that ran already, and a place for what became of each phase."""
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
