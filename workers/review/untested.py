"""What of a change the tests do not test: the lines that none of them runs, and whether any fails without the changed code."""

import ast
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from memory.parsing import parsed
from workers.diffs import split_lines
from workers.review.broken_tests import MIN_SECONDS, ComparedTests, TestComparison
from workers.review.detectors.detector import Delta
from workers.review.suggestions import changes_no_code
from workers.sandbox.checkout_files import exists
from workers.sandbox.run_tests import TestRun, run_tests
from workers.sandbox.test_ids import file_of
from workers.sandbox.tracing import is_test

SECONDS = 60.0
"""Time for all runs of this. What they do not finish is not known."""

NOT_TO_BE_RUN = re.compile(r"# ?pragma: ?no ?cover")
"""The comment by which coverage.py leaves a statement out, with all that is in it."""

VERSION = re.compile(r"^(?:__version__|VERSION|version)\b.*$", re.MULTILINE)
"""What states a project's version: no test is expected to notice a release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Untested:
    """`lines` are the changed lines, by path, that no test runs, of `of` that can run; only the first of a statement counts.

    `unnoticed` says that no test fails with the code of the base.
    """

    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    of: int = 0
    unnoticed: bool = False


def what_is_untested(
    comparison: TestComparison, delta: Delta, tests: ComparedTests, reaching: Sequence[str]
) -> Untested | None:
    """What the tests do not test, with those `reaching` the change first; None where that is not known.

    It takes that all tests ran, that none is broken, and that none of those reaching the change fails for another reason.
    A script that no test runs, as setup.py, is not meant to be tested.
    """
    head, base = delta.head.sources, delta.base
    code = [path for path in head if _is_changed_code(path, base.get(path), head[path])]
    failing = {file_of(test) for test in tests.failing_before}
    if not code or not tests.whole or not tests.passed or tests.broken or tests.unknown:
        return None
    if not failing.isdisjoint(reaching or failing):
        return None
    comparison.progress("looking for what of the change no test tests")
    runs = _Runs(comparison, [reaching, ()] if reaching else [()], time.monotonic() + SECONDS)
    statements = {path: runnable(head[path], delta.added.get(path, frozenset())) for path in code}
    ran = runs.lines(statements)
    tree = comparison.head.tree
    in_package = {path for path in code if exists((tree / path).with_name("__init__.py"))}
    code = [path for path in code if ran is not None and (ran[path] or path in in_package)]
    if ran is None or not code:
        return None
    missed = {path: [each.start for each in statements[path] if ran[path].isdisjoint(each)] for path in code}
    return Untested(
        lines={path: tuple(lines) for path, lines in missed.items() if lines},
        of=sum(len(statements[path]) for path in code),
        unnoticed=runs.end_alike({path: base[path].encode() if path in base else None for path in code}, tests),
    )


def _is_changed_code(path: str, before: str | None, after: str) -> bool:
    if not path.endswith(".py") or is_test(path):
        return False
    return before is None or not changes_no_code(VERSION.sub("", before), VERSION.sub("", after))


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of the tests of the head: of some that may be enough to know, then of all. None is begun after `deadline`."""

    comparison: TestComparison
    selections: Sequence[Sequence[str]]
    deadline: float

    def lines(self, statements: Mapping[str, Sequence[range]]) -> Mapping[str, set[int]] | None:
        """The lines that ran of the files with these statements, in as many runs as it takes to see all; None if not known."""
        ran = {path: set[int]() for path in statements}
        for tests in self.selections:
            left = [path for path, lines in ran.items() if not lines or any(map(lines.isdisjoint, statements[path]))]
            if not left:
                break
            run = self._run(tests, trace=left)
            if run is None or run.lines_cut or not (tests or run.report.complete):
                return None
            for lines in run.lines.values():
                for path in left:
                    ran[path] |= lines.get(path, frozenset())
        return ran

    def end_alike(self, overlay: Mapping[str, bytes | None], tests: ComparedTests) -> bool:
        """Whether all tests end with these files as `tests` ended without."""
        known = {*tests.failing_before, *tests.flaky}
        for selection in self.selections:
            run = self._run(selection, overlay)
            if run is None or any(result.id not in known for result in run.report.failing()):
                return False
        return run is not None and run.report.complete and len(run.report.passing()) >= tests.passed

    def _run(
        self, tests: Sequence[str], overlay: Mapping[str, bytes | None] | None = None, trace: Sequence[str] = ()
    ) -> TestRun | None:
        of, seconds = self.comparison, min(self.deadline, self.comparison.deadline) - time.monotonic()
        if seconds < MIN_SECONDS:
            return None
        limits = of.limits.within(seconds)
        return run_tests(of.sandbox, of.head, tests=tests, overlay=overlay, limits=limits, trace=trace)


def runnable(text: str, changed: Collection[int]) -> list[range]:
    """The lines of each changed statement that can run and is meant to, without those of the blocks within it."""
    tree = parsed(text)
    lines = ["", *split_lines(text)]
    statements = _statements(tree, lines) if tree else ()
    return sorted((each for each in statements if any(line in changed for line in each)), key=lambda each: each.start)


def _statements(tree: ast.Module, lines: Sequence[str]) -> Iterator[range]:
    """Those of all blocks; of a block none where a line above it, or of its statement, says so."""
    blocks: list[Sequence[ast.stmt]] = [tree.body]
    for block in blocks:  # grows while it is read: a thousand `elif` are as deep
        for node in block if block and not NOT_TO_BE_RUN.search(lines[block[0].lineno - 1]) else ():
            inner = list(_blocks(node))
            end = min((each[0].lineno for each in inner), default=(node.end_lineno or node.lineno) + 1)
            own = range(node.lineno, max(end, node.lineno + 1))
            if any(NOT_TO_BE_RUN.search(lines[number]) for number in own) or _is_for_readers(node):
                continue
            if not _is_silent(node):
                yield own
            blocks.extend(inner)


def _blocks(node: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        if isinstance(block := getattr(node, name, None), list) and block:
            yield block
    for clause in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield clause.body


def _is_for_readers(node: ast.stmt) -> bool:
    """Whether a statement is for type checkers or overriding, or begins a program: tests have no reason to run it."""
    match node:
        case ast.If(test=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name == "TYPE_CHECKING"
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
        case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            return name == "NotImplementedError"
        case ast.FunctionDef(decorator_list=marks) | ast.AsyncFunctionDef(decorator_list=marks):
            names = {getattr(mark, "attr", getattr(mark, "id", "")) for mark in marks}
            return not names.isdisjoint({"abstractmethod", "overload"})
    return False


def _is_silent(node: ast.stmt) -> bool:
    """Whether the interpreter may pass through a statement without a trace: it compiles to nothing, or to a jump."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.AnnAssign(value=None) | ast.While(test=ast.Constant()):
            return True
        case ast.If(test=ast.Constant()):
            return True
    return isinstance(node, ast.Pass | ast.Global | ast.Nonlocal | ast.Continue | ast.Break | ast.Try | ast.TryStar)
