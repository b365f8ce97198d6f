"""Files of an untrusted checkout, read within limits, and the scopes in their Python."""

import ast
import os
import stat
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memory.parsing import parsed
from workers.errors import ApprenticeError

MAX_BYTES = 1_000_000
MAX_FILES, MAX_TREE_CHARACTERS = 2_000, 10_000_000
"""Of a larger tree the imports are not followed; its whole suite speaks for a suggestion."""

_LOOKED_AT = 8_000
"""Among how many bytes git looks for a zero."""


class Unread(ApprenticeError):
    """This file is not read; the text says why, to follow its name."""


def read_text(root: Path, path: str) -> str:
    """The text of a regular file inside `root`; raises Unread."""
    file = _regular(root, path)
    size = file.lstat().st_size
    if size > MAX_BYTES:
        raise Unread(f"too large: {size / 1e6:.1f} MB, over {MAX_BYTES // 1_000_000} MB")
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unread("not UTF-8") from error


def _regular(root: Path, path: str) -> Path:
    base = root.resolve()
    file = base / path
    try:
        inside = file.resolve() == file and file.is_relative_to(base)
        mode = file.lstat().st_mode
    except (OSError, RuntimeError) as error:  # the second for links in a circle
        raise Unread("not in the tree") from error
    if not inside or not stat.S_ISREG(mode):
        raise Unread("not a regular file inside the repository")
    return file


def is_binary(root: Path, path: str) -> bool:
    """Whether a regular file inside `root` begins as git takes for no text; raises Unread."""
    with _regular(root, path).open("rb") as file:
        return b"\0" in file.read(_LOOKED_AT)


def is_unicode(path: str) -> bool:
    """Whether the bytes of a name in git were UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in path)


def python_sources(root: Path) -> dict[str, str]:
    """Every readable Python file by its path; nothing when there are more than `MAX_FILES` or they are too long.

    A path that is not UTF-8 is left out: it can be neither shown nor stored.
    """
    sources: dict[str, str] = {}
    room = MAX_TREE_CHARACTERS
    for path in _python_paths(root):
        with suppress(Unread):  # the imports of an unreadable file are unknown
            sources[path] = read_text(root, path)
        room -= len(sources.get(path, ""))
        if len(sources) > MAX_FILES or room < 0:
            return {}
    return sources


def _python_paths(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in ("node_modules", "venv")]
        for name in files:
            path = Path(folder, name).relative_to(root).as_posix()
            if name.endswith(".py") and is_unicode(path):
                yield path


STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
"""The nodes that hold statements; functions and classes are never inside of anything else."""


LONGEST_NAME = 300
"""Characters: a class gives its name to all that it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeScope:
    """A function or class by its dotted qualified name; `line` is that of its `def`, `first_line` that of its first decorator."""

    name: str
    first_line: int
    line: int
    end_line: int
    is_function: bool


def scopes(text: str) -> tuple[CodeScope, ...]:
    """Every function and class as they are written, outer before inner; none when the source cannot be parsed."""
    found, tree = list[CodeScope](), parsed(text)
    waiting: list[tuple[ast.AST, str]] = [(tree, "")] if tree else []
    while waiting:  # valid code may be nested more deeply than Python calls functions
        node, prefix = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = (f"{prefix}.{node.name}" if prefix else node.name)[-LONGEST_NAME:]
            scope = CodeScope(
                name=name,
                first_line=min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]),
                line=node.lineno,
                end_line=node.end_lineno or node.lineno,
                is_function=not isinstance(node, ast.ClassDef),
            )
            found.append(scope)
            prefix = name
        inner = [(child, prefix) for child in ast.iter_child_nodes(node) if isinstance(child, STATEMENTS)]
        waiting += reversed(inner)
    return tuple(found)


def scope_at(known: Iterable[CodeScope]) -> Callable[[int], str]:
    """A function that gives the qualified name of the innermost scope around a line, empty at module level."""
    lines, names, around = [0], [""], list[tuple[int, str]]()
    ordered = [(each.first_line, -each.end_line, each.name) for each in known]
    for first, end, name in (*sorted(ordered), (sys.maxsize, 0, "")):
        while around and around[-1][0] < first:
            lines.append(around.pop()[0] + 1)
            names.append(around[-1][1] if around else "")
        around.append((-end, name))
        lines.append(first)
        names.append(name)
    return lambda line: names[bisect_right(lines, line) - 1]
