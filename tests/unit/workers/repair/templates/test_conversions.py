"""Wrong types are put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "list_or_element",
        """
        def parts(rows):
            return []
        """,
        """
        def parts(rows):
            return [[]]
        """,
        {},
    ),
    (
        "missing_conversion",
        """
        def f(a, b):
            return a * b
        """,
        """
        def f(a, b):
            return int(a) * b
        """,
        {"error": "TypeError"},
    ),
    (
        "wrong_conversion",
        """
        def f(a, b):
            return int(a) + b
        """,
        """
        def f(a, b):
            return float(a) + b
        """,
        {},
    ),
    (
        "rounding",
        """
        def f(a, b):
            return round(a / b)
        """,
        """
        def f(a, b):
            return round(a / b, 2)
        """,
        {},
    ),
    (
        "text_and_other",
        """
        def f(a, b):
            return "count: " + b
        """,
        """
        def f(a, b):
            return "count: " + str(b)
        """,
        {"error": "TypeError", "message": 'can only concatenate str (not "int") to str'},
    ),
    (
        "text_encoding",
        """
        def f(a, b):
            b.write(a)
            return b
        """,
        """
        def f(a, b):
            b.write(a.encode())
            return b
        """,
        {"error": "TypeError", "message": "a bytes-like object is required, not 'str'"},
    ),
    (
        "element_or_whole",
        """
        def f(a, b):
            return a.split(b)
        """,
        """
        def f(a, b):
            return a.split(b)[0]
        """,
        {},
    ),
    (
        "single_element",
        """
        def f(a, b):
            return a,
        """,
        """
        def f(a, b):
            return a
        """,
        {},
    ),
    (
        "swapped_elements",
        """
        def f(a, b):
            return [a.index(b), b]
        """,
        """
        def f(a, b):
            return [b, a.index(b)]
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
