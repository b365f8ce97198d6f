"""Wrong exceptions are put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "raising_guard",
        """
        def f(rows, n):
            return rows[:n]
        """,
        """
        def f(rows, n):
            if n < 0:
                raise ValueError
            return rows[:n]
        """,
        {"error": "Failed", "message": "DID NOT RAISE ValueError"},
    ),
    (
        "caught_type",
        """
        def f(a, b):
            try:
                return a[b]
            except KeyError:
                return None
        """,
        """
        def f(a, b):
            try:
                return a[b]
            except (KeyError, IndexError):
                return None
        """,
        {"error": "IndexError", "message": "list index out of range"},
    ),
    (
        "raised_type",
        """
        def f(a, b):
            if a < b:
                raise TypeError("too small")
            return a
        """,
        """
        def f(a, b):
            if a < b:
                raise ValueError("too small")
            return a
        """,
        {"error": "TypeError"},
    ),
    (
        "handled_error",
        """
        def f(a, b):
            if not a:
                return None
            x = a.index(b)
            return x
        """,
        """
        def f(a, b):
            if not a:
                return None
            try:
                x = a.index(b)
            except ValueError:
                return None
            return x
        """,
        {"error": "ValueError"},
    ),
    (
        "missing_raise",
        """
        def f(a, b):
            if a < b:
                ValueError("too small")
            return a
        """,
        """
        def f(a, b):
            if a < b:
                raise ValueError("too small")
            return a
        """,
        {},
    ),
    (
        "return_to_raise",
        """
        def f(a, b):
            if a < b:
                return None
            return a
        """,
        """
        def f(a, b):
            if a < b:
                raise ValueError
            return a
        """,
        {"error": "Failed", "message": "DID NOT RAISE <class 'ValueError'>"},
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "failure"), CASES, ids=[case[0] for case in CASES])
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, failure: dict[str, str]
) -> None:
    """A small bug of its kind is undone by one of the template's edits, to the letter."""
    assert dedent(after).lstrip("\n") in edits(template, before, **failure)
