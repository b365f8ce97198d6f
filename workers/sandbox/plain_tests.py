"""Runs tests without pytest, in an interpreter where nothing of it is loaded.

Code that behaves rightly under pytest alone shows itself here: no capture, no log handlers, no warning filters, no variables.
It runs as `python -c` in the project's own interpreter (Python 3.8 or later) and needs the standard library alone. The last
argument is JSON: the test functions by their file's path. What needs fixtures, marks or more of pytest than is here is left out of the report,
whose lines are those of pytest_plugin.py.
"""

# Runs on the project's interpreter, which may lack what the linter asks for:
# ruff: noqa: PTH109, PTH113, PTH118, UP035

from __future__ import annotations

import importlib
import inspect
import json
import math
import os
import re
import sys
import types
from functools import partial
from typing import Any, Callable, Iterator

REPORT = "APPRENTICE_REPORT_FD"
LONGEST_MESSAGE = 2000


class Unsupported(BaseException):
    """The test needs more of pytest than is here."""


def main() -> None:
    """Run the tests of each file, and report those that could be run."""
    descriptor = int(os.environ.pop(REPORT))
    wanted: dict[str, list[str]] = json.loads(sys.argv.pop())
    sys.modules["pytest"] = stand_in()
    write(descriptor, event="start")
    for path, names in wanted.items():
        modules: list[types.ModuleType] = []
        error = raised(partial(import_into, modules, path))
        if error is not None:
            write(descriptor, event="collect_error", id=path, **details(error))
        for name in names if modules else ():
            report(descriptor, f"{path}::{name}", raised(partial(run, modules[0], name)))
    write(descriptor, event="finish", exit=0)


def write(descriptor: int, **line: object) -> None:
    os.write(descriptor, (json.dumps(line) + "\n").encode())


def import_into(modules: list[types.ModuleType], path: str) -> None:
    """Import a test file, with its directory at the front of the import path as pytest puts it there."""
    directory, name = os.path.split(os.path.join(os.environ.get("APPRENTICE_ROOT") or os.getcwd(), path))
    parts = [name[: -len(".py")]]
    while os.path.isfile(os.path.join(directory, "__init__.py")):
        directory, package = os.path.split(directory)
        parts.insert(0, package)
    sys.path.insert(0, directory)
    modules.append(importlib.import_module(".".join(parts)))


def raised(work: Callable[[], object]) -> BaseException | None:
    """What some foreign code raises, which may be anything; None where it ends well."""
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - foreign code
        return error
    return None


def details(error: BaseException | None) -> dict[str, Any]:
    kind, message = ("", "") if error is None else (type(error).__name__, str(error)[:LONGEST_MESSAGE])
    return {"type": kind, "message": message, "frames": [], "operands": []}


def report(descriptor: int, test: str, error: BaseException | None) -> None:
    """Write how a test ended, unless it needs more than is here."""
    if not isinstance(error, Unsupported):
        outcome = "failed" if error else "passed"
        write(descriptor, event="result", id=test, outcome=outcome, seconds=0.0, **details(error))


def run(module: types.ModuleType, name: str) -> None:
    """Run one test with all its parameters."""
    for call in calls(module, name):
        if inspect.iscoroutine(made := call()):
            made.close()
            raise Unsupported


def calls(module: types.ModuleType, name: str) -> Iterator[Callable[[], object]]:
    """The calls that make up one test. Raises Unsupported."""
    holder: Any = module
    *classes, function = name.split("::")
    for each in classes:
        holder = getattr(holder, each)
    if "unittest" in sys.modules and classes and issubclass(holder, sys.modules["unittest"].TestCase):
        yield holder(function).debug
        return
    test = getattr(holder() if classes else holder, function)
    rows = getattr(test, "rows", [{}])
    needed = {key for key, value in inspect.signature(test).parameters.items() if value.default is value.empty}
    if classes and any(hasattr(holder, f"setup_{when}") for when in ("method", "class")):
        raise Unsupported
    for row in rows:
        if set(row) != needed:
            raise Unsupported
        yield partial(test, **row)


# ── As much of pytest as plain tests need ──


def stand_in() -> types.ModuleType:
    """A module in the place of pytest."""
    module = types.ModuleType("pytest")
    for each in (approx, fixture, param, raises):
        setattr(module, each.__name__, each)
    module.mark = Mark()  # type: ignore[attr-defined]  # as pytest has it
    return module


class Mark:
    """pytest.mark: parameters are kept; a test with any other mark is not supported."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self.parametrize if name == "parametrize" else unsupported

    def parametrize(self, names: Any, rows: Any, **_more: object) -> Callable[[Any], Any]:  # noqa: ANN401 - as tests give them
        """Keep the rows of parameters, each by name; several decorators multiply."""
        keys = [key.strip() for key in names.split(",")] if isinstance(names, str) else list(names)
        values = [row if len(keys) > 1 else getattr(row, "values", (row,)) for row in rows]
        made = [dict(zip(keys, getattr(row, "values", row))) for row in values]  # noqa: B905 - since 3.10

        def decorated(test: Any) -> Any:  # noqa: ANN401 - a function or a class
            if isinstance(test, type):
                raise Unsupported
            test.rows = [{**row, **other} for row in made for other in getattr(test, "rows", [{}])]
            return test

        return decorated


class param:  # noqa: N801 - as pytest calls it
    def __init__(self, *values: object, marks: object = (), **_more: object) -> None:
        if marks:
            raise Unsupported
        self.values = values


def unsupported(*_given: object, **_named: object) -> Any:  # noqa: ANN401 - a decorator, or a decorated function
    """A mark or fixture: whatever needs it cannot run here."""
    raise Unsupported


def fixture(*given: Any, **_named: object) -> Any:  # noqa: ANN401 - with and without arguments
    """Leave a fixture as it is: tests that ask for it are not supported."""
    return given[0] if given and callable(given[0]) else lambda function: function


class raises:  # noqa: N801 - as pytest calls it
    """A context that wants an error, and that its text matches."""

    def __init__(self, kind: Any, *call: Any, match: str = "") -> None:  # noqa: ANN401 - a class or several
        self.kind, self.match = kind, match
        self.value: BaseException | None = None
        if call:
            with self:
                call[0](*call[1:])

    def __enter__(self) -> raises:
        return self

    def __exit__(self, kind: Any, value: BaseException | None, trace: object) -> bool:  # noqa: ANN401 - a class or None
        if kind is None:
            raise AssertionError(f"did not raise {self.kind}")
        self.value = value
        return issubclass(kind, self.kind) and (not self.match or re.search(self.match, str(value)) is not None)


class approx:  # noqa: N801 - as pytest calls it
    """A number, or a list, tuple or dict of numbers, that others may be near to."""

    def __init__(self, expected: Any, rel: float = 1e-6, abs: float = 1e-12) -> None:  # noqa: A002, ANN401 - as pytest has them
        self.expected, self.rel, self.abs = expected, rel, abs

    def __eq__(self, other: object) -> bool:
        return self.near(other, self.expected)

    __hash__ = None  # type: ignore[assignment]  # as pytest has it

    def near(self, one: Any, other: Any) -> bool:  # noqa: ANN401 - whatever a test compares
        """Whether two values are near, part by part. Raises Unsupported for other types."""
        if isinstance(other, dict):
            return one.keys() == other.keys() and all(self.near(one[key], other[key]) for key in other)
        if isinstance(other, (list, tuple)):
            return len(one) == len(other) and all(map(self.near, one, other))
        if not isinstance(other, (int, float)):
            raise Unsupported
        return math.isclose(one, other, rel_tol=self.rel, abs_tol=self.abs) or one == other


if __name__ == "__main__":
    main()
