"""A value is brought into the form that is compared or collected."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "case_of_literal",
        """
        def f(token):
            return token.value == "AS"
        """,
        """
        def f(token):
            return token.value.upper() == "AS"
        """,
        {},
    ),
    (
        "case_of_literal",
        """
        def f(token):
            return token.value in ("as", "by")
        """,
        """
        def f(token):
            return token.value.lower() in ("as", "by")
        """,
        {},
    ),
    (
        "missing_method",
        """
        def kinds(text: str):
            return len(set(text))
        """,
        """
        def kinds(text: str):
            return len(set(text.lower()))
        """,
        {},
    ),
    (
        "both_sides",
        """
        def same(a: str, b: str):
            return a == b
        """,
        """
        def same(a: str, b: str):
            return a.lower() == b.lower()
        """,
        {},
    ),
    (
        "both_operands",
        """
        def gap(a: int, b: int):
            return a - b
        """,
        """
        def gap(a: int, b: int):
            return abs(a) - abs(b)
        """,
        {},
    ),
    (
        "mapped_elements",
        """
        def size(rows: list[int]):
            return sum(rows)
        """,
        """
        def size(rows: list[int]):
            return sum(abs(x) for x in rows)
        """,
        {},
    ),
    (
        "extreme_of_two",
        """
        def tops(rows: list[int]):
            best = 0
            for row in rows:
                best = row
            return best
        """,
        """
        def tops(rows: list[int]):
            best = 0
            for row in rows:
                best = max(best, row)
            return best
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
