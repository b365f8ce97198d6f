"""SEM004 not-closed: a path that a change added leaves a resource open that the other paths close. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from workers.review.detectors.detector import RawFinding
from workers.review.detectors.semantic.edited import Edited, blocks, functions, last_name, within

RULE = "SEM004"
_OPENERS = frozenset({"open", "socket", "create_connection", "urlopen", "popen", "mkstemp", "connect"})
_CLOSERS = frozenset({"close", "release", "shutdown", "unlock", "__exit__", "terminate", "disconnect"})


def unclosed_resources(edited: Edited) -> Iterator[RawFinding]:
    """Returns and raises on changed lines between the opening of a resource and its closing in the same block."""
    for _, function in functions(edited.after):
        for block in blocks(function):
            for at, statement in enumerate(block):
                name = _opened(statement)
                closed = next((n for n in range(at + 1, len(block)) if _closes(block[n], name)), 0) if name else 0
                for exit_ in _exits(block[at + 1 : closed], name):
                    if (
                        edited.is_added(exit_)
                        and not _mentions(exit_, name)
                        and not _is_handed_on(block, at, exit_, name)
                    ):
                        yield edited.finding(
                            RULE,
                            exit_,
                            f"not-closed: `{name}` was opened on line {statement.lineno} and is closed on line "
                            f"{block[closed].lineno}, which this {_word(exit_)} leaves out.",
                        )


def _opened(statement: ast.stmt) -> str:
    """The name of what a statement opens or acquires; empty when it does neither."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
        if isinstance(target, ast.Name) and isinstance(value, ast.Call) and last_name(value) in _OPENERS:
            return target.id
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        func = statement.value.func
        if isinstance(func, ast.Attribute) and func.attr == "acquire":
            return ast.unparse(func.value)
    return ""


def _closes(statement: ast.stmt, name: str) -> bool:
    """Whether a statement of the same block is the closing itself."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    func = call.func if isinstance(call, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr in _CLOSERS and ast.unparse(func.value) == name


def _exits(statements: Sequence[ast.stmt], name: str) -> Iterator[ast.Return | ast.Raise]:
    """Where control leaves the function, outside of any `try` and `with`, whose ends we do not follow.

    Where a condition asks for the resource itself, it may not be open.
    """
    for statement in statements:
        if isinstance(statement, ast.Return | ast.Raise):
            yield statement
        elif isinstance(statement, ast.If | ast.While) and _mentions(statement.test, name):
            continue
        elif isinstance(statement, ast.If | ast.For | ast.While):
            yield from _exits(statement.body, name)
            yield from _exits(statement.orelse, name)


def _is_handed_on(block: Sequence[ast.stmt], at: int, exit_: ast.stmt, name: str) -> bool:
    """Whether, before this exit, the resource is closed, returned, kept or given to somebody who may close it."""
    for statement in block[at + 1 :]:
        for node in (statement, *within(statement)):
            before = getattr(node, "lineno", exit_.lineno + 1) <= exit_.lineno
            if before and isinstance(node, ast.Call) and _gives(node, name):
                return True
            if (
                before
                and isinstance(node, ast.Assign)
                and _mentions(node.value, name)
                and not isinstance(node.value, ast.Call)
            ):
                return True
    return False


def _gives(call: ast.Call, name: str) -> bool:
    given = any(_mentions(each, name) for each in (*call.args, *(keyword.value for keyword in call.keywords)))
    closing = (
        isinstance(call.func, ast.Attribute) and call.func.attr in _CLOSERS and ast.unparse(call.func.value) == name
    )
    return given or closing


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name | ast.Attribute) and ast.unparse(each) == name for each in ast.walk(node))


def _word(exit_: ast.stmt) -> str:
    return "return" if isinstance(exit_, ast.Return) else "raise"
