"""What a failing test looked at when it failed: a backward slice of its last statement (Weiser 1981)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from memory.model import Failure
from workers.repair.classify import is_test_path
from workers.repair.engines.search.outline import Outline, last_line
from workers.repair.engines.search.scope import BINDING, FunctionNode, own_nodes, stored_names


def names_read(failure: Failure, sources: Mapping[str, str]) -> set[str]:
    """The names and attributes whose values the statement read that failed, where it is one of the test's own.

    Through its variables also those of the statements that bound them. Empty where the code under test raised.
    """
    if not failure.frames or not is_test_path(failure.frames[-1].path):
        return set()
    words: set[str] = set()
    for frame in failure.frames:
        outline = Outline(sources.get(frame.path, ""))
        for function in outline.functions_at(frame.line)[:1]:
            words |= _slice(function, frame.line)
    return words


def _slice(function: FunctionNode, line: int) -> set[str]:
    statements = [node for node in own_nodes(function) if isinstance(node, ast.stmt)]
    at = [node for node in statements if node.lineno <= line <= last_line(node)]
    if not at:
        return set()
    words = _read(_looked_at(max(at, key=lambda node: node.lineno)))
    earlier = [node for node in statements if isinstance(node, BINDING) and node.lineno < line]
    for node in sorted(earlier, key=lambda node: -node.lineno):
        if stored_names(node) & words:
            words |= _read(_looked_at(node))
    return words


def _looked_at(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement; of a compound one, of its header, but for `with`, in which a wait for an error fails."""
    body = () if isinstance(statement, ast.With) else getattr(statement, "body", ())
    inside = {id(node) for each in body for node in ast.walk(each)}
    return (node for node in ast.walk(statement) if id(node) not in inside)


def _read(nodes: Iterator[ast.AST]) -> set[str]:
    loaded = [node for node in nodes if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)]
    return {node.id if isinstance(node, ast.Name) else node.attr for node in loaded}
