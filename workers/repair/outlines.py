"""Where functions, statements and constants lie in the sources, for the search for what is at fault."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from workers.repair.scope import own_nodes


def body_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The first line of a function's body."""
    return max(function.lineno + 1, function.body[0].lineno)


def defined(node: ast.stmt) -> tuple[str, ...]:
    """The names that a statement of a module or class defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Assign(targets=targets):
            return tuple(t.id for t in targets if isinstance(t, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            return (name,)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return tuple(alias.asname or alias.name for alias in names)
    return ()


def parsed(source: str) -> ast.Module | None:
    """A source's syntax tree; None if it has none."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


class Outlines:
    """Syntax trees of the sources, read when first asked for."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._trees: dict[str, ast.Module | None] = {}
        self._functions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        self._statements: dict[str, dict[int, range]] = {}
        self._definitions: dict[tuple[str, int], tuple[int, ...]] = {}

    def tree(self, path: str) -> ast.Module | None:
        """A source's syntax tree; None if it has none."""
        if path not in self._trees:
            self._trees[path] = parsed(self._sources.get(path, "")) if path in self._sources else None
        return self._trees[path]

    def functions(self, path: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function of a source, however deep."""
        if path not in self._functions:
            tree = self.tree(path)
            nodes = ast.walk(tree) if tree else ()
            self._functions[path] = [n for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        return self._functions[path]

    def classes(self, name: str) -> Iterator[tuple[str, ast.ClassDef]]:
        """The classes of a name, with their sources' paths."""
        for path in [path for path, text in self._sources.items() if f"class {name}" in text]:
            tree = self.tree(path)
            nodes = ast.walk(tree) if tree else ()
            yield from ((path, node) for node in nodes if isinstance(node, ast.ClassDef) and node.name == name)

    def functions_at(self, path: str, line: int) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The functions around a line."""
        return [f for f in self.functions(path) if f.body[0].lineno <= line <= (f.end_lineno or f.lineno)]

    def function_lines(self, path: str, line: int) -> range:
        """The body of the innermost function around a line."""
        around = max(self.functions_at(path, line), key=lambda f: f.lineno, default=None)
        return range(body_line(around), (around.end_lineno or around.lineno) + 1) if around else range(0)

    def loop_headers(self, path: str, line: int) -> list[int]:
        """The lines of the `while` statements around a line, within its function."""
        around = max(self.functions_at(path, line), key=lambda f: f.lineno, default=None)
        loops = [node for node in ast.walk(around) if isinstance(node, ast.While)] if around else []
        return [loop.lineno for loop in loops if loop.lineno <= line <= (loop.end_lineno or loop.lineno)]

    def named_lines(self) -> Iterator[tuple[str, tuple[str, int]]]:
        """Every function's name with each line of its body; a class's name stands for its `__init__`."""
        for path in self._sources:
            for function in self.functions(path):
                for line in range(function.body[0].lineno, (function.end_lineno or function.lineno) + 1):
                    yield function.name, (path, line)

    def statement_lines(self, path: str, line: int) -> range:
        """The lines of the innermost statement around; of a compound one, its header's."""
        if path not in self._statements:
            self._statements[path] = _statement_map(self.tree(path))
        return self._statements[path].get(line, range(line, line + 1))

    def definitions(self, path: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, ...]:
        """Lines outside the function that assign names or attributes which it reads."""
        key = (path, function.lineno)
        if key not in self._definitions:
            nodes = list(own_nodes(function))
            names = {n.id for n in nodes if isinstance(n, ast.Name)} | {
                n.attr for n in nodes if isinstance(n, ast.Attribute)
            }
            self._definitions[key] = tuple(line for name, line in self._constants(path) if name in names)
        return self._definitions[key]

    def _constants(self, path: str) -> Iterator[tuple[str, int]]:
        tree = self.tree(path)
        blocks: list[list[ast.stmt]] = [tree.body] if tree else []
        while blocks:
            for node in blocks.pop(0):
                if isinstance(node, ast.ClassDef):
                    blocks.append(node.body)
                elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                    yield from ((name, node.lineno) for name in defined(node))


def _statement_map(tree: ast.Module | None) -> dict[int, range]:
    lines: dict[int, range] = {}
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            body = getattr(node, "body", None)
            last = node.end_lineno or node.lineno
            header = last if not body else max(node.lineno, min(body[0].lineno - 1, last))
            # Parents come before their children here, so the innermost statement has the last word.
            lines.update(dict.fromkeys(range(node.lineno, header + 1), range(node.lineno, header + 1)))
    return lines
