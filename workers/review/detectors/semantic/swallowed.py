"""SEM005 swallowed-exception: a handler that a change made broad, or silent, answers with a constant. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from workers.review.detectors.detector import RawFinding
from workers.review.detectors.semantic.edited import Edited, Function, functions, last_name, within

RULE = "SEM005"
_TELLS = re.compile(
    r"log|warn|error|exception|print|report|notify|fail|debug|info|capture|emit|write|abort", re.IGNORECASE
)
_ENDS_OR_ASKS = re.compile(
    r"^_*(is|has|can|should|supports?|check|try|safe|close|stop|shutdown|cleanup|del|exit|repr|str)(_|$)"
)
"""Functions that end something, or answer yes or no: there a constant is the answer."""

_BROAD = frozenset({"Exception", "BaseException"})


def swallowed_exceptions(edited: Edited) -> Iterator[RawFinding]:
    """New handlers for everything, handlers widened to everything, and handlers that spoke before and no longer do."""
    before = dict(functions(edited.before)) if edited.before else {}
    for name, function in functions(edited.after):
        old = _tries(before[name]) if name in before else []
        for attempt in _tries(function):
            for handler in attempt.handlers:
                if edited.is_added(handler) and _is_silent(handler) and not edited.is_explained(handler):
                    asks = _ENDS_OR_ASKS.match(function.name) is not None
                    was = _counterpart(attempt, handler, old)
                    moved = was is not None and _raises(was) > 0 and _raises(function) >= _raises(before[name])
                    yield from () if moved else _judged(edited, handler, was, asks=asks)


def _judged(
    edited: Edited, handler: ast.ExceptHandler, was: ast.ExceptHandler | None, *, asks: bool
) -> Iterator[RawFinding]:
    broad = caught(handler) & _BROAD or (frozenset({"everything"}) if handler.type is None else frozenset())
    message = ""
    if was is not None and _tells(was):
        told = "raised" if _raises_always(was) else "told of"
        message = f"this handler {told} what it caught before, and now passes over it."
    elif was is not None and was.type is not None and broad and not caught(was) & _BROAD:
        names = ", ".join(f"`{name}`" for name in sorted(caught(was)))
        message = f"this caught {names} and now passes over {_said(broad)}, errors in the code included."
    elif was is None and broad and not _only_passes(handler) and not asks:
        message = f"{_said(broad)} ends in a constant here, and nothing tells that it happened."
    if message:
        yield edited.finding(RULE, handler, f"swallowed-exception: {message}")


def _tells(handler: ast.ExceptHandler) -> bool:
    """Whether the handler raises, or calls what tells somebody, whatever else holds."""
    calls = (each.value for each in handler.body if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call))
    return _raises_always(handler) or any(_TELLS.search(last_name(call)) for call in calls)


def _raises_always(handler: ast.ExceptHandler) -> bool:
    return any(isinstance(each, ast.Raise) for each in handler.body)


def _raises(root: ast.AST) -> int:
    return sum(isinstance(node, ast.Raise) for node in ast.walk(root))


def _said(broad: frozenset[str]) -> str:
    name = min(broad)
    return name if name == "everything" else f"`{name}`"


def _tries(function: Function) -> list[ast.Try]:
    return [node for node in within(function) if isinstance(node, ast.Try)]


def caught(handler: ast.ExceptHandler) -> frozenset[str]:
    """The last names of the exceptions that a handler names."""
    found = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type] if handler.type else []
    return frozenset(ast.unparse(each).rpartition(".")[2] for each in found)


def _counterpart(attempt: ast.Try, handler: ast.ExceptHandler, old: list[ast.Try]) -> ast.ExceptHandler | None:
    """The handler that this one was before the change: of the attempt that begins alike, at the same place."""
    at = attempt.handlers.index(handler)
    for other in old:
        alike = ast.dump(other.body[0]) == ast.dump(attempt.body[0])
        if alike and len(other.handlers) == len(attempt.handlers):
            return other.handlers[at]
    return None


def _is_silent(handler: ast.ExceptHandler) -> bool:
    """Whether the handler does nothing but leave, with a constant at most, and does not tell what it caught."""
    return all(_leaves(statement) for statement in handler.body)


def _leaves(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass | ast.Continue | ast.Break):
        return True
    if isinstance(statement, ast.Return):
        return statement.value is None or _is_constant(statement.value)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_constant(node: ast.expr) -> bool:
    parts = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
    return isinstance(node, ast.Constant) or (isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict) and not parts)


def _only_passes(handler: ast.ExceptHandler) -> bool:
    """What ruff's S110 and S112 say already."""
    return len(handler.body) == 1 and isinstance(handler.body[0], ast.Pass | ast.Continue)
