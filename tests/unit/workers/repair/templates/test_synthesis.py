"""Conditions that are missing are made of what is in scope."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "conditioned_statement",
        """
        def common(a, b):
            found = []
            for x in a:
                for y in b:
                    found.append(x)
            return found
        """,
        """
        def common(a, b):
            found = []
            for x in a:
                for y in b:
                    if x == y:
                        found.append(x)
            return found
        """,
        {},
    ),
    (
        "synthesised_condition",
        """
        def price(n: int, kind: str):
            if kind == "bulk":
                return n
            return 2 * n
        """,
        """
        def price(n: int, kind: str):
            if kind == "bulk" and n > 0:
                return n
            return 2 * n
        """,
        {},
    ),
    (
        "synthesised_exit",
        """
        def first_over(rows: list[int], limit: int):
            found = -1
            for row in rows:
                found = row
            return found
        """,
        """
        def first_over(rows: list[int], limit: int):
            found = -1
            for row in rows:
                if row < limit:
                    continue
                found = row
            return found
        """,
        {},
    ),
    (
        "synthesised_exit",
        """
        def has_pair(rows: list[int]):
            last = None
            for row in rows:
                last = row
            return False
        """,
        """
        def has_pair(rows: list[int]):
            last = None
            for row in rows:
                if row == last:
                    return True
                last = row
            return False
        """,
        {},
    ),
    (
        "synthesised_filter",
        """
        def under(rows: list[int], limit: int):
            return [row for row in rows]
        """,
        """
        def under(rows: list[int], limit: int):
            return [row for row in rows if row < limit]
        """,
        {},
    ),
    (
        "missing_branch",
        """
        def balance(text: str):
            depth = 0
            for c in text:
                if c == "<":
                    depth += 1
            return depth
        """,
        """
        def balance(text: str):
            depth = 0
            for c in text:
                if c == "<":
                    depth += 1
                else:
                    depth -= 1
            return depth
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
