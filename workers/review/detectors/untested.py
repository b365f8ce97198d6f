"""Behaviour that changed while no test did: one finding a file at most, for the summary only. Pure."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence

from memory.model import Severity
from workers.review.detectors.detector import Category, Delta, Detection, RawFinding
from workers.review.detectors.rules import is_test_path
from workers.review.detectors.semantic.edited import Function, functions
from workers.review.source import parsed

MISSING_TEST = "TST001"


class Untested:
    """The `ChangeDetector` of missing tests.

    `may_be_tested` tells of a path whether some test may come by it, as far as a trace or the imports tell.
    """

    name = "untested"

    def __init__(self, may_be_tested: Callable[[str], bool]) -> None:
        self._may_be_tested = may_be_tested

    def reads(self, path: str) -> bool:
        return path.endswith(".py") and not is_test_path(path)

    def compare(self, delta: Delta, paths: Sequence[str]) -> Detection:
        unread = {path: "it does not parse" for path in paths if self.reads(path) and not _parses(path, delta)}
        findings: list[RawFinding] = []
        tests_changed = any(is_test_path(path) for path in delta.touched)
        for path in paths:
            if tests_changed or not self.reads(path) or path in unread or not delta.added.get(path):
                continue
            try:
                found = _finding(path, delta)
            except RecursionError:
                unread[path] = "it is nested too deeply"
                continue
            findings += [found] if found is not None and not self._may_be_tested(path) else []
        return Detection(findings=tuple(findings), unread=unread)


def _parses(path: str, delta: Delta) -> bool:
    return parsed(delta.head.sources[path]) is not None


def _finding(path: str, delta: Delta) -> RawFinding | None:
    """The first function of a file that does something else now, on its first changed line; None where that is not known."""
    if path not in delta.base or parsed(delta.base[path]) is None:
        return None
    old = list(behaviours(delta.base[path]))
    before, known = {each for _, each in old}, {node.name for node, _ in old}
    after = [(node, does) for node, does in behaviours(delta.head.sources[path]) if does not in before]
    for node, _ in after:
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        line = next((line for line in lines if line in delta.added[path]), None)
        if line is not None:
            return RawFinding(
                path=path,
                line=line,
                end_line=line,
                column=1,
                tool=Untested.name,
                rule=MISSING_TEST,
                category=Category.MAINTAINABILITY,
                severity=Severity.INFO,
                message=f"missing-test: `{node.name}` {'does something else now' if node.name in known else 'is new'}; "
                "no test changed, and none reaches this file.",
            )
    return None


def behaviours(text: str) -> Iterator[tuple[Function, str]]:
    """What every function of a file does: its statements without comments, docstrings, type hints and the names of locals."""
    tree = parsed(text)
    for _, function in functions(tree) if tree else ():
        yield function, ast.dump(_Bare().visit(copy.deepcopy(function)))


class _Bare(ast.NodeTransformer):
    """Takes out what changes nothing when the function runs; locals are named by the order of their first use."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: Function) -> ast.AST:
        node.name, node.returns = "", None
        self._names |= {name: f"_{number}" for number, name in enumerate(_locals(node), len(self._names))}
        node.body = [each for each in node.body if not _is_docstring(each)] or [ast.Pass()]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.Pass()
        return self.generic_visit(ast.Assign(targets=[node.target], value=node.value, lineno=node.lineno))


def _locals(function: Function) -> list[str]:
    """The names that a function assigns, in the order in which its tree is walked, whatever they are called."""
    stored = (node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return list(dict.fromkeys(stored))


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
