"""A pytest plugin that writes events as JSON lines to the descriptor in $APPRENTICE_REPORT_FD.

It runs in the project's own interpreter (Python 3.8 or later, pytest 6 or later): this file, tracing.py, the standard library and pytest.
With pytest-xdist, details travel from the workers to the controller on the reports themselves; the controller writes.
$APPRENTICE_ROOT    the root of the checkout: frames outside it are left out
$APPRENTICE_SELECT  a JSON file with the test ids to keep; all others are deselected
$APPRENTICE_NEAR_SECONDS  how long other tests of the same files run after those, before the run is ended
$APPRENTICE_TRACE   a JSON list of files whose lines that each test runs are reported; empty: all of the project's own code
$APPRENTICE_TEST_SECONDS  seconds of processor time after which a test has failed with Timeout
"""

# Runs on the project's interpreter, which may lack what the linter asks for:
# ruff: noqa: PTH107, PTH109, PTH118, PTH123, PTH208, UP035

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
import unittest.case
from traceback import walk_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, Generator

import _pytest.assertion.rewrite
import pytest
from _pytest.runner import CallInfo  # pytest 6 has it here alone

from .tracing import Tracer, inside, make_tracer

if TYPE_CHECKING:
    import pluggy

REPORT, ROOT, SELECT, TRACE = "APPRENTICE_REPORT_FD", "APPRENTICE_ROOT", "APPRENTICE_SELECT", "APPRENTICE_TRACE"
CHILDREN, XDIST_WORKER = "APPRENTICE_CHILDREN", "PYTEST_XDIST_WORKER"
TEST_SECONDS, NEAR_SECONDS = "APPRENTICE_TEST_SECONDS", "APPRENTICE_NEAR_SECONDS"
OLDEST, MIN_TEST_SECONDS, TIMES_SLOWEST, LONGEST_NAME = 6, 0.25, 4.0, 200
LONGEST_MESSAGE, LONGEST_OPERAND, OUTER_FRAMES, INNER_FRAMES = 2000, 500, 20, 30
SHOWING = (
    (_pytest.assertion.rewrite, "_saferepr"),
    (_pytest.assertion.rewrite, "_call_reprcompare"),
    (unittest.case, "safe_repr"),
    (unittest.case, "_common_shorten_repr"),
)
"""What renders values for the message of a failed assertion: only failing tests run what a project has for that."""
NO_DETAILS: dict[str, object] = {"type": "", "message": "", "frames": [], "operands": []}

CHECKOUT = os.path.realpath(os.environ.get(ROOT) or os.getcwd())
REPORTS = REPORT in os.environ or XDIST_WORKER in os.environ
TRACER = make_tracer(CHECKOUT, json.loads(os.environ[TRACE])) if REPORTS and os.environ.get(TRACE) else None
"""Begun when pytest loads this: plugins of the project and conftest.py, which import its modules, are loaded after it."""


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, args: list[str]
) -> Generator[None, pluggy.Result[Any], None]:
    """Keep pytest-cov and pytest-benchmark from measuring, as without `--cov`, which many projects have in their options.

    It slows imports and tests, and the figures have no use here: a run of a part of the tests misses their limit.
    """
    if os.environ.get(REPORT) or os.environ.get(XDIST_WORKER):
        early_config.known_args_namespace.cov_source = None
        if vars(early_config.known_args_namespace).get("benchmark_only") is False:
            args.append("--benchmark-disable")
    yield


def pytest_configure(config: pytest.Config) -> None:
    """Start reporting. Removes the descriptor from the environment: a pytest inside a test must not report."""
    descriptor, is_worker = os.environ.pop(REPORT, None), hasattr(config, "workerinput")
    if descriptor is None and not is_worker:
        return
    if int(pytest.__version__.partition(".")[0]) < OLDEST:
        raise pytest.UsageError(f"pytest {pytest.__version__} is too old: tests are run with {OLDEST} or later")
    config.option.color = "no"  # a project's configuration may force colours, which are escape codes in what we show
    config.option.maxfail = 0  # `-x` would hide the tests after the first failure
    config.option.continue_on_collection_errors = True  # a file that needs what is not there would hide all others
    root, tracer = CHECKOUT, TRACER
    if tracer is not None:
        os.environ[CHILDREN] = tempfile.mkdtemp(prefix="apprentice-lines-")
        for module, name in SHOWING:
            if hasattr(module, name):
                setattr(module, name, tracer.aside(getattr(module, name)))
    config.pluginmanager.register(FailureDetails(root, tracer), "apprentice-details")
    if os.environ.get(SELECT):
        near = os.environ.get(NEAR_SECONDS)
        selection = Selection(os.environ[SELECT], None if near is None else float(near))
        config.pluginmanager.register(selection, "apprentice-selection")
    if os.environ.get(TEST_SECONDS):
        config.pluginmanager.register(Stopwatch(float(os.environ[TEST_SECONDS])), "apprentice-stopwatch")
    if descriptor is not None and not is_worker:
        beside = os.path.join(str(getattr(config, "rootpath", root)), "")
        config.pluginmanager.register(Reporter(int(descriptor), tracer, root, beside), "apprentice-reporter")


class Selection:
    """Keeps the named tests; a name selects everything under it. Others of their files may follow for some seconds."""

    def __init__(self, path: str, near_seconds: float | None) -> None:
        with open(path, encoding="utf-8") as stream:
            self.wanted = set(json.load(stream))
        self.files = {name.partition("::")[0] for name in self.wanted} if near_seconds is not None else set()
        self.near_seconds, self.left, self.end = near_seconds or 0.0, 0, float("inf")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = [item for item in items if self.keeps(item.nodeid)]
        others = [item for item in items if not self.keeps(item.nodeid)]
        near = [item for item in others if item.nodeid.partition("::")[0] in self.files]
        dropped = [item for item in others if item.nodeid.partition("::")[0] not in self.files]
        self.left = len(kept)
        if others:
            items[:] = kept + near
        if dropped:
            config.hook.pytest_deselected(items=dropped)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, pluggy.Result[Any], None]:
        yield
        self.left -= 1
        if self.left == 0:
            self.end = time.perf_counter() + self.near_seconds
        if self.files and time.perf_counter() > self.end:
            item.session.shouldstop = "enough tests ran beside those that were asked for"

    def keeps(self, nodeid: str) -> bool:
        """Whether an id is selected by its own name or that of its function, class or file."""
        name, _, _ = nodeid.partition("[")
        parts = name.split("::")
        above = {"::".join(parts[:count]) for count in range(1, len(parts) + 1)}
        return bool(self.wanted & (above | {nodeid}))


class Timeout(BaseException):
    """A test used too much processor time. A BaseException, so that code that catches Exception does not catch it."""


class Stopwatch:
    """Raises Timeout in a test that uses too much processor time, so that its traceback shows the place. Waiting is free.

    Each timeout halves the limit of the next test, as tests that never end usually come in groups, but never below a
    multiple of the time of the slowest test before.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.least = seconds, MIN_TEST_SECONDS

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self) -> Generator[None, pluggy.Result[Any], None]:
        unused = signal.getsignal(signal.SIGPROF) is signal.SIG_DFL
        if not unused or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGPROF, self.ring)
        began, given = time.process_time(), self.seconds
        signal.setitimer(signal.ITIMER_PROF, given, given)
        yield
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        if self.seconds == given:
            self.least = max(self.least, TIMES_SLOWEST * (time.process_time() - began))
            self.seconds = max(self.seconds, self.least)

    def ring(self, _signal: int, _frame: object) -> None:
        self.seconds = max(self.seconds / 2, self.least)
        raise Timeout("the test computed too long and was ended")


class FailureDetails:
    """Adds to each report the details that only the test's own process knows."""

    def __init__(self, root: str, tracer: Tracer | None) -> None:
        self.root, self.tracer = root, tracer
        self.operands: list[str] = []

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, pluggy.Result[Any], None]:
        self.operands = []
        if self.tracer is not None:
            self.tracer.restart()
        yield

    def pytest_assertrepr_compare(self, left: object, right: object) -> None:
        self.operands = [rendered(repr, left, LONGEST_OPERAND), rendered(repr, right, LONGEST_OPERAND)]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, pluggy.Result[Any], None]:
        if self.tracer is not None:
            self.tracer.paused = True
        outcome = yield
        if self.tracer is not None:
            self.tracer.paused = False
        report = outcome.get_result()
        self.annotate(report, call)
        if call.when == "teardown" and self.tracer is not None:
            report.apprentice_lines = with_lines_of_children(self.tracer.take(), os.environ.get(CHILDREN, ""))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pluggy.Result[Any], None]:
        outcome = yield
        report = outcome.get_result()
        self.annotate(report, getattr(report, "call", None))

    def annotate(self, report: Any, call: pytest.CallInfo[Any] | None) -> None:  # noqa: ANN401 - it gets a field more
        """Type, message, frames and operands of an exception, or of its cause where pytest wraps it during collection."""
        if not report.failed or call is None or call.excinfo is None:
            return
        error: Any = call.excinfo.value
        if type(error).__name__ == "CollectError" and error.__cause__ is not None:
            error = error.__cause__
        operands = self.operands if isinstance(error, AssertionError) else []
        # By a docstring's example, or by the test itself:
        raised = error.exc_info[1] if type(error).__name__ == "UnexpectedException" else error
        report.apprentice = {
            "type": type(error).__name__,
            "message": f"{type(raised).__name__}: " * (raised is not error) + rendered(str, raised, LONGEST_MESSAGE),
            "frames": frames_of(raised, self.root),
            "operands": operands or unittest_operands(error),
        }


def with_lines_of_children(lines: dict[str, str], directory: str) -> dict[str, str]:
    """The lines by path with those that programs left behind which a test started, and which are gone after this."""
    for name in os.listdir(directory) if directory else ():
        path = os.path.join(directory, name)
        try:
            with open(path, encoding="utf-8") as stream:
                found: dict[str, str] = json.load(stream)
            os.remove(path)
        except (OSError, ValueError):
            continue  # it is still being written, and a later test has it
        for source, ranges in found.items():
            lines[source] = f"{lines[source]},{ranges}" if lines.get(source) else ranges
    return lines


class Reporter:
    """Writes one line for each event, from the process that receives the events of all tests."""

    def __init__(self, descriptor: int, tracer: Tracer | None, root: str, beside: str) -> None:
        self.descriptor, self.process, self.tracer = descriptor, os.getpid(), tracer
        self.root, self.beside = root, beside
        self.phases: dict[str, dict[str, Any]] = {}
        self.broken: set[str] = set()
        self.write(event="start")

    def write(self, **line: object) -> None:
        """Write one line, except in a process that a test forked and after the reader has gone."""
        if os.getpid() != self.process:
            return
        left = (json.dumps(line) + "\n").encode()
        try:
            while left:
                left = left[os.write(self.descriptor, left) :]
        except OSError:
            self.process = -1

    def pytest_unconfigure(self) -> None:
        """Restore the descriptor for a second pytest in the same process."""
        os.environ[REPORT] = str(self.descriptor)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Report what is loaded here, after collection and at the end: a run that is cut short has reported it already."""
        self.write(event="loaded", names=loaded(session.config))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.write(event="loaded", names=loaded(session.config))
        if self.tracer is not None:
            self.write(event="lines", id="", lines=self.tracer.take())

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and report.nodeid not in self.broken:
            self.broken.add(report.nodeid)
            details = getattr(report, "apprentice", None) or dict(
                NO_DETAILS, message=str(report.longrepr)[-LONGEST_MESSAGE:]
            )
            self.write(event="collect_error", id=report.nodeid, **details)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.write(event="running", id=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup":
            self.phases[report.nodeid] = {"outcome": "passed", "seconds": 0.0, "details": NO_DETAILS}
        state = self.phases.get(report.nodeid)
        if state is None:
            return
        state["seconds"] += report.duration
        outcome = outcome_of(report)
        if state["outcome"] not in ("failed", "error") and outcome != "passed":
            state["outcome"] = outcome
            state["details"] = details_of(report)
        if report.when == "teardown":
            self.finished(report, self.phases.pop(report.nodeid))

    def finished(self, report: pytest.TestReport, state: dict[str, Any]) -> None:
        """Report a finished test. A test that reruns has no result yet."""
        if state["outcome"] == "rerun":
            return
        self.write(
            event="result",
            id=report.nodeid,
            outcome=state["outcome"],
            seconds=round(state["seconds"], 6),
            inherited=self.inherited(report),
            **state["details"],
        )
        lines = getattr(report, "apprentice_lines", None)
        if lines:
            self.write(event="lines", id=report.nodeid, lines=lines)

    def inherited(self, report: pytest.TestReport) -> str | None:
        """The file of a test's function in the checkout, where it is another than that of its id."""
        file, named = report.location[0], report.nodeid.partition("::")[0]
        return None if file == named else inside(self.beside + file, self.root)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        self.write(event="loaded", names=loaded(session.config))
        self.write(event="finish", exit=int(exitstatus))


def loaded(config: pytest.Config) -> list[str]:
    """The plug-ins and the import hooks, by the names of their modules or types."""
    plugins = [plugin for _, plugin in config.pluginmanager.list_name_plugin() if plugin is not None]
    hooks = [*sys.meta_path, *sys.path_hooks]
    return sorted(
        {f"the plug-in {kind(each)}" for each in plugins} | {f"the import hook {kind(each)}" for each in hooks}
    )


def kind(thing: object) -> str:
    """The name of a module, else the module and name of a type, function or object's type."""
    if isinstance(thing, ModuleType):
        return thing.__name__[:LONGEST_NAME]
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}.{getattr(named, '__qualname__', '')}"[:LONGEST_NAME]


def outcome_of(report: pytest.TestReport) -> str:
    """The outcome of one phase, as TestOutcome names it."""
    outcome: str = report.outcome
    expected_failure = hasattr(report, "wasxfail")
    if outcome == "skipped":
        return "xfailed" if expected_failure else "skipped"
    if outcome == "passed":
        return "xpassed" if expected_failure and report.when == "call" else "passed"
    if outcome == "failed":
        return "failed" if report.when == "call" else "error"
    return "rerun"


def details_of(report: pytest.TestReport) -> dict[str, object]:
    """The details of a phase that did not pass; a strict xfail that passed has no exception."""
    known = getattr(report, "apprentice", None)
    if known is not None or report.outcome != "failed":
        return known or NO_DETAILS
    return dict(NO_DETAILS, type="Failed", message=str(report.longrepr)[-LONGEST_MESSAGE:])


def rendered(how: Callable[[object], str], value: object, longest: int) -> str:
    """`how(value)` clipped, or a note of its error. Foreign code runs here, so pytest runs it, as it does the tests."""
    call = CallInfo.from_call(
        lambda: how(value)[:longest], when="call", reraise=(KeyboardInterrupt, SystemExit, Timeout)
    )
    if call.excinfo is None:
        return call.result
    return f"<{type(value).__name__}: {how.__name__} raised {call.excinfo.typename}>"[:longest]


def frames_of(error: BaseException, root: str) -> list[tuple[str, int, str]]:
    """Path, line and function of the frames inside the checkout, outermost first, the middle of a deep stack left out."""
    found: list[tuple[str, int, str]] = []
    for frame, line in walk_tb(error.__traceback__):
        path = inside(frame.f_code.co_filename, root)
        if path is not None:
            found.append((path, line, frame.f_code.co_name))
    if isinstance(error, SyntaxError) and error.filename:
        path = inside(error.filename, root)
        if path is not None:
            found.append((path, error.lineno or 1, "<module>"))
    if len(found) > OUTER_FRAMES + INNER_FRAMES:
        return found[:OUTER_FRAMES] + found[-INNER_FRAMES:]
    return found


def unittest_operands(error: BaseException) -> list[str]:
    """The operands that a failing method of unittest.TestCase compared."""
    for frame, _ in walk_tb(error.__traceback__):
        if frame.f_globals.get("__name__") == "unittest.case" and {"first", "second"} <= set(frame.f_locals):
            return [rendered(repr, frame.f_locals[name], LONGEST_OPERAND) for name in ("first", "second")]
    return []
