"""Loaded source files, and the quickest way to tell what an edit of one means for the functions in memory."""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import operator
import symtable
from importlib.util import cache_from_source
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from .codeswap import Loaded, Swap, Unswappable, plan, plan_part

FUTURES = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
"""The flags that __future__ imports leave in a module's co_flags, in this version of Python."""


FIRST = 2
"""The first line is wanted for imports, the second for the header of a method's class."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Segment(NamedTuple):
    """Lines `first`..`last` (from 1) of a top-level function or class, or of a method of `owner`, decorators included."""

    first: int
    last: int
    owner: str


class Source:
    """One file that is in memory. Most edits lie within one top-level definition; then only that one is compiled."""

    def __init__(self, path: str, text: str, loaded: Loaded) -> None:
        self._path = path
        self._loaded = loaded
        self._code = compile(text.encode(), path, "exec", dont_inherit=True)
        self._lines = text.split("\n")
        self._segments = _segments(text)
        self._imports = _imports(text, path)
        self._unedited: dict[Segment, CodeType] = {}
        if self._code not in loaded.ran:
            self._segments = []

    def swaps(self, edited: str) -> list[Swap]:
        """What turns the functions in memory into those of the edited text; raises Unswappable."""
        lines = edited.split("\n")
        longer = len(lines) - len(self._lines)
        segment = self._around(lines)
        try:
            if segment is None:
                new = compile(edited.encode(), self._path, "exec", dont_inherit=True)
                return plan(self._code, new, self._loaded)
            if segment not in self._unedited:
                self._unedited[segment] = self._compiled(segment, self._lines[segment.first - 1 : segment.last])
            new = self._compiled(segment, lines[segment.first - 1 : segment.last + longer])
        except (SyntaxError, ValueError) as error:
            raise Unswappable(str(error)) from error
        return plan_part(self._unedited[segment], new, self._loaded, segment.owner)

    def _around(self, lines: list[str]) -> Segment | None:
        """The smallest definition that holds every changed line."""
        head = _common_start(self._lines, lines)
        tail = min(_common_start(self._lines[::-1], lines[::-1]), min(len(lines), len(self._lines)) - head)
        first, last = head + 1, len(self._lines) - tail
        return next((s for s in self._segments if s.first <= first and last <= s.last and first <= s.last), None)

    def _compiled(self, segment: Segment, lines: list[str]) -> CodeType:
        """A part of the module as if it stood alone, on its own lines; the compiler asks which names are imported."""
        above = f"\nclass {segment.owner}:\n" if segment.owner else "\n\n"
        text = self._imports + "\n" * (segment.first - 3) + above + "\n".join(lines) + "\n"
        flags = self._code.co_flags & FUTURES & ~inspect.CO_NESTED
        code: CodeType = compile(text, self._path, "exec", flags=flags, dont_inherit=True)
        return code


def put(path: Path, content: bytes) -> None:
    """Write the file and drop its byte code: two edits of one size within a second look the same to the import system."""
    path.write_bytes(content)
    try:
        Path(cache_from_source(str(path))).unlink()
    except FileNotFoundError:
        return


def _segments(text: str) -> list[Segment]:
    """The top-level definitions; none where lines are not what they seem, as a lone carriage return ends one too."""
    if "\r" in text.replace("\r\n", "") or text.startswith("\ufeff"):
        return []
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and not getattr(node, "type_params", ()):
            found += [_segment(method, node.name) for method in node.body if isinstance(method, _FUNCTIONS)]
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            found.append(_segment(node, ""))
    return [segment for segment in found if segment.first > FIRST]


def _segment(node: Any, owner: str) -> Segment:  # noqa: ANN401 - three kinds of nodes, joined with | from 3.10 on
    lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
    return Segment(min(lines), node.end_lineno or node.lineno, owner)


def _imports(text: str, path: str) -> str:
    """A statement, to stand before the first line feed, that imports every name which the module imports."""
    top = symtable.symtable(text, path, "exec")
    names = sorted(symbol.get_name() for symbol in top.get_symbols() if symbol.is_imported())
    return f"import {', '.join(names)}" if names else ""


def _common_start(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(one, other):  # noqa: B905 - strict= came with 3.10; the shorter one ends it
        if left != right:
            break
        count += 1
    return count
