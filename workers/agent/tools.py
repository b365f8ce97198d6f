"""The tools of a model: read and search files, edit them, run tests in the sandbox. Each is a name, arguments and a use."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import islice
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from workers.agent.checkout import Checkout, ToolFailed
from workers.errors import CannotRun, Retryable
from workers.llm.messages import ToolCall, ToolSpec
from workers.llm.prompt_text import data, truncated
from workers.repair.classify import is_test_path
from workers.sandbox.report import TestReport, TestResult

A = TypeVar("A", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`use` gets the arguments as JSON and gives an observation, truncated; it raises ToolFailed with one line for the model."""

    spec: ToolSpec
    use: Callable[[str], str]

    @property
    def name(self) -> str:
        return self.spec.name


def tool(name: str, arguments: type[A], use: Callable[[A], str]) -> Tool:
    """A tool whose description is the docstring of its `arguments`, a struct that refuses unknown fields."""
    parts = dict(msgspec.json.schema(arguments)["$defs"])
    described = parts.pop(arguments.__name__)
    parameters = {key: value for key, value in described.items() if key not in ("title", "description")}
    parameters |= {"$defs": parts} if parts else {}

    def decoded(text: str) -> str:
        try:
            given = msgspec.json.decode(text or "{}", type=arguments)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise ToolFailed(f"the arguments of {name} are wrong: {error}") from error
        return truncated(use(given))

    return Tool(spec=ToolSpec(name=name, description=described["description"], parameters=parameters), use=decoded)


class Toolset:
    """The tools of one run, by name."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {each.name: each for each in tools}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Their descriptions for the model."""
        return tuple(each.spec for each in self._tools.values())

    def execute(self, call: ToolCall) -> str:
        """The observation of a call, in words for the model; a failure is one of them."""
        wanted = self._tools.get(call.name)
        if wanted is None:
            return f"error: there is no tool {call.name[:40]!r}; there are {', '.join(self._tools)}"
        try:
            return wanted.use(call.arguments)
        except ToolFailed as error:
            return f"error: {error}"


MOST_LINES, USUAL_LINES, MOST_HITS, MOST_COMMITS = 400, 200, 60, 20

Text = Annotated[str, Meta(min_length=1, max_length=200)]

History = Callable[[str, int], Sequence[str]]
"""The commits that touched a path, or that added or removed a text, newest first and at most so many, one line each."""


class ReadCall(Struct, forbid_unknown_fields=True):
    """Read lines of a file, with their numbers. `end` 0: two hundred lines from `start` on."""

    path: Text
    start: Annotated[int, Meta(ge=1)] = 1
    end: Annotated[int, Meta(ge=0)] = 0


class SearchCall(Struct, forbid_unknown_fields=True):
    """Find a text in the files: lines with path and number. `paths` is a glob such as src/*.py."""

    text: Text
    paths: Text = "*"


class HistoryCall(Struct, forbid_unknown_fields=True):
    """List the commits that touched a path, or that added or removed a piece of code."""

    about: Text


def reading(checkout: Checkout, history: History | None = None) -> list[Tool]:
    """The reading tools of one checkout; `history` where its past is known."""
    found = [
        tool("read", ReadCall, lambda asked: _read(checkout, asked)),
        tool("search", SearchCall, lambda asked: _search(checkout, asked)),
    ]
    if history is not None:
        found.append(tool("history", HistoryCall, lambda asked: _past(history, asked.about)))
    return found


def numbered(path: str, text: str, start: int, end: int) -> str:
    """Lines `start` to `end` of a file as data that cites them."""
    lines = text.split("\n")[start - 1 : end]
    shown = "\n".join(f"{number:>4}  {line}" for number, line in enumerate(lines, start=start))
    return data(f"{path}:{start}-{start + len(lines) - 1}", shown, code=True)


def _read(checkout: Checkout, asked: ReadCall) -> str:
    text = checkout.read(asked.path)
    total = text.count("\n") + (not text.endswith("\n"))
    if asked.start > max(total, 1):
        raise ToolFailed(f"{asked.path} has {total} lines")
    end = min(asked.end or asked.start + USUAL_LINES - 1, asked.start + MOST_LINES - 1, total)
    rest = f"\n({total - end} more lines)" if end < total else ""
    return numbered(asked.path, text, asked.start, end) + rest


def _past(history: History, about: str) -> str:
    if "\0" in about:
        raise ToolFailed("no path and no code holds a NUL")
    try:
        return _listed(history(about, MOST_COMMITS), "history")
    except (CannotRun, Retryable) as error:  # it is a help, not a need
        raise ToolFailed(str(error)) from error


def _search(checkout: Checkout, asked: SearchCall) -> str:
    paths = (path for path in checkout.paths if fnmatch(path, asked.paths))
    return _listed(list(islice(_hits(checkout, paths, asked.text), MOST_HITS + 1)), "search")


def _hits(checkout: Checkout, paths: Iterator[str], text: str) -> Iterator[str]:
    for path in paths:
        for number, line in enumerate(_text(checkout, path).split("\n"), start=1):
            if text in line:
                yield f"{path}:{number}: {line.strip()}"


def _text(checkout: Checkout, path: str) -> str:
    """A file's text; one that cannot be read has none."""
    try:
        return checkout.read(path)
    except ToolFailed:
        return ""


def _listed(hits: Sequence[str], source: str) -> str:
    if not hits:
        return "nothing found"
    more = f"\n(more than {MOST_HITS}: narrow it down)" if len(hits) > MOST_HITS else ""
    return data(source, "\n".join(hits[:MOST_HITS]), code=True) + more


AROUND = 3
"""Lines shown on both sides of what was edited."""


class EditCall(Struct, forbid_unknown_fields=True):
    """Replace `old`, which must occur exactly once in the file, by `new`. An empty `old` makes a new file of `new`."""

    path: Annotated[str, Meta(min_length=1)]
    old: str
    new: str


class UndoCall(Struct, forbid_unknown_fields=True):
    """Take back every edit of the sources made so far."""


class AddTestCall(Struct, forbid_unknown_fields=True):
    """Add a new test file, such as tests/test_rounding.py, that shows what is wrong. Tests that exist stay as they are."""

    path: Annotated[str, Meta(min_length=1)]
    text: Annotated[str, Meta(min_length=1)]


def editing(checkout: Checkout, *, tests: bool = False) -> list[Tool]:
    """The editing tools of one checkout; with `tests`, also the one that adds a test."""
    found = [
        tool("edit", EditCall, lambda asked: edit(checkout, asked)),
        tool("undo", UndoCall, lambda _asked: _undo(checkout)),
    ]
    return [*found, tool("add_test", AddTestCall, lambda asked: _add_test(checkout, asked))] if tests else found


def edit(checkout: Checkout, asked: EditCall) -> str:
    """Make one replacement; raises ToolFailed where the anchor is not unique, or where the file would not parse."""
    if not asked.old:
        return _create(checkout, asked)
    before = checkout.read(asked.path)
    after = replaced(asked.path, before, asked.old, asked.new)
    if before == after:
        raise ToolFailed("`old` and `new` are the same")
    checkout.write(asked.path, after)
    first = before[: before.index(_ended_as(before, asked.old))].count("\n") + 1
    last = first + asked.new.count("\n")
    return f"edited {asked.path}:\n{numbered(asked.path, after, max(first - AROUND, 1), last + AROUND)}"


def replaced(path: str, before: str, old: str, new: str) -> str:
    """The text of a file with `old`, which occurs in it once, replaced by `new`, both with the file's own line ends.

    Raises ToolFailed where `old` is not unique, or where the file would not parse.
    """
    old, new = _ended_as(before, old), _ended_as(before, new)
    count = before.count(old)
    if count != 1:
        raise ToolFailed(f"`old` occurs {count} times in {path}; it must occur exactly once")
    after = before.replace(old, new)
    refuse_broken(path, before, after)
    return after


def _ended_as(before: str, text: str) -> str:
    """A text with the line ends of a file all of whose lines end alike: a model is shown, and writes, line feeds alone."""
    lines = text.replace("\r\n", "\n")
    return lines.replace("\n", "\r\n") if 0 < before.count("\n") == before.count("\r\n") else text


def refuse_broken(path: str, before: str, after: str) -> None:
    """Raise ToolFailed for Python that no longer parses, where it did before."""
    if path.endswith(".py") and (problem := _problem(after)) and not _problem(before):
        raise ToolFailed(f"{path} would not parse any more: {problem}; nothing was changed")


def _problem(text: str) -> str:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        return (getattr(error, "msg", "") or str(error) or "it is nested too deeply") + (
            f" at line {line}" if line else ""
        )
    return ""


def _create(checkout: Checkout, asked: EditCall) -> str:
    refuse_broken(asked.path, "", asked.new)
    checkout.create(asked.path, asked.new)
    return f"made {asked.path}"


def _undo(checkout: Checkout) -> str:
    paths = ", ".join(checkout.edits) or "nothing"
    checkout.restore()
    return f"taken back: {paths}"


def _add_test(checkout: Checkout, asked: AddTestCall) -> str:
    name = asked.path.rpartition("/")[2]
    if not (is_test_path(asked.path) and name.startswith("test_") and name.endswith(".py")):
        raise ToolFailed(f"{asked.path} is no test file: it must be called test_….py and lie where the tests do")
    refuse_broken(asked.path, "", asked.text)
    checkout.add_test(asked.path, asked.text)
    return f"added {asked.path}: run the tests to see it fail before you repair anything"


MOST_TESTS, MOST_EDITS, SHOWN_FAILURES, SHOWN_FRAMES = 50, 8, 6, 5

Overlay = Mapping[str, bytes | None]
RunTests = Callable[[tuple[str, ...], Overlay], TestReport]
"""Runs the given tests, none: the whole suite, with files laid over the checkout."""


class RunTestsCall(Struct, forbid_unknown_fields=True):
    """Run tests with your edits. No `tests`: those that failed. "all": the whole suite. Else ids: a file, class or function."""

    tests: Annotated[list[str], Meta(max_length=MOST_TESTS)] = []  # msgspec copies it


def testing(checkout: Checkout, run: RunTests, failing: tuple[str, ...]) -> list[Tool]:
    """The testing tools of one checkout whose `failing` tests are to pass."""
    return [
        tool("run_tests", RunTestsCall, lambda asked: _run(checkout, run, failing, asked)),
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
