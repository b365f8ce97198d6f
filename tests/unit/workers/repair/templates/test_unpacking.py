"""Values unpacked in the wrong order are put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        """
        def f(a, b):
            day, month, year = a.split(b)
            return year, month, day
        """,
        """
        def f(a, b):
            month, day, year = a.split(b)
            return year, month, day
        """,
    ),
    (
        """
        def f(a, b):
            for value, key in a.items():
                b[key] = value
        """,
        """
        def f(a, b):
            for key, value in a.items():
                b[key] = value
        """,
    ),
    (
        """
        def f(a, b):
            return {key: value for value, key in a.items()}
        """,
        """
        def f(a, b):
            return {key: value for key, value in a.items()}
        """,
    ),
]


@pytest.mark.parametrize(("before", "after"), CASES, ids=["assignment", "loop", "comprehension"])
def test_the_right_order_is_among_those_proposed(edits: Callable[..., set[str]], before: str, after: str) -> None:
    """The bug is undone by one of the edits, to the letter."""
    assert dedent(after).lstrip("\n") in edits("unpacked_order", before)


def test_a_value_is_no_target(edits: Callable[..., set[str]]) -> None:
    """Tuples that are values have no order to be put right here."""
    assert not edits("unpacked_order", "def f(a, b):\n    c = a, b\n    return b, c\n")
