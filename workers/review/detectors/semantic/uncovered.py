"""SEM006 uncovered-change: no test of the traced run came by the lines that a change gave a function. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from memory.model import Severity
from workers.review.detectors.detector import RawFinding
from workers.review.detectors.semantic.edited import Edited, functions, last_line_of, line_of, within

RULE = "SEM006"


def uncovered_changes(edited: Edited, ran: frozenset[int]) -> Iterator[RawFinding]:
    """Functions none of whose changed statements ran; `ran` are the lines of the file that did, empty for no trace."""
    for name, function in functions(edited.after) if ran else ():
        changed = [node for node in within(function) if _acts(node) and line_of(node) in edited.added]
        if changed and all(ran.isdisjoint(range(line_of(node), last_line_of(node) + 1)) for node in changed):
            first = min(changed, key=line_of)
            message = f"uncovered-change: no test came by the changed lines of `{name}`."
            yield edited.finding(RULE, first, message, severity=Severity.MINOR)


def _acts(node: ast.AST) -> bool:
    """Whether a node is a statement that does something when it is come by; a docstring does not."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return False
    return isinstance(node, ast.stmt) and not isinstance(node, ast.Pass | ast.Global | ast.Nonlocal)
