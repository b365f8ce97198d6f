"""Expressions that stand elsewhere in the function are put where they belong."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "variable_for_expression",
        """
        def total(rows, seen):
            count = len(rows)
            return seen[count] + count
        """,
        """
        def total(rows, seen):
            count = len(rows)
            return count + count
        """,
        {},
    ),
    (
        "reused_target",
        """
        def relax(edges, best):
            for i, j in edges:
                edges[i, j] = min(best[j], best[i] + 1)
        """,
        """
        def relax(edges, best):
            for i, j in edges:
                best[j] = min(best[j], best[i] + 1)
        """,
        {},
    ),
    (
        "reused_expression",
        """
        def share(part: int, rows: list[int]):
            whole = sum(rows) / len(rows)
            return part / whole
        """,
        """
        def share(part: int, rows: list[int]):
            whole = sum(rows) / len(rows)
            return part / len(rows)
        """,
        {},
    ),
    (
        "reused_expression",
        """
        def turned(c, by):
            return chr((ord(c) - ord("a") + by) % 26 + ord(c))
        """,
        """
        def turned(c, by):
            return chr((ord(c) - ord("a") + by) % 26 + ord("a"))
        """,
        {},
    ),
    (
        "called_on_other",
        """
        def ones(n: int, rows: list[int]):
            return rows.count("1")
        """,
        """
        def ones(n: int, rows: list[int]):
            return bin(n).count("1")
        """,
        {},
    ),
    (
        "element_for_aggregate",
        """
        def total(rows):
            return rows[-1]
        """,
        """
        def total(rows):
            return sum(rows)
        """,
        {},
    ),
    (
        "whole_for_element",
        """
        def changes(rows: list[int]):
            n = 0
            for i in range(len(rows) // 2):
                if n != rows[-i - 1]:
                    n += 1
            return n
        """,
        """
        def changes(rows: list[int]):
            n = 0
            for i in range(len(rows) // 2):
                if rows[i] != rows[-i - 1]:
                    n += 1
            return n
        """,
        {},
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "failure"), CASES, ids=[case[0] for case in CASES])
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, failure: dict[str, str]
) -> None:
    """A small bug of its kind is undone by one of the template's edits, to the letter."""
    assert dedent(after).lstrip("\n") in edits(template, before, **failure)
