"""Tools that read: a file with its line numbers, and searches whose results cite path and line."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from itertools import islice
from typing import Annotated

from msgspec import Meta, Struct

from workers.agent.checkout import Checkout, ToolFailed
from workers.agent.tools.tool import Tool, tool
from workers.errors import CannotRun, Retryable
from workers.llm.untrusted import data

MOST_LINES, USUAL_LINES, MOST_HITS, MOST_COMMITS = 400, 200, 60, 20

Text = Annotated[str, Meta(min_length=1, max_length=200)]

History = Callable[[str, int], Sequence[str]]
"""The commits that touched a path, or that added or removed a text, newest first and at most so many, one line each."""


class ReadCall(Struct, forbid_unknown_fields=True):
    """Read lines of a file, with their numbers. `end` 0: two hundred lines from `start` on."""

    path: Text
    start: Annotated[int, Meta(ge=1)] = 1
    end: Annotated[int, Meta(ge=0)] = 0


class SearchCall(Struct, forbid_unknown_fields=True):
    """Find a text in the files: lines with path and number. `paths` is a glob such as src/*.py."""

    text: Text
    paths: Text = "*"


class SymbolCall(Struct, forbid_unknown_fields=True):
    """Find where a function, method, class or variable is defined, and where it is used."""

    name: Text


class HistoryCall(Struct, forbid_unknown_fields=True):
    """List the commits that touched a path, or that added or removed a piece of code."""

    about: Text


def reading(checkout: Checkout, history: History | None = None) -> list[Tool]:
    """The reading tools of one checkout; `history` where its past is known."""
    found = [
        tool("read", ReadCall, lambda asked: _read(checkout, asked)),
        tool("search", SearchCall, lambda asked: _search(checkout, asked)),
        tool("symbol", SymbolCall, lambda asked: _symbol(checkout, asked.name)),
    ]
    if history is not None:
        found.append(tool("history", HistoryCall, lambda asked: _past(history, asked.about)))
    return found


def numbered(path: str, text: str, start: int, end: int) -> str:
    """Lines `start` to `end` of a file as data that cites them."""
    lines = text.split("\n")[start - 1 : end]
    shown = "\n".join(f"{number:>4}  {line}" for number, line in enumerate(lines, start=start))
    return data(f"{path}:{start}-{start + len(lines) - 1}", shown, code=True)


def _read(checkout: Checkout, asked: ReadCall) -> str:
    text = checkout.read(asked.path)
    total = text.count("\n") + (not text.endswith("\n"))
    if asked.start > max(total, 1):
        raise ToolFailed(f"{asked.path} has {total} lines")
    end = min(asked.end or asked.start + USUAL_LINES - 1, asked.start + MOST_LINES - 1, total)
    rest = f"\n({total - end} more lines)" if end < total else ""
    return numbered(asked.path, text, asked.start, end) + rest


def _past(history: History, about: str) -> str:
    if "\0" in about:
        raise ToolFailed("no path and no code holds a NUL")
    try:
        return _listed(history(about, MOST_COMMITS), "history")
    except (CannotRun, Retryable) as error:  # it is a help, not a need
        raise ToolFailed(str(error)) from error


def _search(checkout: Checkout, asked: SearchCall) -> str:
    paths = (path for path in checkout.paths if fnmatch(path, asked.paths))
    return _listed(list(islice(_hits(checkout, paths, asked.text), MOST_HITS + 1)), "search")


def _symbol(checkout: Checkout, name: str) -> str:
    bare = name.rpartition(".")[2]
    word = re.compile(rf"\b{re.escape(bare)}\b")
    python = [path for path in checkout.paths if path.endswith(".py")]
    texts = {path: text for path in python if word.search(text := _text(checkout, path))}
    defined = [hit for path, text in texts.items() for hit in _definitions(path, text, bare)]
    used = _matching(texts, lambda line: word.search(line) is not None)
    uses = [hit for hit in islice(used, MOST_HITS) if hit not in defined]
    return f"defined:\n{_listed(defined, 'symbol')}\nused:\n{_listed(uses, 'symbol')}"


def _definitions(path: str, text: str, name: str) -> Iterator[str]:
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # what does not parse defines nothing
        lines = text.split("\n")
        for node in ast.walk(
            ast.parse(text.replace("\r", " "))
        ):  # alone it ends a line for Python, and for no other reader
            if name in _names(node):
                yield _hit(path, node.lineno, lines[node.lineno - 1])  # type: ignore[attr-defined]  # all of these have lines


def _names(node: ast.AST) -> list[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign():
            return [target.id for target in node.targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=found)):
            return [found]
        case _:
            return []


def _hits(checkout: Checkout, paths: Iterator[str], text: str) -> Iterator[str]:
    for path in paths:
        content = _text(checkout, path)
        if text in content:
            yield from _matching({path: content}, lambda line: text in line)


def _matching(texts: dict[str, str], wanted: Callable[[str], bool]) -> Iterator[str]:
    for path, text in texts.items():
        yield from (_hit(path, number, line) for number, line in enumerate(text.split("\n"), start=1) if wanted(line))


def _hit(path: str, line: int, text: str) -> str:
    return f"{path}:{line}: {text.strip()}"


def _text(checkout: Checkout, path: str) -> str:
    """A file's text; one that cannot be read has none."""
    try:
        return checkout.read(path)
    except ToolFailed:
        return ""


def _listed(hits: Sequence[str], source: str) -> str:
    if not hits:
        return "nothing found"
    more = f"\n(more than {MOST_HITS}: narrow it down)" if len(hits) > MOST_HITS else ""
    return data(source, "\n".join(hits[:MOST_HITS]), code=True) + more
