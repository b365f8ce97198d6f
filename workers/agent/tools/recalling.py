"""The tools that need no checkout: what memory has, and the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from workers.agent.errors import End, Over
from workers.agent.tools.tool import Tool, tool
from workers.llm.untrusted import data

Recall = Callable[[str], str]
"""What is remembered of failures like the one described, in words."""


class Query(Struct, forbid_unknown_fields=True):
    """Recall earlier failures of this repository like the one you describe, with what was tried and what came of it."""

    like: Annotated[str, Meta(min_length=1, max_length=500)]


class Finish(Struct, forbid_unknown_fields=True):
    """Say that you are done: what was wrong, with `path:line`, and how it is repaired; or what you found out instead."""

    summary: Annotated[str, Meta(min_length=1, max_length=2000)]


def recalling(recall: Recall) -> Tool:
    """The tool that asks memory."""
    return tool("recall", Query, lambda asked: data("memory", recall(asked.like), code=True))


def finishing() -> Tool:
    """The tool that ends a run."""
    return tool("finish", Finish, _finish)


def _finish(asked: Finish) -> str:
    raise Over(End.FINISHED, asked.summary)
