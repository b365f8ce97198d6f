"""The tools of a model: read and search files, edit them, run tests in the sandbox.

A tool is a function. Its name, docstring and parameters are what the model sees.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import islice
from typing import Annotated, get_type_hints

import msgspec
from msgspec import Meta

from memory.parsing import PARSE_ERRORS, read_module
from workers.agent.checkout import Checkout, ToolFailed
from workers.errors import CannotRun, Retryable
from workers.llm.messages import ToolCall, ToolSpec
from workers.llm.prompt_text import data, truncated
from workers.redaction import redact_lines
from workers.repair.classify import belongs_to_tests
from workers.sandbox.report import TestReport, TestResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`use` gets the arguments as JSON and gives an observation, truncated; it raises ToolFailed with one line for the model."""

    spec: ToolSpec
    use: Callable[[str], str]


def tool(use: Callable[..., str]) -> Tool:
    """A function as a tool; other arguments than its parameters are refused."""
    name, hints = use.__name__, get_type_hints(use, include_extras=True)
    parameters = inspect.signature(use).parameters.values()
    fields = [(p.name, hints[p.name], *(() if p.default is p.empty else (p.default,))) for p in parameters]
    arguments = msgspec.defstruct(name, fields, forbid_unknown_fields=True)
    schema = msgspec.json.schema(arguments)["$defs"][name]

    def decoded(text: str) -> str:
        try:
            given = msgspec.json.decode(text or "{}", type=arguments)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise ToolFailed(f"the arguments of {name} are wrong: {error}") from error
        return truncated(use(**msgspec.structs.asdict(given)))

    described = {key: value for key, value in schema.items() if key != "title"}
    return Tool(spec=ToolSpec(name=name, description=inspect.getdoc(use) or "", parameters=described), use=decoded)


class Toolset:
    """The tools of one run, by name."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {each.spec.name: each for each in tools}

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


MAX_LINES, USUAL_LINES, MAX_HITS, MAX_COMMITS = 400, 200, 60, 20

Text = Annotated[str, Meta(min_length=1, max_length=200)]
Filled = Annotated[str, Meta(min_length=1)]

History = Callable[[str, int], Sequence[str]]
"""The commits that touched a path, or that added or removed a text, newest first and up to a number, one line each."""


def reading(checkout: Checkout, history: History | None = None) -> list[Tool]:
    """The reading tools of one checkout; `history` where its past is known."""

    def read(path: Text, start: Annotated[int, Meta(ge=1)] = 1, end: Annotated[int, Meta(ge=0)] = 0) -> str:
        """Read lines of a file, with their numbers. `end` 0: two hundred lines from `start` on."""
        text = checkout.read(path)
        total = text.count("\n") + (not text.endswith("\n"))
        if start > max(total, 1):
            raise ToolFailed(f"{path} has {total} lines")
        last = min(end or start + USUAL_LINES - 1, start + MAX_LINES - 1, total)
        return numbered(path, text, start, last) + (f"\n({total - last} more lines)" if last < total else "")

    def search(text: Text, paths: Text = "*") -> str:
        """Find a text in the files: lines with path and number. `paths` is a glob such as src/*.py."""
        hits = list[str]()
        for path in (each for each in checkout.paths if fnmatch(each, paths)):
            with suppress(ToolFailed):  # a file that cannot be read holds nothing
                whole = checkout.read(path)
                lines = redact_lines(whole).split("\n") if text in whole else []
                found = (f"{path}:{n}: {line.strip()}" for n, line in enumerate(lines, start=1) if text in line)
                hits += islice(found, MAX_HITS + 1 - len(hits))
            if len(hits) > MAX_HITS:
                break
        return _listed(hits, "search")

    return [tool(read), tool(search), *([] if history is None else [_past(history)])]


def _past(commits: History) -> Tool:
    def history(about: Text) -> str:
        """List the commits that touched a path, or that added or removed a piece of code."""
        if "\0" in about:
            raise ToolFailed("no path and no code holds a NUL")
        try:
            return _listed(commits(about, MAX_COMMITS), "history")
        except (CannotRun, Retryable) as error:  # it is a help, not a need
            raise ToolFailed(str(error)) from error

    return tool(history)


def numbered(path: str, text: str, start: int, end: int) -> str:
    """Lines `start` to `end` of a file as data that cites them."""
    lines = redact_lines(text).split("\n")[start - 1 : end]
    shown = "\n".join(f"{number:>4}  {line}" for number, line in enumerate(lines, start=start))
    return data(f"{path}:{start}-{start + len(lines) - 1}", shown, code=True)


def _listed(hits: Sequence[str], source: str) -> str:
    if not hits:
        return "nothing found"
    more = f"\n(more than {MAX_HITS}: narrow it down)" if len(hits) > MAX_HITS else ""
    return data(source, "\n".join(hits[:MAX_HITS]), code=True) + more


AROUND = 3
"""Lines shown on both sides of what was edited."""


def editing(checkout: Checkout, *, tests: bool = False) -> list[Tool]:
    """The editing tools of one checkout; with `tests`, also the one that adds a test."""

    def edit(path: Filled, old: str, new: str) -> str:
        """Replace `old`, which must occur exactly once in the file, by `new`. An empty `old` makes a new file of `new`."""
        if not old:
            refuse_broken(path, "", new)
            checkout.create(path, new)
            return f"made {path}"
        before = checkout.read(path)
        after = replaced(path, before, old, new)
        if before == after:
            raise ToolFailed("`old` and `new` are the same")
        checkout.write(path, after)
        first = before[: before.index(_ended_as(before, old))].count("\n") + 1
        last = first + new.count("\n")
        return f"edited {path}:\n{numbered(path, after, max(first - AROUND, 1), last + AROUND)}"

    def undo() -> str:
        """Take back every edit of the sources made so far."""
        paths = ", ".join(checkout.edits) or "nothing"
        checkout.restore()
        return f"taken back: {paths}"

    def add_test(path: Filled, text: Filled) -> str:
        """Add a new test file, such as tests/test_rounding.py, that shows what is wrong. Tests that exist stay as they are."""
        name = path.rpartition("/")[2]
        if not (belongs_to_tests(path) and name.startswith("test_") and name.endswith(".py")):
            raise ToolFailed(f"{path} is no test file: it must be called test_….py and lie where the tests do")
        refuse_broken(path, "", text)
        checkout.add_test(path, text)
        return f"added {path}: run the tests to see it fail before you repair anything"

    return [tool(edit), tool(undo), *([tool(add_test)] if tests else [])]


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
        read_module(text)
    except PARSE_ERRORS as error:
        line = getattr(error, "lineno", None)
        return (getattr(error, "msg", "") or str(error) or "it is nested too deeply") + (
            f" at line {line}" if line else ""
        )
    return ""


MAX_TESTS, SHOWN_FAILURES, SHOWN_FRAMES = 50, 6, 5

RunTests = Callable[[tuple[str, ...], Mapping[str, bytes | None]], TestReport]
"""Runs the given tests, none: the whole suite, with files laid over the checkout."""


def testing(checkout: Checkout, run: RunTests, failing: tuple[str, ...]) -> Tool:
    """The tool that runs tests of one checkout whose `failing` tests are to pass."""

    def run_tests(tests: Annotated[tuple[str, ...], Meta(max_length=MAX_TESTS)] = ()) -> str:
        """Run tests with your edits. No `tests`: those that failed. "all": the whole suite. Else ids: a file, class or function."""
        wanted = () if tests == ("all",) else tests or (*failing, *checkout.added_tests)
        report = run(wanted, checkout.overlay())
        if wanted and report.started and not report.results:
            raise ToolFailed(f"no test is called {', '.join(wanted)[:200]}; ids look like tests/test_x.py::test_name")
        return described(report)

    return tool(run_tests)


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
