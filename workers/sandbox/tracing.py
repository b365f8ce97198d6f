"""Which lines of the project run in each test; loaded by pytest_plugin.py inside the sandbox (Python 3.8 or later)."""

# Runs on the project's interpreter, where pathlib is slow and some of what the linter asks for is missing:
# ruff: noqa: PTH100, PTH118, PTH206, UP035

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Callable, Collection

if TYPE_CHECKING:
    LineTrace = Callable[[FrameType, str, Any], Any]

FOREIGN = ("site-packages", "dist-packages", ".venv", "venv", ".tox", "node_modules")
TEST_DIRECTORIES = ("test", "tests")


def inside(filename: str, root: str) -> str | None:
    """The path relative to the root; None for what lies outside or was installed."""
    if filename.startswith("<"):
        return None
    path = os.path.abspath(os.path.join(root, filename))
    if not path.startswith(root + os.sep):
        return None
    relative = path[len(root) + 1 :]
    return None if any(part in FOREIGN for part in relative.split(os.sep)[:-1]) else relative.replace(os.sep, "/")


def is_test(path: str) -> bool:
    """Whether a file holds tests or lies among them."""
    *directories, name = path.split("/")
    if name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py":
        return True
    return any(directory in TEST_DIRECTORIES for directory in directories)


class Tracer:
    """Collects executed lines of the project's own code, or of the files in `only`; none while it is `paused`.

    Subclasses define how.
    """

    def __init__(self, root: str, only: Collection[str]) -> None:
        self.root = root
        self.only = only
        self.paused = False
        self.known: dict[str, str | None] = {}
        self.lines: dict[str, set[int]] = {}

    def traced(self, filename: str) -> str | None:
        """The relative path of a traced file; None for other files."""
        if filename not in self.known:
            path = inside(filename, self.root)
            wanted = path is not None and (path in self.only if self.only else not is_test(path))
            self.known[filename] = path if wanted else None
        return self.known[filename]

    def aside(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, during which nothing is collected."""

        def untraced(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - what the function takes and gives
            before, self.paused = self.paused, True
            try:
                return function(*arguments, **options)
            finally:
                self.paused = before

        return untraced

    def restart(self) -> None:
        """Reset for the next test."""
        self.lines = {}

    def take(self) -> dict[str, str]:
        """Path to line ranges, as in `3-7,9`."""
        return {path: ranges(sorted(lines - {0})) for path, lines in self.lines.items()}


class MonitoringTracer(Tracer):
    """Python 3.12 and later: each line raises one event per test, and then costs nothing."""

    def __init__(self, root: str, only: Collection[str]) -> None:
        super().__init__(root, only)
        monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self.monitoring = monitoring
        tool = next(number for number in (4, 3, 5, 2) if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(tool, "apprentice")
        monitoring.register_callback(tool, monitoring.events.LINE, self.line)
        monitoring.set_events(tool, monitoring.events.LINE)

    def restart(self) -> None:
        super().restart()
        self.monitoring.restart_events()

    def line(self, code: CodeType, number: int) -> object:
        if self.paused:
            return None
        path = self.traced(code.co_filename)
        if path is not None:
            self.lines.setdefault(path, set()).add(number)
        return self.monitoring.DISABLE


QUIET_CALLS, SAMPLED = 200, 20
"""After QUIET_CALLS calls in a row without a new line, a function is traced in one of SAMPLED calls only."""


class SettraceTracer(Tracer):
    """Before Python 3.12. Skips frames of other code and, where all files are traced, calls that are unlikely to add lines."""

    def __init__(self, root: str, only: Collection[str]) -> None:
        super().__init__(root, only)
        self.quiet: dict[CodeType, int] = {}
        self.start()

    def start(self) -> None:
        """Trace this thread and those started later."""
        threading.settrace(self.call)
        sys.settrace(self.call)

    def restart(self) -> None:
        super().restart()
        self.quiet = {}
        self.start()

    def call(self, frame: FrameType, _event: str, _argument: object) -> LineTrace | None:
        code, quiet = frame.f_code, self.quiet
        path = self.traced(code.co_filename)
        if path is None or self.paused:
            return None
        quiet[code] = calls = quiet.get(code, 0) + 1
        if calls > QUIET_CALLS and calls % SAMPLED and not self.only:
            return None
        seen = self.lines.setdefault(path, set())

        def line(frame: FrameType, event: str, _: object) -> object:
            if event == "line" and frame.f_lineno not in seen:
                seen.add(frame.f_lineno)
                quiet[code] = 0
            return line

        return line


def make_tracer(root: str, only: Collection[str]) -> Tracer:
    return MonitoringTracer(root, only) if hasattr(sys, "monitoring") else SettraceTracer(root, only)


def ranges(lines: list[int]) -> str:
    """Sorted numbers as ranges."""
    parts: list[list[int]] = []
    for line in lines:
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
