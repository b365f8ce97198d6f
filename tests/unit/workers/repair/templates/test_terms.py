"""Arithmetic gets the term that it lacks and loses the one too many."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "missing_term",
        """
        def last(rows: list[int], n: int):
            return len(rows)
        """,
        """
        def last(rows: list[int], n: int):
            return len(rows) - n
        """,
        {},
    ),
    (
        "missing_term",
        """
        def label(name: str, unit: str):
            return name
        """,
        """
        def label(name: str, unit: str):
            return name + unit
        """,
        {},
    ),
    (
        "superfluous_term",
        """
        def f(a, b):
            return (a - 1) ** 2 * b
        """,
        """
        def f(a, b):
            return (a - 1) ** b
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
