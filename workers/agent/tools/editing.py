"""The tools that edit: an anchored replacement, checked before it counts, and a new test."""

from __future__ import annotations

import ast
from typing import Annotated

from msgspec import Meta, Struct

from workers.agent.checkout import Checkout, ToolFailed
from workers.agent.tools.reading import numbered
from workers.agent.tools.tool import Tool, tool
from workers.repair.classify import is_test_path

AROUND = 3
"""Lines shown on both sides of what was edited."""


class EditCall(Struct, forbid_unknown_fields=True):
    """Replace `old`, which must occur exactly once in the file, by `new`. An empty `old` makes a new file of `new`."""

    path: Annotated[str, Meta(min_length=1)]
    old: str
    new: str


class UndoCall(Struct, forbid_unknown_fields=True):
    """Take back every edit of the sources made so far."""


class AddTestCall(Struct, forbid_unknown_fields=True):
    """Add a new test file, such as tests/test_rounding.py, that shows what is wrong. Tests that exist stay as they are."""

    path: Annotated[str, Meta(min_length=1)]
    text: Annotated[str, Meta(min_length=1)]


def editing(checkout: Checkout, *, tests: bool = False) -> list[Tool]:
    """The editing tools of one checkout; with `tests`, also the one that adds a test."""
    found = [
        tool("edit", EditCall, lambda asked: edit(checkout, asked)),
        tool("undo", UndoCall, lambda _asked: _undo(checkout)),
    ]
    return [*found, tool("add_test", AddTestCall, lambda asked: _add_test(checkout, asked))] if tests else found


def edit(checkout: Checkout, asked: EditCall) -> str:
    """Make one replacement; raises ToolFailed where the anchor is not unique, or where the file would not parse."""
    if not asked.old:
        return _create(checkout, asked)
    before = checkout.read(asked.path)
    after = replaced(asked.path, before, asked.old, asked.new)
    if before == after:
        raise ToolFailed("`old` and `new` are the same")
    checkout.write(asked.path, after)
    first = before[: before.index(_ended_as(before, asked.old))].count("\n") + 1
    last = first + asked.new.count("\n")
    return f"edited {asked.path}:\n{numbered(asked.path, after, max(first - AROUND, 1), last + AROUND)}"


def replaced(path: str, before: str, old: str, new: str) -> str:
    """The text of a file with `old`, which occurs in it once, replaced by `new`, both with the file's own line ends.

    Raises ToolFailed where `old` is not unique, or where the file would not parse.
    """
    old, new = _ended_as(before, old), _ended_as(before, new)
    count = before.count(old)
    if count != 1:
        raise ToolFailed(f"`old` occurs {count} times in {path}; it must occur exactly once")
    after = before.replace(old, new)
    refuse_broken(path, before, after)
    return after


def _ended_as(before: str, text: str) -> str:
    """A text with the line ends of a file all of whose lines end alike: a model is shown, and writes, line feeds alone."""
    lines = text.replace("\r\n", "\n")
    return lines.replace("\n", "\r\n") if 0 < before.count("\n") == before.count("\r\n") else text


def refuse_broken(path: str, before: str, after: str) -> None:
    """Raise ToolFailed for Python that no longer parses, where it did before."""
    if path.endswith(".py") and (problem := _problem(after)) and not _problem(before):
        raise ToolFailed(f"{path} would not parse any more: {problem}; nothing was changed")


def _problem(text: str) -> str:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        return (getattr(error, "msg", "") or str(error) or "it is nested too deeply") + (
            f" at line {line}" if line else ""
        )
    return ""


def _create(checkout: Checkout, asked: EditCall) -> str:
    refuse_broken(asked.path, "", asked.new)
    checkout.create(asked.path, asked.new)
    return f"made {asked.path}"


def _undo(checkout: Checkout) -> str:
    paths = ", ".join(checkout.edits) or "nothing"
    checkout.restore()
    return f"taken back: {paths}"


def _add_test(checkout: Checkout, asked: AddTestCall) -> str:
    name = asked.path.rpartition("/")[2]
    if not (is_test_path(asked.path) and name.startswith("test_") and name.endswith(".py")):
        raise ToolFailed(f"{asked.path} is no test file: it must be called test_….py and lie where the tests do")
    refuse_broken(asked.path, "", asked.text)
    checkout.add_test(asked.path, asked.text)
    return f"added {asked.path}: run the tests to see it fail before you repair anything"
