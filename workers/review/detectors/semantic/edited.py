"""A Python file before and after a change, as syntax trees, and what the rules ask of them. Pure."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory.model import Severity
from workers.review.detectors.detector import Category, RawFinding
from workers.review.source import STATEMENTS

TOOL = "semantic"
Function = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """One file: `before` is None where there was none or it cannot be read; `added` are the changed lines of `after`,
    `commented` those that hold a comment."""

    path: str
    before: ast.Module | None
    after: ast.Module
    added: frozenset[int]
    commented: frozenset[int] = frozenset()

    def is_added(self, node: ast.AST) -> bool:
        """Whether the change added or rewrote a line of the node."""
        return not self.added.isdisjoint(range(line_of(node), last_line_of(node) + 1))

    def is_explained(self, node: ast.AST) -> bool:
        """Whether somebody wrote a comment into the node, or on the line above it: then it is meant."""
        return not self.commented.isdisjoint(range(line_of(node) - 1, last_line_of(node) + 1))

    def finding(self, rule: str, node: ast.AST, message: str, *, severity: Severity = Severity.MAJOR) -> RawFinding:
        """A finding on the first changed line of the node."""
        changed = (line for line in range(line_of(node), last_line_of(node) + 1) if line in self.added)
        line = next(changed, line_of(node))
        return RawFinding(
            path=self.path,
            line=line,
            end_line=line,
            column=1,
            tool=TOOL,
            rule=rule,
            category=Category.CORRECTNESS,
            severity=severity,
            message=message,
        )


def line_of(node: ast.AST) -> int:
    """The first line of a node, 0 for one that has no place."""
    return int(getattr(node, "lineno", 0))


def last_line_of(node: ast.AST) -> int:
    """The last line of a node."""
    return int(getattr(node, "end_lineno", None) or line_of(node))


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function by its dotted qualified name, outer before inner."""
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, STATEMENTS):
            continue
        name = prefix
        if isinstance(child, Function | ast.ClassDef):
            name = f"{prefix}.{child.name}" if prefix else child.name
        if isinstance(child, Function):
            yield name, child
        yield from functions(child, name)


def within(root: ast.AST) -> Iterator[ast.AST]:
    """The nodes below that run as a part of it: not those of functions, classes and lambdas inside."""
    waiting = list(ast.iter_child_nodes(root))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, SCOPES):
            waiting += ast.iter_child_nodes(node)


def blocks(root: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    """Every list of statements below, however deep."""
    waiting = deque([root])
    while waiting:
        node = waiting.popleft()
        waiting += (child for child in ast.iter_child_nodes(node) if isinstance(child, STATEMENTS))
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def last_name(node: ast.AST) -> str:
    """The last part of a name, attribute or call's target; empty for anything else."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def is_plain(node: ast.AST) -> bool:
    """Whether reading it twice gives the same, as far as syntax tells: names, attributes, constants, and subscripts of them."""
    plain = (
        ast.Name,
        ast.Attribute,
        ast.Constant,
        ast.Subscript,
        ast.expr_context,
        ast.UnaryOp,
        ast.unaryop,
        ast.Tuple,
    )
    return all(isinstance(each, plain) for each in ast.walk(node))


def same(one: ast.AST, other: ast.AST) -> bool:
    """Whether two nodes read the same."""
    return ast.dump(one) == ast.dump(other)
